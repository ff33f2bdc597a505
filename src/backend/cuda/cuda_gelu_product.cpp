// A matrix product next to a GELU on a CUDA device: by a cuDNN plan that computes both, by a plain product and our own kernel
// that also adds the bias, or by the two nodes of the composite, one after the other.
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/specs.h"
#include "src/backend/cuda/cuda_plans.h"

namespace epochbench {
namespace {

constexpr const char* kWithGelu = "cuDNN with gelu";

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

// The bias is the product's epilogue: a separate pass would not be faster than in_two. What only the second part reads is
// stored where its result will be.
CudaNode apart(const CudaNodeSource& source, const CompileNode& compile) {
  Node first = source.node.parts[0], second = source.node.parts[1];
  if (source.node.outputs.size() == 1) first.outputs[0] = second.inputs[0] = second.outputs[0];
  const std::string layer = cuda_product_layer(source.graph, first);
  return in_sequence(cuda_product_by_epilogue({source.graph, first, source.context, source.libraries, source.choices, layer,
                                               source.seed, source.winograd}),
                     compile(second));
}

// The product is stored where its sum with the bias will be, or where the result will be if nothing reads that sum.
CudaNode in_two(const CudaNodeSource& source, const cuda::GeluProductSpec& spec) {
  const NodeOperands<void> o = source.operands();
  void* const workspace = source.context.workspace;
  const int to = spec.x ? 1 : 0;
  cuda::ProductSpec plain;
  plain.shape = spec.shape;
  plain.element = plain.out = spec.element;
  plain.math = spec.math;
  const ChosenProduct product = source.product(plain, {o.y(to), o.x(0), o.x(1), nullptr}, workspace);
  return {[=, plan = product.plan, keep = source.libraries](cuda::Stream stream) {
            plan->run(o.y(to), o.x(0), o.x(1), nullptr, workspace, stream);
            cuda::bias_gelu(o.y(0), spec.x ? o.y(1) : nullptr, o.y(to), o.x(2), spec.shape.m, spec.shape.n, spec.tanh,
                            spec.element, stream);
          },
          product.implementation + " + cuda bias_gelu"};
}

}  // namespace

std::string cuda_gelu_product_layer(const Graph& graph, const Node& node) { return describe(spec_of(graph, node)); }

CompiledEngines cuda_gelu_product_engines(const CudaLayer& at) {
  return {at.layer, kWithGelu, at.libraries.gelu_product(spec_of(at.graph, at.node))};
}

// The two nodes come first: without timing, no other algorithm is assumed to be faster. The gradient has no bias. In 16 bits,
// in_two rounds a stored sum once more than the other algorithms, so it is a last resort.
CudaNode cuda_gelu_product(const CudaNodeSource& source, const CompileNode& compile) {
  using Algorithm = Listed<CudaNode>::Algorithm;
  const cuda::GeluProductSpec spec = spec_of(source.graph, source.node);
  const bool rounds_twice = spec.x && spec.element != Element::f32;
  const Algorithm two = {"product and kernel", [&] { return std::make_shared<CudaNode>(in_two(source, spec)); }, rounds_twice};
  std::vector<Algorithm> listed = {
      {.tag = "apart", .build = [&] { return std::make_shared<CudaNode>(apart(source, compile)); }},
      {.tag = kWithGelu, .build = [&] { return std::make_shared<CudaNode>(in_one(source, spec)); }, .compiles = true}};
  if (!spec.gradient) listed.insert(rounds_twice ? listed.end() : listed.begin() + 1, two);
  Listed<CudaNode> algorithms(way_problem(source.layer), std::move(listed));
  return source.choose(algorithms, source.float_inputs());
}

}  // namespace epochbench
