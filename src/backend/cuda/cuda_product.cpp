// Matrix products on a CUDA device.
#include <algorithm>

#include "src/backend/cuda/cuda_plans.h"

namespace epochbench {

std::size_t cuda_product_workspace_bytes(const Graph& graph, const Node& node) {
  if (node.op != Op::linear_grad_weight) return cuda::kProductWorkspaceBytes;
  const auto [rows, channels] = rows_channels(graph.desc(node.inputs[0]));
  return std::max(cuda::kProductWorkspaceBytes, cuda::reduction_workspace_bytes(rows, channels));
}

CudaNode cuda_product(const CudaNodeSource& source) {
  const ValueMemory& v = source.context.values;
  const std::vector<ValueId> in = source.in(), out = source.out();
  void* const workspace = source.context.workspace;
  cuda::ProductSpec spec;
  spec.shape = gemm_shape(source.graph, source.node);
  spec.element = source.element(in[0]);
  spec.out = source.element(out[0]);
  spec.math = source.math();
  ValueId bias = kNoValue;
  if (source.node.op == Op::linear) {
    spec.bias = true;
    spec.relu = std::get<LinearAttributes>(source.node.attributes).relu;
    bias = in[2];
  } else if (source.node.op == Op::linear_grad_weight) {
    spec.bias_gradient = true;
    bias = out[1];
  }
  const cuda::Scratch scratch{v.get(out[0]), v.get(in[0]), v.get(in[1]), bias == kNoValue ? nullptr : v.get(bias), workspace};

  std::shared_ptr<cuda::Product> product;
  std::string reason;
  try {
    product = source.libraries->product(spec, scratch, source.context.stream);
  } catch (const cuda::Error& error) {
    if (!spec.bias_gradient) throw;
    reason = error.what();
  }
  if (product)
    return {[=, &v, keep = source.libraries](cuda::Stream stream) {
              product->run(v.get(out[0]), v.get(in[0]), v.get(in[1]), bias == kNoValue ? nullptr : v.get(bias), workspace,
                           stream);
            },
            product->implementation()};

  spec.bias_gradient = false;
  product = source.libraries->product(spec, scratch, source.context.stream);
  return {[=, &v, size = rows_channels(source.graph.desc(in[0])), element = spec.element,
           keep = source.libraries](cuda::Stream stream) {
            product->run(v.get(out[0]), v.get(in[0]), v.get(in[1]), nullptr, workspace, stream);
            cuda::bias_add_grad(v.get(bias), v.get(in[0]), size.rows, size.channels, element, workspace, stream);
          },
          product->implementation() + " + cuda bias_add_grad (cublasLt: " + reason + ")"};
}

}  // namespace epochbench
