// The fake libraries.
#include "tests/support/cuda_fake_libraries.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/cuda/specs.h"
#include "kernels/reference/kernels.h"
#include "tests/support/cuda_fake_attention.h"
#include "tests/support/cuda_fake_numbers.h"

namespace epochbench::test {
namespace {

// To the bit the reference's product: eight columns at a time, each sum in order of depth.
void multiply(float* c, const float* a, const float* b, const GemmShape& shape) {
  constexpr std::int64_t kColumns = 8;
  const auto [m, n, k, transpose_a, transpose_b, packed_b] = shape;
  const std::int64_t stride = (n + kColumns - 1) / kColumns * kColumns;
  std::vector<double> right(static_cast<std::size_t>(k * stride));  // by depth and column; zeros beyond the last
  for (std::int64_t p = 0; p < k; ++p)
    for (std::int64_t j = 0; j < n; ++j)
      right[static_cast<std::size_t>(p * stride + j)] = transpose_b ? b[j * k + p] : b[p * n + j];
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t first = 0; first < n; first += kColumns) {
      double sums[kColumns] = {};
      for (std::int64_t p = 0; p < k; ++p) {
        const double left = transpose_a ? a[p * m + i] : a[i * k + p];
        const double* const of_columns = right.data() + p * stride + first;
        for (std::int64_t j = 0; j < kColumns; ++j) sums[j] += left * of_columns[j];
      }
      const std::int64_t columns = std::min(kColumns, n - first);
      for (std::int64_t j = 0; j < columns; ++j) c[i * n + first + j] = static_cast<float>(sums[j]);
    }
}

// Sizes of scratch in bytes.
struct Sizes {
  std::size_t out, a, b, bias;
};

class FakeProduct final : public cuda::Product {
 public:
  FakeProduct(FakeDevice& device, const cuda::ProductSpec& spec, double seconds)
      : device_(device), spec_(spec), seconds_(seconds) {}

  void run(void* c, const void* a, const void* b, void* bias, void* workspace, cuda::Stream stream) override {
    const auto compute = [=, spec = spec_] {
      use_workspace(workspace, cuda::kProductWorkspaceBytes);
      const auto [m, n, k, transpose_a, transpose_b, packed_b] = spec.shape;
      const std::size_t of_a = count({m, k}), of_b = count({k, n}), of_c = count({m, n});
      const auto batch = static_cast<std::size_t>(spec.batch);
      const bool tf32 = spec.math == cuda::Math::tf32;
      const auto a_columns = static_cast<std::size_t>(transpose_a ? m : k),
                 b_columns = static_cast<std::size_t>(transpose_b ? k : n);
      const Floats left = load_rows(a, batch * of_a / a_columns, a_columns, spec.a_row, spec.element, tf32),
                   right = load_rows(b, batch * of_b / b_columns, b_columns, spec.b_row, spec.element, tf32);
      Floats result(batch * of_c);
      for (std::size_t i = 0; i < batch; ++i) multiply(&result[i * of_c], &left[i * of_a], &right[i * of_b], spec.shape);
      const auto c_columns = static_cast<std::size_t>(n);
      const Floats before =
          spec.accumulate ? load_rows(c, result.size() / c_columns, c_columns, spec.c_row, spec.out) : Floats{};
      const Floats added = spec.bias ? load(bias, static_cast<std::size_t>(n), spec.out) : Floats{};
      for (std::size_t i = 0; i < result.size(); ++i) {
        result[i] *= spec.alpha;
        if (spec.accumulate) result[i] += before[i];
        if (spec.bias) result[i] += added[i % static_cast<std::size_t>(n)];
        if (spec.relu) result[i] = std::max(result[i], 0.0f);
      }
      store_rows(c, result, c_columns, spec.c_row, spec.out);
      if (!spec.bias_gradient) return;
      Floats sums(static_cast<std::size_t>(m));
      reference::bias_add_grad(sums.data(), load_rows(a, of_a / a_columns, a_columns, spec.a_row, spec.element).data(), k, m);
      store(bias, sums, spec.out);
    };
    device_.enqueue_plan(has_run_, stream, compute, seconds_);
  }
  std::string implementation() const override { return "fake product"; }

 private:
  FakeDevice& device_;
  cuda::ProductSpec spec_;
  double seconds_;
  bool has_run_ = false;
};

class FakeGeluProduct final : public cuda::GeluProduct {
 public:
  FakeGeluProduct(FakeDevice& device, const cuda::GeluProductSpec& spec, double seconds)
      : device_(device), spec_(spec), seconds_(seconds) {}

  void run(const Tensors& t, void* workspace, cuda::Stream stream) override {
    const auto compute = [=, spec = spec_] {
      use_workspace(workspace, cuda::kProductWorkspaceBytes);
      const auto [m, n, k, transpose_a, transpose_b, packed_b] = spec.shape;
      const bool tf32 = spec.math == cuda::Math::tf32;
      const std::size_t size = count({m, n});
      Floats result(size), x(size);
      multiply(x.data(), load(t.a, count({m, k}), spec.element, tf32).data(),
               load(t.b, count({k, n}), spec.element, tf32).data(), spec.shape);
      if (spec.gradient) {
        (spec.tanh ? reference::gelu_tanh_grad : reference::gelu_grad)(
            result.data(), x.data(), load(t.x, size, spec.element).data(), static_cast<std::int64_t>(size));
      } else {
        const Floats bias = load(t.bias, static_cast<std::size_t>(n), spec.element);
        for (std::size_t i = 0; i < size; ++i) x[i] += bias[i % static_cast<std::size_t>(n)];
        (spec.tanh ? reference::gelu_tanh : reference::gelu)(result.data(), x.data(), static_cast<std::int64_t>(size));
        if (spec.x) store(t.x, x, spec.element);
      }
      store(t.out, result, spec.element);
    };
    device_.enqueue_plan(has_run_, stream, compute, seconds_);
  }
  std::string implementation() const override { return "fake product with gelu"; }

 private:
  FakeDevice& device_;
  cuda::GeluProductSpec spec_;
  double seconds_;
  bool has_run_ = false;
};

Sizes convolution_sizes(const cuda::ConvolutionSpec& spec) {
  const Conv2dShape& s = spec.shape;
  const std::size_t x = bytes(count({s.batch, s.height, s.width, s.channels}), spec.element);
  const std::size_t y = bytes(count({s.batch, s.out_height, s.out_width, s.out_channels}), spec.element);
  const std::size_t weight =
      bytes(count({s.out_channels, s.kernel_height, s.kernel_width, spec.depthwise ? 1 : s.channels}), spec.element);
  switch (spec.pass) {
    case cuda::ConvolutionPass::forward:
      return {y, x, weight, spec.bias ? bytes(count({s.out_channels}), spec.element) : 0};
    case cuda::ConvolutionPass::grad_input:
      return {x, y, weight, 0};
    case cuda::ConvolutionPass::grad_weight:
      return {weight, y, x, 0};
  }
  return {};
}

class FakeConvolution final : public cuda::Convolution {
 public:
  FakeConvolution(FakeDevice& device, const cuda::ConvolutionSpec& spec, bool winograd, double seconds)
      : device_(device), spec_(spec), winograd_(winograd), seconds_(seconds) {}

  void run(const Tensors& t, void* workspace, cuda::Stream stream) override {
    const auto compute = [=, spec = spec_] {
      use_workspace(workspace, cuda::convolution_workspace_bytes(spec));
      const Sizes sizes = convolution_sizes(spec);
      const bool tf32 = spec.math == cuda::Math::tf32;
      auto elements = [&](std::size_t size) { return size / bytes(1, spec.element); };
      const Floats left = load(t.a, elements(sizes.a), spec.element, tf32),
                   right = load(t.b, elements(sizes.b), spec.element, tf32);
      Floats result(elements(sizes.out));
      if (spec.depthwise) {
        depthwise(result, left, right, spec);
        return store(t.out, result, spec.element);
      }
      switch (spec.pass) {
        case cuda::ConvolutionPass::forward: {
          const Floats added = spec.bias ? load(t.bias, elements(sizes.bias), spec.element) : Floats{};
          reference::conv2d(result.data(), left.data(), right.data(), spec.shape,
                            {spec.bias ? added.data() : nullptr, spec.relu});
          break;
        }
        case cuda::ConvolutionPass::grad_input:
          reference::conv2d_grad_input(result.data(), left.data(), right.data(), spec.shape);
          break;
        case cuda::ConvolutionPass::grad_weight:
          reference::conv2d_grad_weight(result.data(), left.data(), right.data(), spec.shape);
          break;
      }
      if (spec.sums) sum(result, t.norm, spec);
      store(t.out, result, spec.element);
    };
    device_.enqueue_plan(has_run_, stream, compute, seconds_);
  }
  std::string implementation() const override {
    if (spec_.depthwise) return "fake depthwise convolution";
    return spec_.sums ? "fake convolution with sums" : "fake convolution";
  }
  std::string algorithm() const override { return winograd_ ? "winograd" : ""; }

 private:
  static Floats transposed(const Floats& x, std::size_t rows) {
    const std::size_t columns = x.size() / rows;
    Floats y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) y[i % columns * rows + i / columns] = x[i];
    return y;
  }

  // The library's weights are those of the kernels, transposed.
  static void depthwise(Floats& result, const Floats& left, const Floats& right, const cuda::ConvolutionSpec& spec) {
    const Conv2dShape& s = spec.shape;
    const auto channels = static_cast<std::size_t>(s.channels);
    switch (spec.pass) {
      case cuda::ConvolutionPass::forward:
        return reference::depthwise_conv2d(result.data(), left.data(), transposed(right, channels).data(), s);
      case cuda::ConvolutionPass::grad_input:
        return reference::depthwise_conv2d_grad_input(result.data(), left.data(), transposed(right, channels).data(), s);
      case cuda::ConvolutionPass::grad_weight:
        reference::depthwise_conv2d_grad_weight(result.data(), left.data(), right.data(), s);
        result = transposed(result, result.size() / channels);
    }
  }

  // What a convolution does for the batch norm next to it.
  static void sum(Floats& out, const NormTensors& norm, const cuda::ConvolutionSpec& spec) {
    const bool forward = spec.pass == cuda::ConvolutionPass::forward;
    const auto channels = static_cast<std::size_t>(forward ? spec.shape.out_channels : spec.shape.channels);
    const Floats x = forward ? out : load(norm.x, out.size(), spec.element);
    for (std::size_t c = 0; c < channels; ++c) {
      double first = 0, second = 0;
      for (std::size_t i = c; i < out.size(); i += channels) {
        const float deviation = x[i] - norm.mean[c];
        if (!forward && deviation * norm.inv_std[c] * norm.scale[c] + norm.bias[c] <= 0) out[i] = 0;
        const double summed = forward ? deviation : out[i];
        first += summed;
        second += summed * deviation;
      }
      norm.sums[c] = static_cast<float>(first);
      norm.sums[channels + c] = static_cast<float>(second);
    }
  }

  FakeDevice& device_;
  cuda::ConvolutionSpec spec_;
  bool winograd_;
  double seconds_;
  bool has_run_ = false;
};

}  // namespace

// make(seconds): a plan whose runs take so long.
template <typename T, typename Make>
std::unique_ptr<cuda::Algorithms<T>> FakeLibraries::offer(const std::string& problem, bool exists, bool compiles, Make make) {
  class Plans final : public cuda::Algorithms<T> {
   public:
    Plans(FakeLibraries& libraries, std::string problem, bool exists, bool compiles, Make make)
        : libraries_(libraries),
          problem_(std::move(problem)),
          exists_(exists),
          compiles_(compiles && libraries.options_.compile_seconds > 0),
          make_(std::move(make)) {}
    std::string problem() const override { return problem_; }
    std::vector<cuda::Offer> offers() override {
      ++libraries_.questions_;
      if (!exists_) throw cuda::Error("as the test requests");
      std::vector<cuda::Offer> offers;
      for (std::size_t i = 0; i < libraries_.options_.seconds.size(); ++i)
        offers.push_back({.tag = "fake " + std::to_string(i), .compiles = compiles_});
      return offers;
    }
    std::function<std::shared_ptr<void>()> compiling(const std::string& tag) override {
      if (!compiles_) return {};
      return [this, tag] { return build(tag); };
    }
    std::shared_ptr<T> build(const std::string& tag) override {
      std::weak_ptr<void>& compiled = libraries_.compiled_[problem_ + " " + tag];
      if (std::shared_ptr<void> plan = compiled.lock()) return std::static_pointer_cast<T>(plan);
      if (compiles_ && !libraries_.compiled_at_) libraries_.compiled_at_ = libraries_.device_.seconds();
      libraries_.device_.pass(libraries_.options_.build_seconds + (compiles_ ? libraries_.options_.compile_seconds : 0));
      if (!exists_ || libraries_.options_.broken.contains(tag)) throw cuda::Error("as the test requests");
      ++libraries_.plans_;
      std::shared_ptr<T> plan = make_(libraries_.options_.seconds.at(std::stoul(tag.substr(5))));
      if (compiles_) compiled = plan;  // which equal layers share
      return plan;
    }

   private:
    FakeLibraries& libraries_;
    std::string problem_;
    bool exists_, compiles_;
    Make make_;
  };
  return std::make_unique<Plans>(*this, problem, exists, compiles, std::move(make));
}

std::unique_ptr<cuda::Algorithms<cuda::Product>> FakeLibraries::product(const cuda::ProductSpec& spec,
                                                                        const cuda::ProductOperands&) {
  return offer<cuda::Product>(describe(spec), !spec.bias_gradient || options_.bias_gradient, false, [=, this](double seconds) {
    return std::make_shared<FakeProduct>(device_, spec, seconds + (spec.bias_gradient ? options_.bias_gradient_seconds : 0));
  });
}

std::unique_ptr<cuda::Algorithms<cuda::GeluProduct>> FakeLibraries::gelu_product(const cuda::GeluProductSpec& spec) {
  return offer<cuda::GeluProduct>(describe(spec), options_.gelu, true, [=, this](double seconds) {
    return std::make_shared<FakeGeluProduct>(device_, spec, seconds + options_.gelu_seconds);
  });
}

std::unique_ptr<cuda::Algorithms<cuda::Convolution>> FakeLibraries::convolution(const cuda::ConvolutionSpec& spec) {
  return offer<cuda::Convolution>(
      describe(spec),
      options_.convolution && (!spec.bias || options_.convolution_bias) && (!spec.sums || options_.convolution_sums), spec.sums,
      [=, this](double seconds) {
        return std::make_shared<FakeConvolution>(
            device_, spec, options_.winograd && spec.shape.winograd,
            seconds + (spec.sums ? options_.sums_seconds : 0) + (spec.depthwise ? options_.depthwise_seconds : 0));
      });
}

FakeAttention FakeLibraries::attention(const cuda::AttentionSpec& spec, double seconds) {
  return {device_, seed_of_, seeds_, spec, seconds, options_.attention_rounds_dropout, options_.attention_masks_differ};
}

std::unique_ptr<cuda::Algorithms<cuda::AttentionForward>> FakeLibraries::attention_forward(const cuda::AttentionSpec& spec) {
  return offer<cuda::AttentionForward>(describe(spec) + " forward", options_.attention, true,
                                       [=, this](double seconds) { return make_fake_forward(attention(spec, seconds)); });
}

std::unique_ptr<cuda::Algorithms<cuda::AttentionBackward>> FakeLibraries::attention_backward(const cuda::AttentionSpec& spec) {
  return offer<cuda::AttentionBackward>(describe(spec) + " backward", options_.attention, true,
                                        [=, this](double seconds) { return make_fake_backward(attention(spec, seconds)); });
}

}  // namespace epochbench::test
