// Embedding, row addition, gathered rows and their gradients in CUDA against the reference. Copies are exact, and everything
// except the gradient of the table, which is summed with atomics, is the same in every thread order.
#include <algorithm>
#include <set>

#include "epochbench/philox.h"
#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

struct Lookup {
  std::int64_t rows, vocabulary, width;
};
// Widths that fill 16 bytes, four elements, or neither; more columns than a warp or a block processes at once; rows that do and
// do not fill blocks.
constexpr Lookup kLookups[] = {{1, 1, 1},    {5, 3, 2},     {7, 100, 16},  {64, 9, 17},    {33, 50, 12},
                               {257, 31, 8}, {70, 300, 65}, {19, 7, 1300}, {1000, 5, 260}, {128, 40, 130}};

std::string describe(const Lookup& l) {
  return std::to_string(l.rows) + " of " + std::to_string(l.vocabulary) + "x" + std::to_string(l.width);
}

enum class Ids { random, all_equal, one_frequent };

DeviceBuffer<std::int32_t> ids_of(const Lookup& l, Ids kind) {
  DeviceBuffer<std::int32_t> ids(l.rows);
  for (std::int64_t r = 0; r < l.rows; ++r) {
    const std::uint32_t word = philox(1, {static_cast<std::uint32_t>(r), 0, 0, 0})[0];
    const bool frequent = kind == Ids::all_equal || (kind == Ids::one_frequent && word % 3 == 0);
    ids[r] = static_cast<std::int32_t>(frequent ? l.vocabulary - 1 : word % l.vocabulary);
  }
  return ids;
}

TEST(CudaEmbedding, MatchesReference) {
  for (const Lookup& l : kLookups)
    for_each_element(describe(l), [&](Element element) {
      const Tensor table = random_tensor(l.vocabulary * l.width, element, 1);
      const DeviceBuffer<std::int32_t> ids = ids_of(l, Ids::random);
      GuardedBuffer<float> expected(l.rows * l.width);
      reference::embedding(expected.data(), table.floats().data(), ids.data(), l.rows, l.width);
      for_each_order("", [&] {
        Tensor y(l.rows * l.width, element);
        cuda::embedding(y.data(), table.data(), ids.data(), l.rows, l.width, element, kNoStream);
        expect_close(y.floats(), expected, kExact);
        EXPECT_TRUE(y.guards_intact());
      });
    });
}

void check_embedding_grad(const Lookup& l, Ids kind, Element element, Element base_element) {
  SCOPED_TRACE(std::string("base ") + test::name_of(base_element));
  const std::int64_t n = l.vocabulary * l.width;
  const Tensor base = random_tensor(n, base_element, 2), dy = random_tensor(l.rows * l.width, element, 3);
  const GuardedBuffer<float> base_floats = base.floats(), dy_floats = dy.floats();
  const DeviceBuffer<std::int32_t> ids = ids_of(l, kind);
  const std::set<std::int32_t> met(ids.begin(), ids.end());
  GuardedBuffer<float> from_base(n), from_zero(n);
  reference::embedding_grad(from_base.data(), dy_floats.data(), ids.data(), base_floats.data(), l.rows, l.vocabulary, l.width);
  reference::embedding_grad(from_zero.data(), dy_floats.data(), ids.data(), nullptr, l.rows, l.vocabulary, l.width);
  // Rows of one id are added in float, in any order; partial sums grow no faster than a random walk.
  const double rows = static_cast<double>(l.rows);
  const Tolerance tolerance = test::sum_tolerance(rows, std::sqrt(rows));
  for_each_order("", [&] {
    DeviceBuffer<float> dtable(n), zeroed(n);
    const auto run = [&](DeviceBuffer<float>& out, const void* from) {
      cuda::embedding_grad(out.data(), dy.data(), ids.data(), from, base_element, l.rows, l.vocabulary, l.width, element,
                           kNoStream);
      EXPECT_TRUE(out.guards_intact());
    };
    run(dtable, base.data());
    run(zeroed, nullptr);
    expect_close(dtable, from_base, tolerance);
    expect_close(zeroed, from_zero, tolerance);
    for (std::int64_t i = 0; i < n; ++i)
      if (!met.contains(static_cast<std::int32_t>(i / l.width))) {
        ASSERT_EQ(dtable[i], base_floats[i]);
        ASSERT_EQ(zeroed[i], 0);
      }
    if (base_element == Element::f32) {
      DeviceBuffer<float> in_place = on_device<float>(base_floats);
      run(in_place, in_place.data());
      expect_close(in_place, from_base, tolerance);
    }
  });
}

void check_embedding_grads(Ids kind) {
  for (const Lookup& l : kLookups)
    for_each_element(describe(l), [&](Element element) {
      check_embedding_grad(l, kind, element, Element::f32);
      if (element != Element::f32) check_embedding_grad(l, kind, element, element);
    });
}

TEST(CudaEmbeddingGrad, MatchesReference) { check_embedding_grads(Ids::random); }
TEST(CudaEmbeddingGrad, AddsAllRowsOfOneId) { check_embedding_grads(Ids::all_equal); }
TEST(CudaEmbeddingGrad, AddsTheRowsOfAFrequentId) { check_embedding_grads(Ids::one_frequent); }

struct Turns {
  std::int64_t rows, width, period, table_rows;
};
// The last cases end within a pass, and before the end of the first.
constexpr Turns kTurns[] = {{1, 1, 1, 1},    {6, 3, 2, 5},    {12, 17, 12, 12},  {35, 64, 7, 9},
                            {300, 33, 1, 2}, {9, 1500, 1, 2}, {256, 24, 64, 70}, {2000, 8, 4, 4},
                            {90, 520, 2, 3}, {23, 12, 5, 6},  {41, 16, 4, 7},    {3, 20, 8, 8}};

std::string describe(const Turns& t) {
  return std::to_string(t.rows) + "x" + std::to_string(t.width) + " period " + std::to_string(t.period);
}

TEST(CudaAddRows, MatchesReference) {
  for (const Turns& t : kTurns)
    for_each_element(describe(t), [&](Element element) {
      const std::int64_t n = t.rows * t.width;
      const Tensor x = random_tensor(n, element, 4), table = random_tensor(t.table_rows * t.width, element, 5);
      GuardedBuffer<float> expected(n);
      reference::add_rows(expected.data(), x.floats().data(), table.floats().data(), t.rows, t.width, t.period);
      for_each_order("", [&] {
        Tensor y(n, element), in_place(x.floats(), element);
        cuda::add_rows(y.data(), x.data(), table.data(), t.rows, t.width, t.period, element, kNoStream);
        cuda::add_rows(in_place.data(), in_place.data(), table.data(), t.rows, t.width, t.period, element, kNoStream);
        expect_close(y.floats(), expected, stored(element, kExact));
        EXPECT_TRUE(bit_equal(in_place.floats(), y.floats()));
        EXPECT_TRUE(y.guards_intact() && in_place.guards_intact());
      });
    });
}

TEST(CudaAddRowsGrad, MatchesReference) {
  for (const Turns& t : kTurns)
    for_each_element(describe(t), [&](Element element) {
      const std::int64_t n = t.table_rows * t.width;
      const Tensor dy = random_tensor(t.rows * t.width, element, 6);
      GuardedBuffer<float> expected(n), first(n);
      reference::add_rows_grad(expected.data(), dy.floats().data(), t.rows, t.width, t.period, t.table_rows);
      const double turns = std::ceil(static_cast<double>(t.rows) / static_cast<double>(t.period));
      for_each_order("", [&] {
        DeviceBuffer<float> dtable(n), workspace = scratch(cuda::reduction_workspace_bytes(t.rows, t.period * t.width));
        cuda::add_rows_grad(dtable.data(), dy.data(), t.rows, t.width, t.period, t.table_rows, element, workspace.data(),
                            kNoStream);
        expect_close(dtable, expected, test::sum_tolerance(turns, 1));
        for (std::int64_t i = t.period * t.width; i < n; ++i) ASSERT_EQ(dtable[i], 0);
        EXPECT_TRUE(dtable.guards_intact() && workspace.guards_intact());
        if (std::isnan(first[0])) std::copy(dtable.begin(), dtable.end(), first.begin());
        EXPECT_TRUE(bit_equal(dtable, first));
      });
    });
}

struct Gather {
  std::int64_t batch, sequence, count, width;
};
// More positions than a warp has lanes; all of a sequence; one.
constexpr Gather kGathers[] = {{1, 1, 1, 1},      {2, 5, 3, 2},   {3, 16, 16, 17},
                               {4, 128, 40, 136}, {7, 33, 1, 64}, {1, 200, 20, 100}};

std::string describe(const Gather& g) {
  return std::to_string(g.batch) + "x" + std::to_string(g.count) + " of " + std::to_string(g.sequence) + "x" +
         std::to_string(g.width);
}

// Distinct within a sequence, different in each, in random order, including the last position of the first sequence.
DeviceBuffer<std::int32_t> positions_of(const Gather& g) {
  DeviceBuffer<std::int32_t> positions(g.batch * g.count);
  for (std::int64_t b = 0; b < g.batch; ++b)
    for (std::int64_t i = 0; i < g.count; ++i)
      positions[b * g.count + (i + b) % g.count] =
          static_cast<std::int32_t>((g.sequence - 1 + b + i * (g.sequence / g.count)) % g.sequence);
  return positions;
}

TEST(CudaGatherRows, MatchesReference) {
  for (const Gather& g : kGathers)
    for_each_element(describe(g), [&](Element element) {
      const Tensor x = random_tensor(g.batch * g.sequence * g.width, element, 7);
      const DeviceBuffer<std::int32_t> positions = positions_of(g);
      GuardedBuffer<float> expected(g.batch * g.count * g.width);
      reference::gather_rows(expected.data(), x.floats().data(), positions.data(), g.batch, g.sequence, g.count, g.width);
      for_each_order("", [&] {
        Tensor y(g.batch * g.count * g.width, element);
        cuda::gather_rows(y.data(), x.data(), positions.data(), g.batch, g.sequence, g.count, g.width, element, kNoStream);
        expect_close(y.floats(), expected, kExact);
        EXPECT_TRUE(y.guards_intact());
      });
    });
}

TEST(CudaGatherRowsGrad, MatchesReference) {
  for (const Gather& g : kGathers)
    for_each_element(describe(g), [&](Element element) {
      const Tensor dy = random_tensor(g.batch * g.count * g.width, element, 8);
      const DeviceBuffer<std::int32_t> positions = positions_of(g);
      GuardedBuffer<float> expected(g.batch * g.sequence * g.width);
      reference::gather_rows_grad(expected.data(), dy.floats().data(), positions.data(), g.batch, g.sequence, g.count, g.width);
      for_each_order("", [&] {
        Tensor dx(g.batch * g.sequence * g.width, element);
        cuda::gather_rows_grad(dx.data(), dy.data(), positions.data(), g.batch, g.sequence, g.count, g.width, element,
                               kNoStream);
        expect_close(dx.floats(), expected, kExact);
        EXPECT_TRUE(dx.guards_intact());
      });
    });
}

}  // namespace
}  // namespace epochbench
