// The kernels of every instruction set of this CPU, with several teams.
#include <type_traits>

#include "tests/support/kernel_sweep.h"
#include "tests/support/op_device.h"

namespace epochbench::test {
namespace {

template <typename Real, typename T>
auto typed(T argument) {
  if constexpr (std::is_same_v<T, void*>) {
    return static_cast<Real*>(argument);
  } else if constexpr (std::is_same_v<T, const void*>) {
    return static_cast<const Real*>(argument);
  } else {
    return argument;
  }
}
template <typename Real, typename Pointer>
auto typed(ChannelParts<Pointer> parts) {
  using Typed = std::conditional_t<std::is_same_v<Pointer, void*>, Real*, const Real*>;
  ChannelParts<Typed> result;
  for (int i = 0; i < parts.count; ++i) result.part[i] = static_cast<Typed>(parts.part[i]);
  std::copy(std::begin(parts.channels), std::end(parts.channels), result.channels);
  result.count = parts.count;
  return result;
}

template <typename Real>
std::size_t workspace_bytes(const cpu::Kernels<Real>& kernels, const WorkspaceExtents& of, int threads) {
  if (of.convolution != nullptr) return kernels.depthwise_conv2d_grad_weight_workspace_bytes(*of.convolution, threads);
  if (of.attention != nullptr) return kernels.attention_workspace_bytes(*of.attention, threads);
  if (of.lstm != nullptr) return kernels.lstm_workspace_bytes(*of.lstm, threads);
  return kernels.reduction_workspace_bytes(of.sizes[1], threads);
}

template <typename Real, typename... Taken, typename... Arguments>
void run(const cpu::Kernels<Real>& kernels, int threads, void (*kernel)(Taken...), const Arguments&... arguments) {
  if constexpr (sizeof...(Taken) == sizeof...(Arguments) + 1) {
    kernel(typed<Real>(arguments)..., threads);
  } else {
    DeviceBuffer<float> workspace = scratch(workspace_bytes(kernels, WorkspaceExtents(arguments...), threads));
    kernel(typed<Real>(arguments)..., workspace.data(), threads);
    EXPECT_TRUE(workspace.guards_intact());
  }
}

// The optimizers' descriptions of parameters.
template <typename Described>
std::vector<Described> described(Parameters& parameters, Described (*describe)(Parameter&)) {
  std::vector<Described> tensors;
  for (Parameter& p : parameters) {
    tensors.push_back(describe(p));
    if (p.gradient.element() == Element::bf16)
      tensors.back().gradient_bf16 = static_cast<const Bf16*>(p.gradient.data());
    else
      tensors.back().gradient = static_cast<const float*>(p.gradient.data());
  }
  return tensors;
}

template <typename Real>
float clip_factor(const cpu::Kernels<Real>& kernels, Parameters& parameters, double largest_norm, int threads) {
  const auto tensors = described<GradientTensor>(parameters, [](Parameter& p) { return GradientTensor{nullptr, p.n()}; });
  DeviceBuffer<float> workspace = scratch(kernels.squares_workspace_bytes(threads));
  double squares = -1;
  kernels.sum_of_squares(&squares, tensors.data(), static_cast<int>(tensors.size()), workspace.data(), threads);
  EXPECT_TRUE(workspace.guards_intact());
  return static_cast<float>(clip_factor_of(std::sqrt(squares), largest_norm));
}

template <typename Real>
void cast(const cpu::Kernels<Real>& kernels, std::vector<Tensor>& y, const std::vector<Tensor>& x, int threads) {
  std::vector<cpu::CastTensor<Real>> tensors;
  for (std::size_t i = 0; i < x.size(); ++i)
    tensors.push_back({static_cast<Real*>(y[i].data()), static_cast<const float*>(x[i].data()), x[i].size()});
  kernels.cast(tensors.data(), static_cast<int>(tensors.size()), threads);
}

template <typename Real>
void add_optimizers(OpDevice& device, const cpu::Kernels<Real>& kernels, int threads) {
  device.sgd = [&kernels, threads](Parameters& parameters, const float* rate, const SgdNumbers& numbers) {
    const auto tensors = described<SgdTensor>(parameters, [](Parameter& p) {
      return SgdTensor{p.weight.data(), p.state1.data(), nullptr, p.n()};
    });
    kernels.sgd(tensors.data(), static_cast<int>(tensors.size()), rate, numbers, threads);
  };
  device.adamw = [&kernels, threads](Parameters& parameters, const float* rate, const std::int32_t* step,
                                     const AdamwNumbers& numbers) {
    const auto tensors = described<AdamwTensor>(parameters, [](Parameter& p) {
      return AdamwTensor{p.weight.data(), p.state1.data(), p.state2.data(), nullptr, p.n(), p.weight_decay};
    });
    kernels.adamw(tensors.data(), static_cast<int>(tensors.size()), rate, step, numbers, threads);
  };
  device.clip_factor = [&kernels, threads](Parameters& parameters, double largest_norm) {
    return clip_factor(kernels, parameters, largest_norm, threads);
  };
}

template <typename Real>
OpDevice device(const cpu::Kernels<Real>& kernels, int threads) {
  OpDevice device;
#define CPU_OP(name) device.name = [&kernels, threads](auto... values) { run(kernels, threads, kernels.name, values...); };
#define COMMON_KERNEL(name, arguments) CPU_OP(name)
#include "kernels/kernel_list.inc"
  CPU_OP(cross_entropy_grad)
  CPU_OP(embedding_grad)
  CPU_OP(attention)
  CPU_OP(attention_grad)
  CPU_OP(lstm)
  CPU_OP(lstm_grad)
  device.cast = [&kernels, threads](std::vector<Tensor>& y, const std::vector<Tensor>& x) { cast(kernels, y, x, threads); };
  device.casts = {{Element::f32, std::is_same_v<Real, float> ? Element::f32 : Element::bf16}};
  add_optimizers(device, kernels, threads);
  device.code = &kernels;
  device.threads = threads;
  // The Bf16 kernels compute the exponential with relative error 2^-13.6.
  device.exponential_error = std::is_same_v<Real, float> ? 0 : 0x1.8p-13;
  device.mask_channels = kernels.masks ? 16 : 0;
  device.squares_in_float = 512;
  device.products_in_float = true;
  return device;
}

}  // namespace

void* DeviceMemory::allocate(std::size_t bytes) { return HostMemory::allocate(bytes); }
void DeviceMemory::free(void* memory) noexcept { HostMemory::free(memory); }

std::vector<Element> op_elements() { return {Element::f32, Element::bf16}; }

std::vector<Element> gradient_elements() { return {Element::f32, Element::bf16}; }

bool op_large() { return true; }

void for_each_device(Element element, const std::function<void(const OpDevice&)>& check) {
  const auto run_check = [&](const auto& kernels, int threads) { check(device(kernels, threads)); };
  if (element == Element::f32)
    for_each_kernels<float>("", run_check);
  else
    for_each_kernels<Bf16>("", run_check);
}

void for_each_device(const std::function<void(const OpDevice&)>& check) {
  for (Element element : op_elements()) for_each_device(element, check);
}

}  // namespace epochbench::test
