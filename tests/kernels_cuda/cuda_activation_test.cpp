// What only CUDA has beside element-wise kernels: bias and GELU in one, rows with elements between them; against the reference,
// for every type and thread order, with guard bands and in place.
#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

constexpr Matrix kMatrices[] = {{1, 1},   {3, 10},  {5, 1},    {4001, 1}, {7, 255},   {2, 256},
                                {65, 64}, {130, 6}, {700, 10}, {2, 2049}, {71, 1000}, {33, 1032}};

// Only x has the sum rounded to `element`; y is computed from the float, as gelu of it. Sums are at most 5, and what the tanh
// form's exponent of at most 17 adds there is an error of a result below 2e-6.
TEST(CudaBiasGelu, MatchesReference) {
  for (const Matrix& m : kMatrices)
    for_each_element(describe(m), [&](Element element) {
      const std::int64_t n = m.rows * m.channels;
      const Tensor product = random_tensor(n, element, 11, -3, 3), bias = random_tensor(m.channels, element, 12, -2, 2);
      GuardedBuffer<float> sum(n), of_erf(n), of_tanh(n);
      reference::bias_add(sum.data(), product.floats().data(), bias.floats().data(), m.rows, m.channels);
      reference::gelu(of_erf.data(), sum.data(), n);
      reference::gelu_tanh(of_tanh.data(), sum.data(), n);
      for (const bool tanh : {false, true})
        for_each_order(tanh ? "tanh" : "erf", [&] {
          Tensor y(n, element), x(n, element), over_x = product, of_sum(n, element), over_y = product;
          const auto call = [&](Tensor& to, Tensor* stored_sum, const Tensor& from) {
            cuda::bias_gelu(to.data(), stored_sum ? stored_sum->data() : nullptr, from.data(), bias.data(), m.rows, m.channels,
                            tanh, element, kNoStream);
          };
          call(y, &x, product);
          call(of_sum, &over_x, over_x);  // as in training
          call(over_y, nullptr, over_y);  // as in inference
          expect_close(x.floats(), sum, stored(element, {kEps, 0}));
          expect_close(y.floats(), tanh ? of_tanh : of_erf, stored(element, {40 * kEps, 24 * kEps}));
          EXPECT_TRUE(bit_equal(over_x.floats(), x.floats()));
          EXPECT_TRUE(bit_equal(of_sum.floats(), y.floats()) && bit_equal(over_y.floats(), y.floats()));
          for (const Tensor* written : {&y, &x, &over_x, &over_y}) EXPECT_TRUE(written->guards_intact());
        });
    });
}

// Rows of more elements than channels, whatever lies between; in packs, in packs with channels and others, one by one.
struct LongRows {
  std::int64_t rows, channels, row_elements;
};
constexpr LongRows kLongRows[] = {{90, 10, 16}, {41, 1001, 1008}, {70, 7, 9}, {3, 1, 128}, {5, 16, 24}};
std::string describe(const LongRows& p) { return std::to_string(p.channels) + " of " + std::to_string(p.row_elements); }

GuardedBuffer<float> with_gaps(const GuardedBuffer<float>& dense, const LongRows& p) {
  GuardedBuffer<float> rows(p.rows * p.row_elements);
  for (std::int64_t i = 0; i < p.rows * p.row_elements; ++i)
    rows[i] = i % p.row_elements < p.channels ? dense[i / p.row_elements * p.channels + i % p.row_elements] : NAN;
  return rows;
}

TEST(CudaBiasAdd, AddsToChannelsOfLongerRows) {
  for (const LongRows& p : kLongRows)
    for_each_element(describe(p), [&](Element element) {
      const GuardedBuffer<float> dense = random_tensor(p.rows * p.channels, element, 9).floats();
      const Tensor bias = random_tensor(p.channels, element, 10);
      GuardedBuffer<float> expected(p.rows * p.channels), result(p.rows * p.channels);
      reference::bias_add(expected.data(), dense.data(), bias.floats().data(), p.rows, p.channels);
      const Tensor x(with_gaps(dense, p), element);
      for_each_order("", [&] {
        Tensor y(p.rows * p.row_elements, element);
        cuda::bias_add(y.data(), x.data(), bias.data(), p.rows, p.channels, p.row_elements, element, kNoStream);
        const GuardedBuffer<float> rows = y.floats();
        for (std::int64_t i = 0; i < p.rows * p.channels; ++i)
          result[i] = rows[i / p.channels * p.row_elements + i % p.channels];
        expect_close(result, expected, stored(element, kExact));
        EXPECT_TRUE(y.guards_intact());
      });
    });
}

TEST(CudaBiasAddGrad, SumsChannelsOfLongerRows) {
  for (const LongRows& p : kLongRows)
    for_each_element(describe(p), [&](Element element) {
      const GuardedBuffer<float> dense = random_tensor(p.rows * p.channels, element, 11).floats();
      GuardedBuffer<float> expected(p.channels);
      reference::bias_add_grad(expected.data(), dense.data(), p.rows, p.channels);
      const Tensor dy(with_gaps(dense, p), element);
      for_each_order("", [&] {
        Tensor dbias(p.channels, element);
        DeviceBuffer<float> workspace = scratch(cuda::reduction_workspace_bytes(p.rows, p.row_elements));
        cuda::bias_add_grad(dbias.data(), dy.data(), p.rows, p.channels, p.row_elements, element, workspace.data(), kNoStream);
        expect_close(dbias.floats(), expected, stored(element, test::sum_tolerance(static_cast<double>(p.rows), 1)));
        EXPECT_TRUE(dbias.guards_intact() && workspace.guards_intact());
      });
    });
}

}  // namespace
}  // namespace epochbench
