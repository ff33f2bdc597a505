// Matrix products on a CUDA device.
#include <algorithm>
#include <stdexcept>

#include "kernels/cuda/specs.h"
#include "src/backend/cuda/cuda_nodes.h"
#include "src/backend/cuda/cuda_plans.h"

namespace epochbench {
namespace {

// For ProductSpec: 0 if the rows in memory are as long as those of the matrix.
std::int64_t long_rows(const Graph& graph, ValueId matrix) {
  const std::int64_t elements = cuda_row_elements(graph, matrix);
  return elements > graph.desc(matrix).shape[1] ? elements : 0;
}

cuda::ProductSpec spec_of(const Graph& graph, const Node& node) {
  cuda::ProductSpec spec;
  spec.shape = gemm_shape(graph, node);
  spec.element = element_of(graph.desc(node.inputs[0]).dtype);
  spec.out = element_of(graph.desc(node.outputs[0]).dtype);
  spec.math = math_of(node);
  spec.bias = node.op == Op::linear;
  spec.relu = spec.bias && attributes<LinearAttributes>(node).relu;
  spec.accumulate = node.op == Op::matmul_add;
  spec.bias_gradient = node.op == Op::linear_grad_weight;
  spec.a_row = long_rows(graph, node.inputs[0]);
  spec.b_row = long_rows(graph, node.inputs[1]);
  spec.c_row = long_rows(graph, node.outputs[0]);
  return spec;
}

std::vector<Operand> inputs_of(const cuda::ProductSpec& spec, const cuda::ProductOperands& operands) {
  const auto [m, n, k, transpose_a, transpose_b, packed_b] = spec.shape;
  const auto bytes = [&](std::int64_t rows, std::int64_t columns, std::int64_t row_elements) {
    return static_cast<std::size_t>(spec.batch * rows * std::max(columns, row_elements)) * element_bytes(spec.element);
  };
  return {{const_cast<void*>(operands.a), bytes(transpose_a ? k : m, transpose_a ? m : k, spec.a_row), spec.element},
          {const_cast<void*>(operands.b), bytes(transpose_b ? n : k, transpose_b ? k : n, spec.b_row), spec.element}};
}

}  // namespace

ChosenProduct CudaNodeSource::product(const cuda::ProductSpec& spec, const cuda::ProductOperands& operands,
                                      void* workspace) const {
  const auto algorithms = libraries->product(spec, operands);
  const auto run = [=](cuda::Product& product, cuda::Stream stream) {
    product.run(operands.c, operands.a, operands.b, operands.bias, workspace, stream);
  };
  auto chosen = choices.choose<cuda::Product>(layer, *algorithms, {run, inputs_of(spec, operands), context.stream});
  return {chosen.plan, chosen.plan->implementation() + chosen.how};
}

std::string cuda_product_layer(const Graph& graph, const Node& node) { return describe(spec_of(graph, node)); }

std::size_t cuda_product_workspace_bytes(const Graph& graph, const Node& node) {
  if (node.op != Op::linear_grad_weight) return cuda::kProductWorkspaceBytes;
  const std::int64_t rows = graph.desc(node.inputs[0]).shape[0];
  return std::max(cuda::kProductWorkspaceBytes,
                  cuda::reduction_workspace_bytes(rows, cuda_row_elements(graph, node.inputs[0])));
}

namespace {

// The product with everything that follows it as the library's epilogue.
CudaNode by_epilogue(const CudaNodeSource& source, const cuda::ProductSpec& spec) {
  const NodeOperands<void> o = source.operands();
  void* const workspace = source.context.workspace;
  const auto bias = [o, read = spec.bias, written = spec.bias_gradient] { return written ? o.y(1) : o.x_if(read, 2); };
  const ChosenProduct product = source.product(spec, {o.y(0), o.x(0), o.x(1), bias()}, workspace);
  return {[=, plan = product.plan, keep = source.libraries](cuda::Stream stream) {
            plan->run(o.y(0), o.x(0), o.x(1), bias(), workspace, stream);
          },
          product.implementation};
}

// The plain product, and kernels of our own.
CudaNode by_kernels(const CudaNodeSource& source, const cuda::ProductSpec& spec) {
  const NodeOperands<void> o = source.operands();
  void* const workspace = source.context.workspace;
  cuda::ProductSpec plain = spec;
  plain.bias = plain.relu = plain.bias_gradient = false;
  const ChosenProduct product = source.product(plain, {o.y(0), o.x(0), o.x(1), nullptr}, workspace);
  const ValueId read = spec.bias_gradient ? o.in[0] : o.out[0];
  const std::int64_t row_elements = cuda_row_elements(source.graph, read);
  return {
      [=, size = rows_channels(source.graph.desc(read)), plan = product.plan, keep = source.libraries](cuda::Stream stream) {
        plan->run(o.y(0), o.x(0), o.x(1), nullptr, workspace, stream);
        if (spec.bias_gradient)
          cuda::bias_add_grad(o.y(1), o.x(0), size.rows, size.channels, row_elements, spec.element, workspace, stream);
        if (spec.bias) cuda::bias_add(o.y(0), o.y(0), o.x(2), size.rows, size.channels, row_elements, spec.out, stream);
        if (spec.relu) cuda::relu(o.y(0), o.y(0), size.rows * row_elements, spec.out, stream);
      },
      product.implementation + (spec.bias_gradient ? " + cuda bias_add_grad" : " + cuda bias_add") +
          (spec.relu ? " + cuda relu" : "")};
}

}  // namespace

CudaNode cuda_product_by_epilogue(const CudaNodeSource& source) {
  return by_epilogue(source, spec_of(source.graph, source.node));
}

CudaNode cuda_product(const CudaNodeSource& source) {
  const NodeOperands<void> o = source.operands();
  const cuda::ProductSpec spec = spec_of(source.graph, source.node);
  if (spec.accumulate && o.x(2) != o.y(0))
    throw std::logic_error(source.node.name + ": the memory plan keeps what the product is added to");
  if (!spec.bias && !spec.bias_gradient) return by_epilogue(source, spec);

  const bool rounds_twice = spec.bias && spec.out != Element::f32;
  Listed<CudaNode> algorithms(
      way_problem(source.layer),
      {{"cublasLt epilogue", [&] { return std::make_shared<CudaNode>(by_epilogue(source, spec)); }},
       {"product and kernels", [&] { return std::make_shared<CudaNode>(by_kernels(source, spec)); }, rounds_twice}});
  return source.choose(algorithms, inputs_of(spec, {o.y(0), o.x(0), o.x(1), nullptr}));
}

}  // namespace epochbench
