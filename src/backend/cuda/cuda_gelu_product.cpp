// A matrix product next to a GELU on a CUDA device: by a plan of cuDNN that computes both, or the two nodes that the composite
// stands for, one after the other.
#include "kernels/cuda/specs.h"
#include "src/backend/cuda/cuda_plans.h"

namespace epochbench {
namespace {

cuda::GeluProductSpec spec_of(const Graph& graph, const Node& node) {
  cuda::GeluProductSpec spec;
  spec.shape = gemm_shape(graph, node.parts[0]);
  spec.element = element_of(graph.desc(node.inputs[0]).dtype);
  spec.math = math_of(node);
  spec.gradient = node.op == Op::matmul_gelu_grad;
  spec.x = node.outputs.size() > 1;
  spec.tanh = is_tanh(node.parts[1].attributes);
  return spec;
}

// a, b, bias -> y [, x], or a, b, x -> dx
CudaNode in_one(const CudaNodeSource& source, const cuda::GeluProductSpec& spec) {
  const auto tensors = [o = source.operands(), spec]() -> cuda::GeluProduct::Tensors {
    if (spec.gradient) return {o.y(0), o.x(0), o.x(1), nullptr, o.x(2)};
    return {o.y(0), o.x(0), o.x(1), o.x(2), spec.x ? o.y(1) : nullptr};
  };
  const auto run = [=, workspace = source.context.workspace](cuda::GeluProduct& plan, cuda::Stream stream) {
    plan.run(tensors(), workspace, stream);
  };
  const auto engines = source.libraries->gelu_product(spec);
  const auto chosen =
      source.choices.choose<cuda::GeluProduct>(source.layer, *engines, {run, source.float_inputs(), source.context.stream});
  return {[=, plan = chosen.plan, keep = source.libraries](cuda::Stream stream) { run(*plan, stream); },
          chosen.plan->implementation() + chosen.how};
}

// What only the second part reads lies where its result will.
CudaNode apart(const CudaNodeSource& source, const CompileNode& compile) {
  Node first = source.node.parts[0], second = source.node.parts[1];
  if (source.node.outputs.size() == 1) first.outputs[0] = second.inputs[0] = second.outputs[0];
  return in_sequence(compile(first), compile(second));
}

}  // namespace

std::string cuda_gelu_product_layer(const Graph& graph, const Node& node) { return describe(spec_of(graph, node)); }

// The two nodes come first: a plan that is not timed is not faster.
CudaNode cuda_gelu_product(const CudaNodeSource& source, const CompileNode& compile) {
  const cuda::GeluProductSpec spec = spec_of(source.graph, source.node);
  Listed<CudaNode> ways("ways of " + source.layer,
                        {{"apart", [&] { return std::make_shared<CudaNode>(apart(source, compile)); }},
                         {"cuDNN with gelu", [&] { return std::make_shared<CudaNode>(in_one(source, spec)); }}});
  return source.choose(ways, source.float_inputs());
}

}  // namespace epochbench
