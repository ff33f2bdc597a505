// The CUDA kernels: those compiled for the CPU in every thread order, or those of a GPU.
#include <string_view>
#include <type_traits>

#include "tests/support/cuda_composed_ops.h"
#include "tests/support/cuda_kernel_sweep.h"
#include "tests/support/cuda_parameters.h"
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
template <typename... Taken, typename... Arguments>
void run(std::string_view name, Element element, void (*kernel)(Taken...), const Arguments&... arguments) {
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

void cast(std::vector<Tensor>& y, const std::vector<Tensor>& x) {
  std::vector<cuda::CastTensor> tensors;
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < x.size(); ++i) {
    tensors.push_back({y[i].data(), x[i].data(), x[i].size(), y[i].element(), x[i].element()});
    sizes.push_back(x[i].size());
  }
  const auto there = on_device<cuda::CastTensor>(tensors);
  const DeviceBuffer<cuda::Chunk> chunks = chunks_on_device(sizes);
  cuda::cast(there.data(), chunks.data(), static_cast<std::int64_t>(chunks.size()), kNoStream);
}

void add_optimizers(OpDevice& device) {
  device.sgd = [](Parameters& parameters, const float* rate, const SgdNumbers& numbers) {
    const CudaParameters p(parameters);
    cuda::sgd(p.tensors(), p.chunks(), p.chunk_count(), rate, numbers, {}, kNoStream);
  };
  device.adamw = [](Parameters& parameters, const float* rate, const std::int32_t* step, const AdamwNumbers& numbers) {
    const CudaParameters p(parameters);
    cuda::adamw(p.tensors(), p.chunks(), p.chunk_count(), rate, step, numbers, {}, kNoStream);
  };
  device.clip_factor = [](Parameters& parameters, double largest_norm) {
    const CudaParameters p(parameters);
    DeviceBuffer<float> factor(1), workspace = scratch(cuda::clip_workspace_bytes(p.chunk_count()));
    cuda::clip_factor(factor.data(), p.tensors(), p.chunks(), p.chunk_count(), nullptr, static_cast<float>(largest_norm),
                      workspace.data(), kNoStream);
    EXPECT_TRUE(factor.guards_intact() && workspace.guards_intact());
    return factor[0];
  };
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
  device.attention = [element](auto... values) { cuda_attention(values..., element); };
  device.attention_grad = [element](auto... values) { cuda_attention_grad(values..., element); };
  device.lstm = [element](auto... values) { cuda_lstm(values..., element); };
  device.lstm_grad = [element](auto... values) { cuda_lstm_grad(values..., element); };
  device.cast = cast;
  for (Element from : op_elements())
    for (Element to : op_elements()) device.casts.emplace_back(from, to);
  add_optimizers(device);
  return device;
}

}  // namespace

std::vector<Element> op_elements() { return {Element::f32, Element::bf16, Element::f16}; }

std::vector<Element> gradient_elements() { return op_elements(); }

bool op_large() { return false; }

void for_each_device(Element element, const std::function<void(const OpDevice&)>& check) {
  for_each_order("", [&] { check(device(element)); });
}

void for_each_device(const std::function<void(const OpDevice&)>& check) { for_each_device(Element::f32, check); }

}  // namespace epochbench::test
