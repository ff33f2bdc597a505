// The libraries of the emulated GPUs: products by the reference kernel. They have no convolution and no attention, so that the
// backend's own kernels run in their place.
#include "kernels/cuda/libraries/libraries.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/libraries/loaded_libraries.h"
#include "kernels/cuda/specs.h"
#include "kernels/reference/kernels.h"
#include "tests/support/cuda_emulated/runtime.h"
#include "tests/support/cuda_kernel_sweep.h"

namespace epochbench::cuda {
namespace {

using Floats = std::vector<float>;

// A row-major matrix with `gap` elements between the end of a row and the next.
Floats load(const void* from, std::int64_t rows, std::int64_t columns, std::int64_t gap, Element element) {
  Floats values;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::int64_t at = i * (columns + gap) + j;
      values.push_back(element == Element::f32 ? static_cast<const float*>(from)[at]
                                               : test::from_bits(static_cast<const std::uint16_t*>(from)[at], element));
    }
  return values;
}

void store(void* to, const Floats& values, std::int64_t columns, std::int64_t gap, Element element) {
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(values.size()); ++i) {
    const std::int64_t at = i + i / columns * gap;
    const float value = values[static_cast<std::size_t>(i)];
    if (element == Element::f32)
      static_cast<float*>(to)[at] = value;
    else
      static_cast<std::uint16_t*>(to)[at] = test::to_bits(value, element);
  }
}

// With `row` 0 there is none.
std::int64_t row_gap(std::int64_t row, std::int64_t columns) { return row == 0 ? 0 : row - columns; }

void multiply(const ProductSpec& spec, void* c, const void* a, const void* b, const void* bias) {
  const auto [m, n, k, transpose_a, transpose_b, packed_b] = spec.shape;
  const std::int64_t a_columns = transpose_a ? m : k, b_columns = transpose_b ? k : n, c_gap = row_gap(spec.c_row, n);
  const Floats left = load(a, spec.batch * m * k / a_columns, a_columns, row_gap(spec.a_row, a_columns), spec.element);
  const Floats right = load(b, spec.batch * k * n / b_columns, b_columns, row_gap(spec.b_row, b_columns), spec.element);
  const Floats before = spec.accumulate ? load(c, spec.batch * m, n, c_gap, spec.out) : Floats{};
  const Floats added = spec.bias ? load(bias, 1, n, 0, spec.out) : Floats{};
  Floats result(static_cast<std::size_t>(spec.batch * m * n));
  for (std::int64_t i = 0; i < spec.batch; ++i)
    reference::gemm(result.data() + i * m * n, left.data() + i * m * k, right.data() + i * k * n, spec.shape, {});
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] *= spec.alpha;
    if (spec.accumulate) result[i] += before[i];
    if (spec.bias) result[i] += added[i % static_cast<std::size_t>(n)];
    if (spec.relu) result[i] = std::max(result[i], 0.0f);
  }
  store(c, result, n, c_gap, spec.out);
}

class EmulatedProduct final : public Product {
 public:
  explicit EmulatedProduct(const ProductSpec& spec) : spec_(spec) {}

  void run(void* c, const void* a, const void* b, void* bias, void*, Stream stream) override {
    test::perform(stream, [=, spec = spec_] {
      const auto [m, n, k, transpose_a, transpose_b, packed_b] = spec.shape;
      const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
      if (flops > test::kHugeFlops) return test::pass_seconds(test::kSecondsOfHugeWork);
      multiply(spec, c, a, b, bias);
    });
  }
  std::string implementation() const override { return "emulated product"; }

 private:
  ProductSpec spec_;
};

// The one algorithm of a product.
class EmulatedAlgorithm final : public Algorithms<Product> {
 public:
  explicit EmulatedAlgorithm(const ProductSpec& spec) : spec_(spec) {}
  std::string problem() const override { return describe(spec_); }
  std::vector<Offer> offers() override {
    if (spec_.bias_gradient) throw Error("the emulated library has no product with sums of rows");
    return {{"emulated"}};
  }
  std::shared_ptr<Product> build(const std::string&) override { return std::make_shared<EmulatedProduct>(spec_); }

 private:
  ProductSpec spec_;
};

template <typename T>
class NoAlgorithm final : public Algorithms<T> {
 public:
  explicit NoAlgorithm(std::string problem) : problem_(std::move(problem)) {}
  std::string problem() const override { return problem_; }
  std::vector<Offer> offers() override { throw Error("the emulated library only has products"); }
  std::shared_ptr<T> build(const std::string&) override { throw Error("the emulated library only has products"); }

 private:
  std::string problem_;
};

class EmulatedLibraries final : public Libraries {
 public:
  LibraryVersions versions() const override { return library_versions(); }
  std::unique_ptr<Algorithms<Product>> product(const ProductSpec& spec, const ProductOperands&) override {
    return std::make_unique<EmulatedAlgorithm>(spec);
  }
  std::unique_ptr<Algorithms<GeluProduct>> gelu_product(const GeluProductSpec& spec) override {
    return std::make_unique<NoAlgorithm<GeluProduct>>(describe(spec));
  }
  std::unique_ptr<Algorithms<Convolution>> convolution(const ConvolutionSpec& spec) override {
    return std::make_unique<NoAlgorithm<Convolution>>(describe(spec));
  }
  std::unique_ptr<Algorithms<AttentionForward>> attention_forward(const AttentionSpec& spec) override {
    return std::make_unique<NoAlgorithm<AttentionForward>>(describe(spec) + " forward");
  }
  std::unique_ptr<Algorithms<AttentionBackward>> attention_backward(const AttentionSpec& spec) override {
    return std::make_unique<NoAlgorithm<AttentionBackward>>(describe(spec) + " backward");
  }
};

}  // namespace

std::unique_ptr<Libraries> make_libraries() { return std::make_unique<EmulatedLibraries>(); }

LibraryVersions library_versions() { return {"emulated", "emulated"}; }

}  // namespace epochbench::cuda
