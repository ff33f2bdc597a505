// Matrix products on a CUDA device.
#include <algorithm>
#include <stdexcept>

#include "src/backend/cuda/cuda_plans.h"

namespace epochbench {

std::size_t cuda_product_workspace_bytes(const Graph& graph, const Node& node) {
  if (node.op != Op::linear_grad_weight) return cuda::kProductWorkspaceBytes;
  const auto [rows, channels] = rows_channels(graph.desc(node.inputs[0]));
  return std::max(cuda::kProductWorkspaceBytes, cuda::reduction_workspace_bytes(rows, channels));
}

CudaNode cuda_product(const CudaNodeSource& source) {
  const NodeOperands<void> o = source.operands();
  void* const workspace = source.context.workspace;
  cuda::ProductSpec spec;
  spec.shape = gemm_shape(source.graph, source.node);
  spec.element = source.element(o.in[0]);
  spec.out = source.element(o.out[0]);
  spec.math = source.math();
  spec.bias = source.node.op == Op::linear;
  spec.accumulate = source.node.op == Op::matmul_add;
  if (spec.accumulate && o.x(2) != o.y(0))
    throw std::logic_error(source.node.name + ": the memory plan keeps what the product is added to");
  spec.relu = spec.bias && attributes<LinearAttributes>(source.node).relu;
  spec.bias_gradient = source.node.op == Op::linear_grad_weight;
  const auto bias = [o, read = spec.bias, written = spec.bias_gradient] { return written ? o.y(1) : o.x_if(read, 2); };
  const cuda::Scratch scratch{o.y(0), o.x(0), o.x(1), bias(), workspace};

  std::shared_ptr<cuda::Product> product;
  std::string reason;
  try {
    product = source.libraries->product(spec, scratch, source.context.stream);
  } catch (const cuda::Error& error) {
    if (!spec.bias_gradient) throw;
    reason = error.what();
  }
  if (product)
    return {
        [=, keep = source.libraries](cuda::Stream stream) { product->run(o.y(0), o.x(0), o.x(1), bias(), workspace, stream); },
        product->implementation()};

  spec.bias_gradient = false;
  product = source.libraries->product(spec, scratch, source.context.stream);
  return {[=, size = rows_channels(source.graph.desc(o.in[0])), element = spec.element,
           keep = source.libraries](cuda::Stream stream) {
            product->run(o.y(0), o.x(0), o.x(1), nullptr, workspace, stream);
            cuda::bias_add_grad(o.y(1), o.x(0), size.rows, size.channels, element, workspace, stream);
          },
          product->implementation() + " + cuda bias_add_grad (cublasLt: " + reason + ")"};
}

}  // namespace epochbench
