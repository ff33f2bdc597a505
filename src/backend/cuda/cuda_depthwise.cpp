// Depthwise convolutions and their gradients on a CUDA device: by our own kernel, or by cuDNN as a convolution with one group
// per channel. The weight of cuDNN has the taps of a channel side by side, ours the channels of a tap, so the weight is
// transposed.
#include <algorithm>

#include "kernels/cuda/specs.h"
#include "src/backend/cuda/cuda_plans.h"

namespace epochbench {
namespace {

cuda::ConvolutionPass pass_of(Op op) {
  if (op == Op::depthwise_conv2d_grad_input) return cuda::ConvolutionPass::grad_input;
  if (op == Op::depthwise_conv2d_grad_weight) return cuda::ConvolutionPass::grad_weight;
  return cuda::ConvolutionPass::forward;
}

struct Scratch {
  void *convolution, *weight;  // weight: [channels, taps]
  std::size_t bytes;
};
Scratch lay_out(const cuda::ConvolutionSpec& spec, void* workspace) {
  const Conv2dShape& s = spec.shape;
  ScratchPieces pieces(workspace);
  Scratch scratch{};
  scratch.convolution = pieces.take(cuda::kConvolutionWorkspaceBytes);
  scratch.weight =
      pieces.take(static_cast<std::size_t>(s.kernel_height * s.kernel_width * s.channels) * element_bytes(spec.element));
  scratch.bytes = pieces.used();
  return scratch;
}

CudaNode planned(const CudaNodeSource& source, const cuda::ConvolutionSpec& spec) {
  const NodeOperands<void> o = source.operands();
  const auto engines = source.libraries->convolution(spec);
  const auto run = [=, t = lay_out(spec, source.context.workspace), channels = spec.shape.channels,
                    taps = spec.shape.kernel_height * spec.shape.kernel_width](cuda::Convolution& plan, cuda::Stream stream) {
    if (spec.pass == cuda::ConvolutionPass::grad_weight) {
      plan.run({t.weight, o.x(0), o.x(1), nullptr}, t.convolution, stream);
      cuda::transpose(o.y(0), t.weight, channels, taps, spec.element, stream);
    } else {
      cuda::transpose(t.weight, o.x(1), taps, channels, spec.element, stream);
      plan.run({o.y(0), o.x(0), t.weight, nullptr}, t.convolution, stream);
    }
  };
  const auto chosen =
      source.choices.choose<cuda::Convolution>(source.layer, *engines, {run, source.float_inputs(), source.context.stream});
  return {[=, plan = chosen.plan, keep = source.libraries](cuda::Stream stream) { run(*plan, stream); },
          "cuda transpose + " + chosen.plan->implementation() + chosen.how};
}

}  // namespace

std::optional<cuda::ConvolutionSpec> cuda_depthwise_spec(const Graph& graph, const Node& node) {
  cuda::ConvolutionSpec spec;
  spec.shape = depthwise_conv2d_shape(graph, node);
  spec.shape.winograd = false;  // results name Winograd for dense convolutions only
  spec.pass = pass_of(node.op);
  spec.element = element_of(graph.desc(node.inputs[0]).dtype);
  spec.depthwise = true;
  const Conv2dShape& s = spec.shape;
  const auto fits = [&](std::int64_t in, std::int64_t kernel, std::int64_t out) {
    return (in + 2 * s.padding - kernel) / s.stride + 1 == out;
  };
  if (!fits(s.height, s.kernel_height, s.out_height) || !fits(s.width, s.kernel_width, s.out_width)) return std::nullopt;
  return spec;
}

std::string cuda_depthwise_layer(const Graph& graph, const Node& node) {
  const auto spec = cuda_depthwise_spec(graph, node);
  return spec ? describe(*spec) : "";
}

std::size_t cuda_depthwise_workspace_bytes(const Graph& graph, const Node& node) {
  const std::size_t own = node.op == Op::depthwise_conv2d_grad_weight
                              ? cuda::depthwise_conv2d_grad_weight_workspace_bytes(depthwise_conv2d_shape(graph, node))
                              : 0;
  const auto spec = cuda_depthwise_spec(graph, node);
  return spec ? std::max(own, lay_out(*spec, nullptr).bytes) : own;
}

CudaNode cuda_depthwise(const CudaNodeSource& source, const CudaNode& own) {
  const auto spec = cuda_depthwise_spec(source.graph, source.node);
  if (!spec) return own;
  Listed<CudaNode> listed(way_problem(source.layer),
                          {{"kernel", [&] { return std::make_shared<CudaNode>(own); }},
                           {"cuDNN", [&] { return std::make_shared<CudaNode>(planned(source, *spec)); }}});
  return source.choose(listed, source.float_inputs());
}

}  // namespace epochbench
