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

template <typename Real, typename... Parameters, typename... Arguments>
void run(const cpu::Kernels<Real>& kernels, int threads, void (*kernel)(Parameters...), const Arguments&... arguments) {
  if constexpr (sizeof...(Parameters) == sizeof...(Arguments) + 1) {
    kernel(typed<Real>(arguments)..., threads);
  } else {
    const WorkspaceExtents of(arguments...);
    const std::size_t bytes = of.convolution != nullptr
                                  ? kernels.depthwise_conv2d_grad_weight_workspace_bytes(*of.convolution, threads)
                                  : kernels.reduction_workspace_bytes(of.sizes[1], threads);
    DeviceBuffer<float> workspace = scratch(bytes);
    kernel(typed<Real>(arguments)..., workspace.data(), threads);
    EXPECT_TRUE(workspace.guards_intact());
  }
}

template <typename Real>
OpDevice device(const cpu::Kernels<Real>& kernels, int threads) {
  OpDevice device;
#define COMMON_KERNEL(name, arguments) \
  device.name = [&kernels, threads](auto... values) { run(kernels, threads, kernels.name, values...); };
#include "kernels/kernel_list.inc"
  device.cross_entropy_grad = [&kernels, threads](auto... values) {
    run(kernels, threads, kernels.cross_entropy_grad, values...);
  };
  device.embedding_grad = [&kernels, threads](auto... values) { run(kernels, threads, kernels.embedding_grad, values...); };
  device.code = &kernels;
  device.threads = threads;
  // The Bf16 kernels compute the exponential with relative error 2^-13.6.
  device.exponential_error = std::is_same_v<Real, float> ? 0 : 0x1.8p-13;
  device.mask_channels = kernels.masks ? 16 : 0;
  device.squares_in_float = 512;
  return device;
}

}  // namespace

void* DeviceMemory::allocate(std::size_t bytes) { return HostMemory::allocate(bytes); }
void DeviceMemory::free(void* memory) noexcept { HostMemory::free(memory); }

std::vector<Element> op_elements() { return {Element::f32, Element::bf16}; }

bool op_large() { return true; }

void for_each_device(Element element, const std::function<void(const OpDevice&)>& check) {
  const auto run_check = [&](const auto& kernels, int threads) { check(device(kernels, threads)); };
  if (element == Element::f32)
    for_each_kernels_of<float>("", run_check);
  else
    for_each_kernels_of<Bf16>("", run_check);
}

}  // namespace epochbench::test
