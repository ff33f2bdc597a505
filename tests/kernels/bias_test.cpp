// The bias and its gradient, against the reference.
#include "tests/support/op_test.h"

namespace epochbench {
namespace {

constexpr Matrix kMatrices[] = {{1, 1},    {3, 10},    {5, 1},     {40001, 1}, {1, 300},   {7, 255},
                                {2, 256},  {257, 64},  {65, 64},   {4001, 10}, {130, 6},   {700, 10},
                                {2, 2049}, {71, 1000}, {33, 1032}, {40, 2048}, {16384, 16}};

TEST(BiasAdd, MatchesReference) {
  for (const Matrix& m : kMatrices)
    for_each_op_element(describe(m), [&](Element element) {
      const Tensor x = random_tensor(m.elements(), element, 6), bias = random_tensor(m.channels, element, 7);
      GuardedBuffer<float> expected(m.elements());
      reference::bias_add(expected.data(), x.floats().data(), bias.floats().data(), m.rows, m.channels);
      for_each_device(element, [&](const OpDevice& k) {
        Tensor y(m.elements(), element), in_place = x;
        k.bias_add(y.data(), x.data(), bias.data(), m.rows, m.channels);
        k.bias_add(in_place.data(), in_place.data(), bias.data(), m.rows, m.channels);
        expect_close(y.floats(), expected, stored(element, kExact));
        EXPECT_TRUE(bit_equal(in_place.floats(), y.floats()));
        EXPECT_TRUE(y.guards_intact() && in_place.guards_intact());
      });
    });
}

TEST(BiasAddGrad, MatchesReferenceToTheSameBits) {
  for (const Matrix& m : kMatrices)
    for_each_op_element(describe(m), [&](Element element) {
      const Tensor dy = random_tensor(m.elements(), element, 8);
      GuardedBuffer<float> expected(m.channels);
      reference::bias_add_grad(expected.data(), dy.floats().data(), m.rows, m.channels);
      SameBits same(true);
      for_each_device(element, [&](const OpDevice& k) {
        for (int repetition : {0, 1}) {
          Tensor dbias(m.channels, element);
          k.bias_add_grad(dbias.data(), dy.data(), m.rows, m.channels);
          if (repetition == 0)
            expect_close(dbias.floats(), expected, stored(element, test::sum_tolerance(static_cast<double>(m.rows), 1)));
          EXPECT_TRUE(dbias.guards_intact());
          same.expect(k, dbias.floats());
        }
      });
    });
}

// A plain float sum of this many stops growing at 2^24 times the smallest.
TEST(BiasAddGrad, ManyRowsKeepPrecision) {
  constexpr std::int64_t kRows = (1 << 22) + 5;
  GuardedBuffer<float> tenths(kRows);
  std::fill(tenths.begin(), tenths.end(), 0.1f);
  const Tensor dy(tenths, Element::f32);
  for_each_device(Element::f32, [&](const OpDevice& k) {
    Tensor dbias(1, Element::f32);
    k.bias_add_grad(dbias.data(), dy.data(), kRows, 1);
    // A thread of CUDA adds a few dozen values, lanes are added in pairs, then every eighth of a few hundred blocks.
    EXPECT_NEAR(dbias.floats()[0] / (static_cast<double>(0.1f) * kRows), 1, 64 * kEps);
  });
}

}  // namespace
}  // namespace epochbench
