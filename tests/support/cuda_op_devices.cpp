// The CUDA kernels: those compiled for the CPU in every thread order, or those of a GPU.
#include <string_view>
#include <type_traits>

#include "tests/support/cuda_kernel_sweep.h"
#include "tests/support/op_device.h"

namespace epochbench::test {
namespace {

std::size_t workspace_bytes(std::string_view kernel, const WorkspaceExtents& of) {
  if (of.convolution != nullptr) return cuda::depthwise_conv2d_grad_weight_workspace_bytes(*of.convolution);
  if (kernel == "cross_entropy" || kernel == "count_correct") return cuda::cross_entropy_workspace_bytes(of.sizes[0]);
  if (kernel == "add_rows_grad") return cuda::reduction_workspace_bytes(of.sizes[0], of.sizes[1] * of.sizes[2]);
  return cuda::reduction_workspace_bytes(of.sizes[0], of.sizes[1]);
}

// Rows lie next to each other.
template <typename... Parameters, typename... Arguments>
void run(std::string_view name, Element element, void (*kernel)(Parameters...), const Arguments&... arguments) {
  using Kernel = decltype(kernel);
  const WorkspaceExtents of(arguments...);
  if constexpr (std::is_invocable_v<Kernel, Arguments..., Element, cuda::Stream>) {
    kernel(arguments..., element, kNoStream);
  } else if constexpr (std::is_invocable_v<Kernel, Arguments..., std::int64_t, Element, cuda::Stream>) {
    kernel(arguments..., of.sizes[1], element, kNoStream);
  } else {
    DeviceBuffer<float> workspace = scratch(workspace_bytes(name, of));
    if constexpr (std::is_invocable_v<Kernel, Arguments..., Element, void*, cuda::Stream>)
      kernel(arguments..., element, workspace.data(), kNoStream);
    else
      kernel(arguments..., of.sizes[1], element, workspace.data(), kNoStream);
    EXPECT_TRUE(workspace.guards_intact());
  }
}

OpDevice device(Element element) {
  OpDevice device;
#define COMMON_KERNEL(name, arguments) device.name = [element](auto... values) { run(#name, element, cuda::name, values...); };
#include "kernels/kernel_list.inc"
  device.cross_entropy_grad = [element](auto* dlogits, auto* logits, auto* labels, auto* log_sum_exp, auto rows, auto classes,
                                        const Targets& targets) {
    DeviceBuffer<float> workspace = scratch(cuda::cross_entropy_workspace_bytes(rows));
    cuda::cross_entropy_grad(dlogits, logits, labels, log_sum_exp, nullptr, rows, classes, targets, classes, element,
                             workspace.data(), kNoStream);
    EXPECT_TRUE(workspace.guards_intact());
  };
  device.embedding_grad = [element](auto* dtable, auto* dy, auto* ids, auto* base, auto rows, auto vocabulary, auto width) {
    cuda::embedding_grad(dtable, dy, ids, base, element, rows, vocabulary, width, element, kNoStream);
  };
  return device;
}

}  // namespace

std::vector<Element> op_elements() { return {Element::f32, Element::bf16, Element::f16}; }

bool op_large() { return false; }

void for_each_device(Element element, const std::function<void(const OpDevice&)>& check) {
  for_each_order("", [&] { check(device(element)); });
}

}  // namespace epochbench::test
