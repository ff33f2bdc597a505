// Embedding, row addition, gathered rows and their gradients on the CPU against the reference. Copies and sums of two values
// are exact, and nothing depends on the number of threads.
#include <set>

#include "epochbench/philox.h"
#include "tests/support/kernel_test.h"

namespace epochbench {
namespace {

template <typename Real>
class Embedding : public test::OfReal<Real> {};
TYPED_TEST_SUITE(Embedding, test::Reals, test::RealName);
template <typename Real>
class EmbeddingGrad : public test::OfReal<Real> {};
TYPED_TEST_SUITE(EmbeddingGrad, test::Reals, test::RealName);
template <typename Real>
class AddRows : public test::OfReal<Real> {};
TYPED_TEST_SUITE(AddRows, test::Reals, test::RealName);
template <typename Real>
class AddRowsGrad : public test::OfReal<Real> {};
TYPED_TEST_SUITE(AddRowsGrad, test::Reals, test::RealName);
template <typename Real>
class GatherRows : public test::OfReal<Real> {};
TYPED_TEST_SUITE(GatherRows, test::Reals, test::RealName);
template <typename Real>
class GatherRowsGrad : public test::OfReal<Real> {};
TYPED_TEST_SUITE(GatherRowsGrad, test::Reals, test::RealName);

struct Lookup {
  std::int64_t rows, vocabulary, width;
};
constexpr Lookup kLookups[] = {{1, 1, 1},    {5, 3, 2},      {7, 100, 16},   {64, 9, 17},
                               {33, 50, 65}, {257, 31, 130}, {40, 1000, 33}, {3000, 5, 24}};

std::string describe(const Lookup& l) {
  return std::to_string(l.rows) + " of " + std::to_string(l.vocabulary) + "x" + std::to_string(l.width);
}

enum class Ids { random, all_equal };

GuardedBuffer<std::int32_t> ids_of(const Lookup& l, Ids kind) {
  GuardedBuffer<std::int32_t> ids(l.rows);
  for (std::int64_t r = 0; r < l.rows; ++r) {
    const std::uint32_t word = philox(1, {static_cast<std::uint32_t>(r), 0, 0, 0})[0];
    ids[r] = static_cast<std::int32_t>(kind == Ids::all_equal ? l.vocabulary - 1 : word % l.vocabulary);
  }
  return ids;
}

TYPED_TEST(Embedding, MatchesReference) {
  using Real = TypeParam;
  for (const Lookup& l : kLookups) {
    const GuardedBuffer<Real> table = random_reals<Real>(l.vocabulary * l.width, 1);
    const GuardedBuffer<std::int32_t> ids = ids_of(l, Ids::random);
    GuardedBuffer<float> expected(l.rows * l.width);
    reference::embedding(expected.data(), floats(table).data(), ids.data(), l.rows, l.width);
    for_each_kernels_of<Real>(describe(l), [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> y(l.rows * l.width);
      kernels.embedding(y.data(), table.data(), ids.data(), l.rows, l.width, threads);
      expect_close(floats(y), expected, kExact);
      EXPECT_TRUE(y.guards_intact());
    });
  }
}

template <typename Real>
void check_embedding_grad(const Lookup& l, Ids kind) {
  const std::int64_t n = l.vocabulary * l.width;
  const GuardedBuffer<Real> base_real = random_reals<Real>(n, 2), dy_real = random_reals<Real>(l.rows * l.width, 3);
  const GuardedBuffer<float> base = floats(base_real), dy = floats(dy_real);
  const GuardedBuffer<std::int32_t> ids = ids_of(l, kind);
  const std::set<std::int32_t> met(ids.begin(), ids.end());
  GuardedBuffer<float> from_base(n), from_zero(n), first(n);
  reference::embedding_grad(from_base.data(), dy.data(), ids.data(), base.data(), l.rows, l.vocabulary, l.width);
  reference::embedding_grad(from_zero.data(), dy.data(), ids.data(), nullptr, l.rows, l.vocabulary, l.width);
  // Rows of one id are added sequentially in float; partial sums grow no faster than a random walk.
  const double rows = static_cast<double>(l.rows);
  const test::Tolerance tolerance = test::sum_tolerance(rows, std::sqrt(rows));
  for_each_kernels_of<Real>(describe(l), [&](const cpu::Kernels<Real>& kernels, int threads) {
    GuardedBuffer<float> apart(n), zeroed(n);
    kernels.embedding_grad(apart.data(), dy_real.data(), ids.data(), base_real.data(), l.rows, l.vocabulary, l.width, threads);
    kernels.embedding_grad(zeroed.data(), dy_real.data(), ids.data(), nullptr, l.rows, l.vocabulary, l.width, threads);
    expect_close(apart, from_base, tolerance);
    expect_close(zeroed, from_zero, tolerance);
    if constexpr (std::is_same_v<Real, float>) {
      GuardedBuffer<float> in_place = base;
      kernels.embedding_grad(in_place.data(), dy.data(), ids.data(), in_place.data(), l.rows, l.vocabulary, l.width, threads);
      EXPECT_TRUE(test::bit_equal(in_place, apart));
      EXPECT_TRUE(in_place.guards_intact());
    }
    for (std::int64_t i = 0; i < n; ++i)
      if (!met.contains(static_cast<std::int32_t>(i / l.width))) {
        ASSERT_EQ(apart[i], base[i]);
        ASSERT_EQ(zeroed[i], 0);
      }
    EXPECT_TRUE(apart.guards_intact() && zeroed.guards_intact());
    if (std::isnan(first[0])) first = apart;  // from the first instruction set with one thread
    EXPECT_TRUE(test::bit_equal(apart, first));
  });
}

TYPED_TEST(EmbeddingGrad, MatchesReference) {
  for (const Lookup& l : kLookups) check_embedding_grad<TypeParam>(l, Ids::random);
}

TYPED_TEST(EmbeddingGrad, AddsAllRowsOfOneId) {
  for (const Lookup& l : kLookups) check_embedding_grad<TypeParam>(l, Ids::all_equal);
}

struct Turns {
  std::int64_t rows, width, period, table_rows;
};
constexpr Turns kTurns[] = {{1, 1, 1, 1},    {6, 3, 2, 5},        {12, 17, 12, 12}, {35, 64, 7, 9}, {300, 33, 1, 2},
                            {9, 1500, 1, 2}, {256, 130, 64, 100}, {2000, 40, 4, 4}, {5, 70, 5, 512}};

std::string describe(const Turns& t) {
  return std::to_string(t.rows) + "x" + std::to_string(t.width) + " period " + std::to_string(t.period);
}

TYPED_TEST(AddRows, MatchesReference) {
  using Real = TypeParam;
  for (const Turns& t : kTurns) {
    const std::int64_t n = t.rows * t.width;
    const GuardedBuffer<Real> x = random_reals<Real>(n, 4), table = random_reals<Real>(t.table_rows * t.width, 5);
    GuardedBuffer<float> expected(n);
    reference::add_rows(expected.data(), floats(x).data(), floats(table).data(), t.rows, t.width, t.period);
    const GuardedBuffer<Real> rounded = reals<Real>(expected);
    for_each_kernels_of<Real>(describe(t), [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> y(n), in_place = x;
      kernels.add_rows(y.data(), x.data(), table.data(), t.rows, t.width, t.period, threads);
      kernels.add_rows(in_place.data(), in_place.data(), table.data(), t.rows, t.width, t.period, threads);
      EXPECT_TRUE(test::bit_equal(y, rounded));
      EXPECT_TRUE(test::bit_equal(in_place, y));
      EXPECT_TRUE(y.guards_intact());
    });
  }
}

TYPED_TEST(AddRowsGrad, MatchesReference) {
  using Real = TypeParam;
  for (const Turns& t : kTurns) {
    const std::int64_t n = t.table_rows * t.width;
    const GuardedBuffer<Real> dy = random_reals<Real>(t.rows * t.width, 6);
    GuardedBuffer<float> expected(n), first(n);
    reference::add_rows_grad(expected.data(), floats(dy).data(), t.rows, t.width, t.period, t.table_rows);
    for_each_kernels_of<Real>(describe(t), [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<float> dtable(n);
      kernels.add_rows_grad(dtable.data(), dy.data(), t.rows, t.width, t.period, t.table_rows, threads);
      expect_close(dtable, expected, test::sum_tolerance(static_cast<double>(t.rows / t.period), 1));
      for (std::int64_t i = t.period * t.width; i < n; ++i) ASSERT_EQ(dtable[i], 0);
      EXPECT_TRUE(dtable.guards_intact());
      if (std::isnan(first[0])) first = dtable;
      EXPECT_TRUE(test::bit_equal(dtable, first));
    });
  }
}

struct Gather {
  std::int64_t batch, sequence, count, width;
};
constexpr Gather kGathers[] = {{1, 1, 1, 1},      {2, 5, 3, 2},   {3, 16, 16, 17},
                               {4, 128, 20, 130}, {7, 33, 1, 64}, {1, 200, 20, 100}};

std::string describe(const Gather& g) {
  return std::to_string(g.batch) + "x" + std::to_string(g.count) + " of " + std::to_string(g.sequence) + "x" +
         std::to_string(g.width);
}

// Distinct within a sequence, including the last position, in random order.
GuardedBuffer<std::int32_t> positions_of(const Gather& g) {
  GuardedBuffer<std::int32_t> positions(g.batch * g.count);
  for (std::int64_t b = 0; b < g.batch; ++b)
    for (std::int64_t i = 0; i < g.count; ++i)
      positions[b * g.count + i] =
          static_cast<std::int32_t>((g.sequence - 1 + (i + b * (i > 0)) * (g.sequence / g.count)) % g.sequence);
  return positions;
}

TYPED_TEST(GatherRows, MatchesReference) {
  using Real = TypeParam;
  for (const Gather& g : kGathers) {
    const GuardedBuffer<Real> x = random_reals<Real>(g.batch * g.sequence * g.width, 7);
    const GuardedBuffer<std::int32_t> positions = positions_of(g);
    GuardedBuffer<float> expected(g.batch * g.count * g.width);
    reference::gather_rows(expected.data(), floats(x).data(), positions.data(), g.batch, g.sequence, g.count, g.width);
    for_each_kernels_of<Real>(describe(g), [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> y(g.batch * g.count * g.width);
      kernels.gather_rows(y.data(), x.data(), positions.data(), g.batch, g.sequence, g.count, g.width, threads);
      expect_close(floats(y), expected, kExact);
      EXPECT_TRUE(y.guards_intact());
    });
  }
}

TYPED_TEST(GatherRowsGrad, MatchesReference) {
  using Real = TypeParam;
  for (const Gather& g : kGathers) {
    const GuardedBuffer<Real> dy = random_reals<Real>(g.batch * g.count * g.width, 8);
    const GuardedBuffer<std::int32_t> positions = positions_of(g);
    GuardedBuffer<float> expected(g.batch * g.sequence * g.width);
    reference::gather_rows_grad(expected.data(), floats(dy).data(), positions.data(), g.batch, g.sequence, g.count, g.width);
    for_each_kernels_of<Real>(describe(g), [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> dx(g.batch * g.sequence * g.width);
      kernels.gather_rows_grad(dx.data(), dy.data(), positions.data(), g.batch, g.sequence, g.count, g.width, threads);
      expect_close(floats(dx), expected, kExact);
      EXPECT_TRUE(dx.guards_intact());
    });
  }
}

TEST(ReferenceEmbedding, WorkedOutByHand) {
  const std::vector<float> table = {1, 2, 3, 4, 5, 6}, dy = {1, 10, 2, 20, 4, 40};  // [3,2]
  const std::vector<std::int32_t> ids = {2, 0, 2};
  std::vector<float> out(6);
  reference::embedding(out.data(), table.data(), ids.data(), 3, 2);
  expect_close(out, std::vector<float>{5, 6, 1, 2, 5, 6}, kExact);
  reference::embedding_grad(out.data(), dy.data(), ids.data(), table.data(), 3, 3, 2);
  expect_close(out, std::vector<float>{3, 22, 3, 4, 10, 56}, kExact);
  reference::embedding_grad(out.data(), dy.data(), ids.data(), nullptr, 3, 3, 2);
  expect_close(out, std::vector<float>{2, 20, 0, 0, 5, 50}, kExact);
  reference::add_rows_grad(out.data(), std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}.data(), 4, 2, 2, 3);
  expect_close(out, std::vector<float>{6, 8, 10, 12, 0, 0}, kExact);
  const std::vector<std::int32_t> positions = {2, 0};  // of one sequence of 3
  std::vector<float> rows(4);
  reference::gather_rows(rows.data(), table.data(), positions.data(), 1, 3, 2, 2);
  expect_close(rows, std::vector<float>{5, 6, 1, 2}, kExact);
  reference::gather_rows_grad(out.data(), rows.data(), positions.data(), 1, 3, 2, 2);
  expect_close(out, std::vector<float>{1, 2, 0, 0, 5, 6}, kExact);
}

}  // namespace
}  // namespace epochbench
