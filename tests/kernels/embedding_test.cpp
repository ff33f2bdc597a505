// Embedding, row addition, gathered rows and their gradients against the reference. Copies and sums of two values are exact.
#include <set>

#include "tests/support/lookups.h"
#include "tests/support/op_test.h"

namespace epochbench {
namespace {

using test::Ids;
using test::ids_for;
using test::Lookup;

// Widths that fill 16 bytes, four elements, or neither; more columns than a warp or a block of CUDA processes at once; rows
// that do and do not fill blocks.
constexpr Lookup kLookups[] = {{1, 1, 1},    {5, 3, 2},     {7, 100, 16},  {64, 9, 17},    {33, 50, 12},  {33, 50, 65},
                               {257, 31, 8}, {70, 300, 65}, {19, 7, 1300}, {1000, 5, 260}, {128, 40, 130}};
constexpr Lookup kLargeLookups[] = {{257, 31, 130}, {40, 1000, 33}, {3000, 5, 24}};

std::vector<Lookup> lookups() { return test::op_sizes(kLookups, kLargeLookups); }

TEST(Embedding, MatchesReference) {
  for (const Lookup& l : lookups())
    for_each_op_element(describe(l), [&](Element element) {
      const Tensor table = random_tensor(l.vocabulary * l.width, element, 1);
      const DeviceBuffer<std::int32_t> ids = ids_for(l, Ids::random);
      GuardedBuffer<float> expected(l.rows * l.width);
      reference::embedding(expected.data(), table.floats().data(), ids.data(), l.rows, l.width);
      for_each_device(element, [&](const OpDevice& k) {
        Tensor y(l.rows * l.width, element);
        k.embedding(y.data(), table.data(), ids.data(), l.rows, l.width);
        expect_close(y.floats(), expected, kExact);
        EXPECT_TRUE(y.guards_intact());
      });
    });
}

void check_embedding_grad(const Lookup& l, Ids kind, Element element) {
  const std::int64_t n = l.vocabulary * l.width;
  const Tensor base = random_tensor(n, element, 2), dy = random_tensor(l.rows * l.width, element, 3);
  const GuardedBuffer<float> base_floats = base.floats(), dy_floats = dy.floats();
  const DeviceBuffer<std::int32_t> ids = ids_for(l, kind);
  const std::set<std::int32_t> met(ids.begin(), ids.end());
  GuardedBuffer<float> from_base(n), from_zero(n);
  reference::embedding_grad(from_base.data(), dy_floats.data(), ids.data(), base_floats.data(), l.rows, l.vocabulary, l.width);
  reference::embedding_grad(from_zero.data(), dy_floats.data(), ids.data(), nullptr, l.rows, l.vocabulary, l.width);
  const Tolerance tolerance = test::embedding_grad_tolerance(l);
  SameBits same(false);
  for_each_device(element, [&](const OpDevice& k) {
    const auto run = [&](DeviceBuffer<float>& dtable, const void* from) {
      k.embedding_grad(dtable.data(), dy.data(), ids.data(), from, l.rows, l.vocabulary, l.width);
      EXPECT_TRUE(dtable.guards_intact());
    };
    DeviceBuffer<float> apart(n), zeroed(n);
    run(apart, base.data());
    run(zeroed, nullptr);
    expect_close(apart, from_base, tolerance);
    expect_close(zeroed, from_zero, tolerance);
    for (std::int64_t i = 0; i < n; ++i)
      if (!met.contains(static_cast<std::int32_t>(i / l.width))) {
        ASSERT_EQ(apart[i], base_floats[i]);
        ASSERT_EQ(zeroed[i], 0);
      }
    const bool any_order = k.code == nullptr;  // CUDA adds with atomics
    if (!any_order) same.expect(k, apart);
    if (element != Element::f32) return;
    DeviceBuffer<float> in_place = on_device<float>(base_floats);
    run(in_place, in_place.data());
    expect_close(in_place, from_base, tolerance);
    EXPECT_TRUE(any_order || bit_equal(in_place, apart));
  });
}

void check_embedding_grads(Ids kind) {
  for (const Lookup& l : lookups())
    for_each_op_element(describe(l), [&](Element element) { check_embedding_grad(l, kind, element); });
}

TEST(EmbeddingGrad, MatchesReference) { check_embedding_grads(Ids::random); }
TEST(EmbeddingGrad, AddsAllRowsOfOneId) { check_embedding_grads(Ids::all_equal); }
TEST(EmbeddingGrad, AddsTheRowsOfAFrequentId) { check_embedding_grads(Ids::one_frequent); }

struct Turns {
  std::int64_t rows, width, period, table_rows;
};
// In CUDA the last cases end within a pass, and before the end of the first.
constexpr Turns kTurns[] = {{1, 1, 1, 1},    {6, 3, 2, 5},    {12, 17, 12, 12},  {35, 64, 7, 9},      {5, 70, 5, 512},
                            {300, 33, 1, 2}, {9, 1500, 1, 2}, {256, 24, 64, 70}, {256, 130, 64, 100}, {2000, 8, 4, 4},
                            {90, 520, 2, 3}, {23, 12, 5, 6},  {41, 16, 4, 7},    {3, 20, 8, 8}};

std::string describe(const Turns& t) {
  return std::to_string(t.rows) + "x" + std::to_string(t.width) + " period " + std::to_string(t.period);
}

TEST(AddRows, MatchesReference) {
  for (const Turns& t : kTurns)
    for_each_op_element(describe(t), [&](Element element) {
      const std::int64_t n = t.rows * t.width;
      const Tensor x = random_tensor(n, element, 4), table = random_tensor(t.table_rows * t.width, element, 5);
      GuardedBuffer<float> expected(n);
      reference::add_rows(expected.data(), x.floats().data(), table.floats().data(), t.rows, t.width, t.period);
      const Tensor rounded(expected, element);
      for_each_device(element, [&](const OpDevice& k) {
        Tensor y(n, element), in_place = x;
        k.add_rows(y.data(), x.data(), table.data(), t.rows, t.width, t.period);
        k.add_rows(in_place.data(), in_place.data(), table.data(), t.rows, t.width, t.period);
        EXPECT_TRUE(bit_equal(y.floats(), rounded.floats()) && bit_equal(in_place.floats(), y.floats()));
        EXPECT_TRUE(y.guards_intact() && in_place.guards_intact());
      });
    });
}

TEST(AddRowsGrad, MatchesReference) {
  for (const Turns& t : kTurns)
    for_each_op_element(describe(t), [&](Element element) {
      const std::int64_t n = t.table_rows * t.width;
      const Tensor dy = random_tensor(t.rows * t.width, element, 6);
      GuardedBuffer<float> expected(n);
      reference::add_rows_grad(expected.data(), dy.floats().data(), t.rows, t.width, t.period, t.table_rows);
      const double turns = std::ceil(static_cast<double>(t.rows) / static_cast<double>(t.period));
      SameBits same(false);
      for_each_device(element, [&](const OpDevice& k) {
        DeviceBuffer<float> dtable(n);
        k.add_rows_grad(dtable.data(), dy.data(), t.rows, t.width, t.period, t.table_rows);
        expect_close(dtable, expected, test::sum_tolerance(turns, 1));
        for (std::int64_t i = t.period * t.width; i < n; ++i) ASSERT_EQ(dtable[i], 0);
        EXPECT_TRUE(dtable.guards_intact());
        same.expect(k, dtable);
      });
    });
}

struct Gather {
  std::int64_t batch, sequence, count, width;
  std::int64_t inputs() const { return batch * sequence * width; }
  std::int64_t outputs() const { return batch * count * width; }
};
// More positions than a warp has lanes; all of a sequence; one.
constexpr Gather kGathers[] = {{1, 1, 1, 1},      {2, 5, 3, 2},   {3, 16, 16, 17},  {4, 128, 20, 130},
                               {4, 128, 40, 136}, {7, 33, 1, 64}, {1, 200, 20, 100}};

std::string describe(const Gather& g) {
  return std::to_string(g.batch) + "x" + std::to_string(g.count) + " of " + std::to_string(g.sequence) + "x" +
         std::to_string(g.width);
}

// Distinct within a sequence, different in each, in random order, including the last position of the first sequence.
DeviceBuffer<std::int32_t> positions_for(const Gather& g) {
  DeviceBuffer<std::int32_t> positions(g.batch * g.count);
  for (std::int64_t b = 0; b < g.batch; ++b)
    for (std::int64_t i = 0; i < g.count; ++i)
      positions[b * g.count + (i + b) % g.count] =
          static_cast<std::int32_t>((g.sequence - 1 + b + i * (g.sequence / g.count)) % g.sequence);
  return positions;
}

TEST(GatherRows, ForwardAndGradientMatchReference) {
  for (const Gather& g : kGathers)
    for_each_op_element(describe(g), [&](Element element) {
      const Tensor x = random_tensor(g.inputs(), element, 7), dy = random_tensor(g.outputs(), element, 8);
      const DeviceBuffer<std::int32_t> positions = positions_for(g);
      GuardedBuffer<float> expected(g.outputs()), expected_grad(g.inputs());
      reference::gather_rows(expected.data(), x.floats().data(), positions.data(), g.batch, g.sequence, g.count, g.width);
      reference::gather_rows_grad(expected_grad.data(), dy.floats().data(), positions.data(), g.batch, g.sequence, g.count,
                                  g.width);
      for_each_device(element, [&](const OpDevice& k) {
        Tensor y(g.outputs(), element), dx(g.inputs(), element);
        k.gather_rows(y.data(), x.data(), positions.data(), g.batch, g.sequence, g.count, g.width);
        k.gather_rows_grad(dx.data(), dy.data(), positions.data(), g.batch, g.sequence, g.count, g.width);
        expect_close(y.floats(), expected, kExact);
        expect_close(dx.floats(), expected_grad, kExact);
        EXPECT_TRUE(y.guards_intact() && dx.guards_intact());
      });
    });
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
