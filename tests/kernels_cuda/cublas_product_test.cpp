// What a Product computes, against the reference: on the CPU with a fake cuBLASLt (support/cuda_fake_cublas.h), on a GPU
// with the real one.
#include "kernels/cuda/libraries/cublas_product.h"

#include <gtest/gtest.h>

#include "kernels/cuda/specs.h"
#include "tests/support/cuda_kernel_test.h"
#include "tests/support/products.h"

namespace epochbench {
namespace {

using cuda::ProductSpec;

// Sums of the rows of a over k.
std::vector<float> row_sums(std::span<const float> a, const GemmShape& s) {
  std::vector<float> sums(static_cast<std::size_t>(s.m));
  for (std::int64_t i = 0; i < s.m; ++i) {
    double sum = 0;
    for (std::int64_t k = 0; k < s.k; ++k) sum += a[static_cast<std::size_t>(s.transpose_a ? k * s.m + i : i * s.k + k)];
    sums[static_cast<std::size_t>(i)] = static_cast<float>(sum);
  }
  return sums;
}

// A matrix with gaps of NaN between its rows in memory, and one of such without them, which must still be NaN.
Tensor with_gaps(const Tensor& dense, std::int64_t columns, std::int64_t row_elements) {
  if (row_elements == 0) return dense;
  const GuardedBuffer<float> values = dense.floats();
  GuardedBuffer<float> rows(dense.size() / columns * row_elements);
  std::fill(rows.begin(), rows.end(), NAN);
  for (std::int64_t i = 0; i < dense.size(); ++i) rows[i / columns * row_elements + i % columns] = values[i];
  return Tensor(rows, dense.element());
}
GuardedBuffer<float> without_gaps(const Tensor& matrix, std::int64_t columns, std::int64_t row_elements) {
  const GuardedBuffer<float> values = matrix.floats();
  if (row_elements == 0) return values;
  GuardedBuffer<float> dense(matrix.size() / row_elements * columns);
  for (std::int64_t i = 0; i < matrix.size(); ++i)
    if (i % row_elements < columns)
      dense[i / row_elements * columns + i % row_elements] = values[i];
    else
      EXPECT_TRUE(std::isnan(values[i])) << i;
  return dense;
}

void check_product(const ProductSpec& spec) {
  SCOPED_TRACE(describe(spec));
  const GemmShape& s = spec.shape;
  const std::int64_t a_size = s.m * s.k, b_size = s.k * s.n, c_size = s.m * s.n;
  const Tensor dense_a = random_tensor(spec.batch * a_size, spec.element, 1),
               dense_b = random_tensor(spec.batch * b_size, spec.element, 2);
  const Tensor a = with_gaps(dense_a, s.transpose_a ? s.m : s.k, spec.a_row),
               b = with_gaps(dense_b, s.transpose_b ? s.k : s.n, spec.b_row);
  const auto bias_values = random_floats(s.n, 3), before = random_floats(spec.batch * c_size, 4);
  Tensor c = with_gaps(Tensor(before, spec.out), s.n, spec.c_row),
         bias(spec.bias ? std::span<const float>(bias_values) : std::span<const float>(), spec.out),
         bias_gradient(spec.bias_gradient ? s.m : 0, spec.out);
  static DeviceBuffer<float> workspace = scratch(cuda::kProductWorkspaceBytes);
  void* const with = spec.bias ? bias.data() : spec.bias_gradient ? bias_gradient.data() : nullptr;

  cuda::CublasProducts products;
  std::shared_ptr<cuda::Product> product;
  try {
    const auto algorithms = products.product(spec, {c.data(), a.data(), b.data(), with});
    product = algorithms->build(algorithms->offers().at(0).tag);
  } catch (const cuda::Error& error) {
    if (test::on_gpu() && spec.bias_gradient) GTEST_SKIP() << error.what();  // the backend then uses another method
    throw;
  }
  if (!spec.accumulate) c.poison();
  product->run(c.data(), a.data(), b.data(), with, workspace.data(), kNoStream);
  EXPECT_TRUE(c.guards_intact() && a.guards_intact() && b.guards_intact());
  EXPECT_TRUE(bias.guards_intact() && bias_gradient.guards_intact());

  const auto a_stored = dense_a.floats(), b_stored = dense_b.floats(), bias_stored = bias.floats();
  GuardedBuffer<float> expected(spec.batch * c_size);
  for (std::int64_t i = 0; i < spec.batch; ++i)
    reference::gemm(expected.data() + i * c_size, a_stored.data() + i * a_size, b_stored.data() + i * b_size, s, {});
  const Tensor started(before, spec.out);
  const auto added = started.floats();
  Tolerance tolerance = test::product_tolerance(s.k + 2);
  for (std::int64_t i = 0; i < spec.batch * c_size; ++i) {
    expected[i] *= spec.alpha;
    if (test::on_gpu() && spec.accumulate && spec.out != Element::f32)  // cuBLASLt may round products before it adds
      tolerance.absolute = std::max(tolerance.absolute, std::fabs(expected[i]) * test::eps_of(spec.out));
    if (spec.accumulate) expected[i] += added[i];
    if (spec.bias) expected[i] += bias_stored[i % s.n];
    if (spec.relu) expected[i] = std::max(expected[i], 0.0f);
  }
  // tf32 rounds both operands, which are below 1, to 10 bits: an error of 2^-11 each, in sums of k products.
  if (spec.math == cuda::Math::tf32) tolerance.absolute += 8 * 0x1p-10 * std::sqrt(static_cast<double>(s.k));
  expect_close(without_gaps(c, s.n, spec.c_row), expected, stored(spec.out, tolerance));
  if (spec.bias_gradient)
    expect_close(bias_gradient.floats(), row_sums(a_stored, s), stored(spec.out, test::product_tolerance(s.k)));
}

ProductSpec small(Element element, bool transpose_a = false, bool transpose_b = false) {
  ProductSpec spec;
  spec.shape = {24, 40, 56, transpose_a, transpose_b};
  spec.element = spec.out = element;
  return spec;
}

TEST(CublasProduct, TransposesAndElements) {
  for_each_element("product", [](Element element) {
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true}) check_product(small(element, transpose_a, transpose_b));
  });
}

TEST(CublasProduct, OddSizes) {
  for (const GemmShape& shape : {GemmShape{1, 1, 1}, {1, 10, 7}, {33, 1, 5}, {7, 13, 1}, {65, 3, 129, true, true}})
    for_each_element("product", [&](Element element) {
      ProductSpec spec = small(element);
      spec.shape = shape;
      check_product(spec);
    });
}

// The three products of a layer of logits, whose rows are longer in memory than the matrix.
TEST(CublasProduct, LongerRows) {
  for_each_element("product", [](Element element) {
    ProductSpec logits = small(element, false, true);
    logits.shape.n = 42;
    logits.c_row = 48;
    logits.bias = true;
    check_product(logits);
    ProductSpec gradient = small(element, false, false);  // of what the layer reads
    gradient.shape.k = 42;
    gradient.a_row = 48;
    check_product(gradient);
    gradient.b_row = 56;
    gradient.accumulate = true;
    check_product(gradient);
    ProductSpec of_weight = small(element, true, false);
    of_weight.shape.m = 42;
    of_weight.a_row = 48;
    check_product(of_weight);
    of_weight.bias_gradient = true;
    check_product(of_weight);
  });
}

TEST(CublasProduct, ABatchHasNoLongerRows) {
  ProductSpec spec = small(Element::f32);
  spec.batch = 2;
  spec.b_row = 48;
  EXPECT_THROW(cuda::CublasProducts().product(spec, {}), cuda::Error);
}

TEST(CublasProduct, BiasAndRelu) {
  for_each_element("product", [](Element element) {
    for (const bool bias : {false, true})
      for (const bool relu : {false, true}) {
        ProductSpec spec = small(element, false, true);
        spec.bias = bias;
        spec.relu = relu;
        check_product(spec);
      }
  });
}

TEST(CublasProduct, BiasGradientIsTheSumOfRowsOfA) {
  for_each_element("product", [](Element element) {
    ProductSpec spec = small(element, true, false);
    spec.bias_gradient = true;
    check_product(spec);
  });
}

TEST(CublasProduct, ScalesAndAccumulates) {
  for_each_element("product", [](Element element) {
    ProductSpec spec = small(element);
    spec.alpha = 0.125f;
    check_product(spec);
    spec.accumulate = true;
    check_product(spec);
  });
}

TEST(CublasProduct, SixteenBitOperandsToFloat) {
  for (const Element element : {Element::bf16, Element::f16}) {
    ProductSpec spec = small(element, false, true);
    spec.out = Element::f32;
    spec.alpha = 0.5f;
    spec.batch = 3;
    check_product(spec);
  }
}

TEST(CublasProduct, SideBySide) {
  for_each_element("product", [](Element element) {
    ProductSpec spec = small(element, true, false);
    spec.batch = 4;
    check_product(spec);
  });
}

TEST(CublasProduct, Tf32) {
  ProductSpec spec = small(Element::f32);
  spec.math = cuda::Math::tf32;
  check_product(spec);
}

TEST(CublasProduct, RefusesContradictions) {
  cuda::CublasProducts products;
  ProductSpec spec = small(Element::f32);
  spec.bias = spec.bias_gradient = true;
  EXPECT_THROW(products.product(spec, {}), cuda::Error);
  spec.bias = false;
  spec.batch = 2;
  EXPECT_THROW(products.product(spec, {}), cuda::Error);
}

}  // namespace
}  // namespace epochbench
