// The fake libraries.
#include "tests/support/cuda_fake_libraries.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/reference/kernels.h"
#include "tests/support/cuda_kernel_sweep.h"

namespace epochbench::test {
namespace {

using Floats = std::vector<float>;

std::size_t count(std::initializer_list<std::int64_t> extents) {
  std::int64_t product = 1;
  for (std::int64_t extent : extents) product *= extent;
  return static_cast<std::size_t>(product);
}

// Rounds to 10 bits of mantissa, to nearest even.
float to_tf32(float value) {
  if (!std::isfinite(value)) return value;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0xfff + ((bits >> 13) & 1)) & ~0x1fffu);
}

Floats load(const void* from, std::size_t n, Element element, bool tf32 = false) {
  Floats values(n);
  if (element == Element::f32)
    std::memcpy(values.data(), from, n * sizeof(float));
  else
    std::transform(static_cast<const std::uint16_t*>(from), static_cast<const std::uint16_t*>(from) + n, values.begin(),
                   [=](std::uint16_t bits) { return from_bits(bits, element); });
  if (element == Element::f32 && tf32) std::transform(values.begin(), values.end(), values.begin(), to_tf32);
  return values;
}

void store(void* to, const Floats& values, Element element) {
  if (element == Element::f32)
    std::memcpy(to, values.data(), values.size() * sizeof(float));
  else
    std::transform(values.begin(), values.end(), static_cast<std::uint16_t*>(to),
                   [=](float value) { return to_bits(value, element); });
}

void fill_with_nan(void* memory, std::size_t bytes) { std::memset(memory, 0xff, bytes); }

void use_workspace(void* workspace, std::size_t bytes) {
  constexpr std::size_t kEnd = 64;
  fill_with_nan(workspace, kEnd);
  fill_with_nan(static_cast<std::byte*>(workspace) + bytes - kEnd, kEnd);
}

// Sizes of scratch in bytes.
struct Sizes {
  std::size_t out, a, b, bias;
};
void spoil(FakeDevice& device, const cuda::Scratch& scratch, const Sizes& sizes, std::size_t workspace_bytes,
           cuda::Stream stream) {
  device.enqueue(stream, [=] {
    fill_with_nan(scratch.out, sizes.out);
    fill_with_nan(scratch.a, sizes.a);
    fill_with_nan(scratch.b, sizes.b);
    if (sizes.bias > 0) fill_with_nan(scratch.bias, sizes.bias);
    use_workspace(scratch.workspace, workspace_bytes);
  });
  device.synchronize(stream);
}

std::size_t bytes(std::size_t n, Element element) { return n * static_cast<std::size_t>(bytes_of(element)); }

class FakeProduct final : public cuda::Product {
 public:
  FakeProduct(FakeDevice& device, const cuda::ProductSpec& spec) : device_(device), spec_(spec) {}

  void run(void* c, const void* a, const void* b, void* bias, void* workspace, cuda::Stream stream) override {
    device_.enqueue(stream, [=, spec = spec_] {
      use_workspace(workspace, cuda::kProductWorkspaceBytes);
      const auto [m, n, k, transpose_a, transpose_b] = spec.shape;
      const std::size_t of_a = count({m, k}), of_b = count({k, n}), of_c = count({m, n});
      const auto batch = static_cast<std::size_t>(spec.batch);
      const bool tf32 = spec.math == cuda::Math::tf32;
      const Floats left = load(a, batch * of_a, spec.element, tf32), right = load(b, batch * of_b, spec.element, tf32);
      Floats result(batch * of_c);
      for (std::size_t i = 0; i < batch; ++i)
        reference::gemm(&result[i * of_c], &left[i * of_a], &right[i * of_b], spec.shape, {});
      const Floats before = spec.accumulate ? load(c, result.size(), spec.out) : Floats{};
      const Floats added = spec.bias ? load(bias, static_cast<std::size_t>(n), spec.out) : Floats{};
      for (std::size_t i = 0; i < result.size(); ++i) {
        result[i] *= spec.alpha;
        if (spec.accumulate) result[i] += before[i];
        if (spec.bias) result[i] += added[i % static_cast<std::size_t>(n)];
        if (spec.relu) result[i] = std::max(result[i], 0.0f);
      }
      store(c, result, spec.out);
      if (!spec.bias_gradient) return;
      Floats sums(static_cast<std::size_t>(m));
      reference::bias_add_grad(sums.data(), load(a, of_a, spec.element).data(), k, m);
      store(bias, sums, spec.out);
    });
  }
  std::string implementation() const override { return "fake product"; }

 private:
  FakeDevice& device_;
  cuda::ProductSpec spec_;
};

Sizes convolution_sizes(const cuda::ConvolutionSpec& spec) {
  const Conv2dShape& s = spec.shape;
  const std::size_t x = bytes(count({s.batch, s.height, s.width, s.channels}), spec.element);
  const std::size_t y = bytes(count({s.batch, s.out_height, s.out_width, s.out_channels}), spec.element);
  const std::size_t weight = bytes(count({s.out_channels, s.kernel_height, s.kernel_width, s.channels}), spec.element);
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
  FakeConvolution(FakeDevice& device, const cuda::ConvolutionSpec& spec, bool winograd)
      : device_(device), spec_(spec), winograd_(winograd) {}

  void run(void* out, const void* a, const void* b, const void* bias, void* workspace, cuda::Stream stream) override {
    device_.enqueue(stream, [=, spec = spec_] {
      use_workspace(workspace, cuda::kConvolutionWorkspaceBytes);
      const Sizes sizes = convolution_sizes(spec);
      const bool tf32 = spec.math == cuda::Math::tf32;
      auto elements = [&](std::size_t size) { return size / bytes(1, spec.element); };
      const Floats left = load(a, elements(sizes.a), spec.element, tf32),
                   right = load(b, elements(sizes.b), spec.element, tf32);
      Floats result(elements(sizes.out));
      switch (spec.pass) {
        case cuda::ConvolutionPass::forward: {
          const Floats added = spec.bias ? load(bias, elements(sizes.bias), spec.element) : Floats{};
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
      store(out, result, spec.element);
    });
  }
  std::string implementation() const override { return "fake convolution"; }
  std::string algorithm() const override { return winograd_ ? "winograd" : ""; }

 private:
  FakeDevice& device_;
  cuda::ConvolutionSpec spec_;
  bool winograd_;
};

class FakeAttention final : public cuda::Attention {
 public:
  FakeAttention(FakeDevice& device, const cuda::AttentionSpec& spec, std::set<std::int64_t>& seeds)
      : device_(device),
        seeds_(seeds),
        spec_(spec),
        n_(count({spec.shape.batch, spec.shape.sequence, spec.shape.heads, spec.shape.width})) {}

  void forward(const Forward& t, void* workspace, cuda::Stream stream) override {
    device_.enqueue(stream, [=, this, spec = spec_, n = n_] {
      use_workspace(workspace, cuda::attention_workspace_bytes(spec.shape, false));
      const std::int32_t step = 0;
      Floats y(n);
      reference::attention(y.data(), t.log_sum_exp, load(t.q, n, spec.element).data(), load(t.k, n, spec.element).data(),
                           load(t.v, n, spec.element).data(), &step, spec.shape, forward_dropout(t.seed_offset));
      store(t.y, y, spec.element);
    });
  }

  void backward(const Backward& t, void* workspace, cuda::Stream stream) override {
    device_.enqueue(stream, [=, this, spec = spec_, n = n_] {
      use_workspace(workspace, cuda::attention_workspace_bytes(spec.shape, true));
      const std::int32_t step = 0;
      Floats dq(n), dk(n), dv(n);
      reference::attention_grad(dq.data(), dk.data(), dv.data(), load(t.dy, n, spec.element).data(),
                                load(t.q, n, spec.element).data(), load(t.k, n, spec.element).data(),
                                load(t.v, n, spec.element).data(), load(t.y, n, spec.element).data(), t.log_sum_exp, &step,
                                spec.shape, backward_dropout(t.seed_offset));
      store(t.dq, dq, spec.element);
      store(t.dk, dk, spec.element);
      store(t.dv, dv, spec.element);
    });
  }
  std::string implementation() const override { return "fake attention"; }

 private:
  // Its own masks, like those of a library: determined by the seed only.
  Dropout dropout(std::int64_t seed) const {
    if (spec_.dropout == 0) return {};
    return {static_cast<std::uint64_t>(seed), 0, static_cast<std::uint32_t>(std::lround(spec_.dropout * 0x1p32)),
            static_cast<float>(1 / (1 - spec_.dropout))};
  }
  Dropout forward_dropout(const std::int64_t* seed_offset) {
    if (spec_.dropout == 0) return {};
    seeds_.insert(seed_ = seed_offset[0]);
    return dropout(seed_);
  }
  Dropout backward_dropout(const std::int64_t* seed_offset) const {
    if (spec_.dropout == 0) return {};
    if (seed_offset[0] != seed_) throw cuda::Error("fake attention: the forward pass had another seed");
    return dropout(seed_);
  }

  FakeDevice& device_;
  std::set<std::int64_t>& seeds_;
  std::int64_t seed_ = 0;  // of the last forward pass
  cuda::AttentionSpec spec_;
  std::size_t n_;
};

}  // namespace

std::unique_ptr<cuda::Product> FakeLibraries::product(const cuda::ProductSpec& spec, const cuda::Scratch& scratch,
                                                      cuda::Stream stream) {
  if (spec.bias_gradient && !options_.bias_gradient) throw cuda::Error("as the test requests");
  const auto [m, n, k, transpose_a, transpose_b] = spec.shape;
  spoil(device_, scratch,
        {bytes(count({spec.batch, m, n}), spec.out), bytes(count({spec.batch, m, k}), spec.element),
         bytes(count({spec.batch, k, n}), spec.element),
         bytes(spec.bias            ? static_cast<std::size_t>(n)
               : spec.bias_gradient ? static_cast<std::size_t>(m)
                                    : 0,
               spec.out)},
        cuda::kProductWorkspaceBytes, stream);
  ++plans_;
  return std::make_unique<FakeProduct>(device_, spec);
}

std::unique_ptr<cuda::Convolution> FakeLibraries::convolution(const cuda::ConvolutionSpec& spec, const cuda::Scratch& scratch,
                                                              cuda::Stream stream, std::string& reason) {
  if (!options_.convolution || (spec.bias && !options_.convolution_bias)) {
    reason = "as the test requests";
    return nullptr;
  }
  spoil(device_, scratch, convolution_sizes(spec), cuda::kConvolutionWorkspaceBytes, stream);
  ++plans_;
  return std::make_unique<FakeConvolution>(device_, spec, options_.winograd && spec.shape.winograd);
}

std::unique_ptr<cuda::Attention> FakeLibraries::attention(const cuda::AttentionSpec& spec, cuda::Stream, std::string& reason) {
  if (!options_.attention) {
    reason = "as the test requests";
    return nullptr;
  }
  ++plans_;
  return std::make_unique<FakeAttention>(device_, spec, seeds_);
}

}  // namespace epochbench::test
