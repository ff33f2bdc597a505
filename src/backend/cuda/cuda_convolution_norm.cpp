// A convolution next to a batch norm on a CUDA device: by a cuDNN plan that also computes the sums that the norm needs of its
// output, or by the two nodes of the composite, one after the other.
#include <algorithm>

#include "kernels/cuda/specs.h"
#include "src/backend/cuda/cuda_plans.h"

namespace epochbench {
namespace {

bool is_gradient(const Node& node) { return node.op == Op::conv2d_batch_norm_grad; }
const Node& convolution_of(const Node& node) { return node.parts[0]; }
const Node& norm_of(const Node& node) { return node.parts[1]; }

// The size of the tensor between the two nodes.
RowsChannels size_between(const Graph& graph, const Node& node) { return rows_channels(graph.desc(norm_of(node).inputs[0])); }

cuda::ConvolutionSpec spec_of(const Graph& graph, const Node& node, bool winograd) {
  cuda::ConvolutionSpec spec = cuda_convolution_spec(graph, convolution_of(node), winograd);
  spec.sums = true;
  return spec;
}

struct Scratch {
  void* convolution;
  float* sums;
  void* norm;
  std::size_t bytes;
};
Scratch lay_out(const Graph& graph, const Node& node, void* workspace) {
  const auto [rows, channels] = size_between(graph, node);
  ScratchPieces pieces(workspace);
  Scratch scratch{};
  scratch.convolution = pieces.take(cuda::convolution_workspace_bytes(spec_of(graph, node, true)));
  scratch.sums = pieces.take<float>(2 * static_cast<std::size_t>(channels) * sizeof(float));
  scratch.norm = pieces.take(cuda::reduction_workspace_bytes(rows, channels));
  scratch.bytes = pieces.used();
  return scratch;
}

// x, weight, scale, bias, =mean, =variance [, shortcut] -> y, mean, inv_std, the two variables [, mask], convolution
cuda::Convolution::Tensors forward_tensors(const NodeOperands<void>& o, const Scratch& t) {
  return {o.y(o.out.size() - 1), o.x(0), o.x(1), nullptr, {.sums = t.sums, .mean = o.x32(4)}};
}
std::function<void(cuda::Stream)> forward_norm(const CudaNodeSource& source, const Scratch& t) {
  const NodeOperands<void> o = source.operands();
  const Node& norm = norm_of(source.node);
  const BatchNormReluAttributes a = batch_norm_attributes(norm);
  return [=, size = size_between(source.graph, source.node), element = source.element(o.in[0]),
          activation = activation_of(norm)](cuda::Stream stream) {
    cuda::batch_norm_of_sums(o.y(0), a.mask ? o.y_mask(5) : nullptr, o.y32(1), o.y32(2), o.y32(3), o.y32(4),
                             o.y(o.out.size() - 1), t.sums, o.x32(2), o.x32(3), o.x_if(o.in.size() > 6, 6), size.rows,
                             size.channels, a.batch_norm.epsilon, a.batch_norm.momentum, activation, element, t.norm, stream);
  };
}

// dy, weight, y or mask, x, scale, batch_mean, batch_inv_std, bias -> dx, dscale, dbias. The gradient between the two nodes is
// stored where dx will be.
cuda::Convolution::Tensors gradient_tensors(const NodeOperands<void>& o, const Scratch& t) {
  return {o.y(0), o.x(0), o.x(1), nullptr, {t.sums, o.x32(5), o.x(3), o.x32(6), o.x32(4), o.x32(7)}};
}
std::function<void(cuda::Stream)> gradient_norm(const CudaNodeSource& source, const Scratch& t) {
  const NodeOperands<void> o = source.operands();
  return [=, size = size_between(source.graph, source.node), element = source.element(o.in[0])](cuda::Stream stream) {
    cuda::batch_norm_grad_of_sums(o.y(0), o.y32(1), o.y32(2), o.y(0), o.x(3), t.sums, o.x32(4), o.x32(5), o.x32(6), size.rows,
                                  size.channels, element, t.norm, stream);
  };
}

constexpr const char* kWithSums = "cuDNN with sums";

CudaNode with_sums(const CudaNodeSource& source, const std::vector<Operand>& inputs) {
  const Scratch t = lay_out(source.graph, source.node, source.context.workspace);
  const auto tensors = [o = source.operands(), t, gradient = is_gradient(source.node)] {
    return gradient ? gradient_tensors(o, t) : forward_tensors(o, t);
  };
  const auto run = [=](cuda::Convolution& plan, cuda::Stream stream) { plan.run(tensors(), t.convolution, stream); };
  const auto engines = source.libraries->convolution(spec_of(source.graph, source.node, source.winograd));
  const auto chosen = source.choices.choose<cuda::Convolution>(source.layer, *engines, {run, inputs, source.context.stream});
  const auto norm = is_gradient(source.node) ? gradient_norm(source, t) : forward_norm(source, t);
  return {[=, plan = chosen.plan, keep = source.libraries](cuda::Stream stream) {
            run(*plan, stream);
            norm(stream);
          },
          chosen.plan->implementation() + chosen.how + " + cuda " + name(norm_of(source.node).op) + " of its sums",
          chosen.plan->algorithm()};
}

CudaNode one_after_the_other(const CudaNodeSource& source, const CompileNode& compile) {
  Node convolution = convolution_of(source.node), norm = norm_of(source.node);
  if (is_gradient(source.node)) convolution.outputs[0] = norm.inputs[0] = norm.outputs[0];
  return in_sequence(compile(convolution), compile(norm));
}

}  // namespace

std::string cuda_convolution_norm_layer(const Graph& graph, const Node& node, bool winograd) {
  return describe(spec_of(graph, node, winograd)) + " and " + name(norm_of(node).op);
}

std::size_t cuda_convolution_norm_workspace_bytes(const Graph& graph, const Node& node) {
  return std::max(lay_out(graph, node, nullptr).bytes, cuda_convolution_workspace_bytes(graph, convolution_of(node)));
}

CompiledEngines cuda_convolution_norm_engines(const CudaLayer& at) {
  return {at.layer, kWithSums, at.libraries.convolution(spec_of(at.graph, at.node, at.winograd))};
}

// The two nodes come first: without timing, the plan with sums is not assumed to be faster.
CudaNode cuda_convolution_norm(const CudaNodeSource& source, const CompileNode& compile) {
  const std::vector<Operand> inputs = source.float_inputs();
  Listed<CudaNode> algorithms(
      way_problem(source.layer),
      {{.tag = "apart", .build = [&] { return std::make_shared<CudaNode>(one_after_the_other(source, compile)); }},
       {.tag = kWithSums, .build = [&] { return std::make_shared<CudaNode>(with_sums(source, inputs)); }, .compiles = true}});
  return source.choose(algorithms, inputs);
}

}  // namespace epochbench
