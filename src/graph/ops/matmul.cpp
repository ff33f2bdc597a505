// matmul with optional transposes; its gradients are matmuls too. Its composites: linear with bias and relu, linear_gelu and
// matmul_gelu_grad with the GELU after it and its gradient, matmul_add, which adds to a value that nothing reads later, and
// linear_grad_weight, the gradient of weight and bias in one pass over dy.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

struct Sizes {
  std::int64_t m, n, k, k_of_b;
};

Sizes sizes(const Graph& graph, const Node& node, const MatmulAttributes& attributes) {
  const Shape &a = input(graph, node, 0).shape, &b = input(graph, node, 1).shape;
  require(a.size() == 2 && b.size() == 2, "both operands must be matrices");
  return {a[attributes.transpose_a ? 1 : 0], b[attributes.transpose_b ? 0 : 1], a[attributes.transpose_a ? 0 : 1],
          b[attributes.transpose_b ? 1 : 0]};
}

std::vector<TensorDesc> infer_product(const Graph& graph, const Node& node, const MatmulAttributes& attributes) {
  const Sizes s = sizes(graph, node, attributes);
  require(s.k == s.k_of_b, "the inner extents differ");
  require(input(graph, node, 0).dtype == input(graph, node, 1).dtype, "the operands differ in type");
  require_float(input(graph, node, 0));
  return {{{s.m, s.n}, input(graph, node, 0).dtype}};
}

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  return infer_product(graph, node, std::get<MatmulAttributes>(node.attributes));
}

std::vector<TensorDesc> infer_with_bias(const Graph& graph, const Node& node, const MatmulAttributes& attributes) {
  auto outputs = infer_product(graph, node, attributes);
  require(input(graph, node, 2) == TensorDesc{{outputs[0].shape[1]}, outputs[0].dtype},
          "bias must be [n], of the operands' type");
  return outputs;
}

std::vector<TensorDesc> infer_linear(const Graph& graph, const Node& node) {
  return infer_with_bias(graph, node, std::get<LinearAttributes>(node.attributes).matmul);
}

std::vector<TensorDesc> infer_linear_gelu(const Graph& graph, const Node& node) {
  const auto& a = std::get<LinearGeluAttributes>(node.attributes);
  auto outputs = infer_with_bias(graph, node, a.matmul);
  if (a.x) outputs.push_back(outputs[0]);
  return outputs;
}

// For a third operand with the product's shape and type.
std::vector<TensorDesc> infer_with_matrix(const Graph& graph, const Node& node) {
  auto outputs = infer_product(graph, node, std::get<MatmulAttributes>(node.attributes));
  require(input(graph, node, 2) == outputs[0], "the third operand must have the product's shape and type");
  return outputs;
}

std::vector<TensorDesc> infer_grad_weight(const Graph& graph, const Node& node) {
  const auto& a = std::get<MatmulAttributes>(node.attributes);
  require(a.transpose_a && !a.transpose_b, "the product must be that of dy transposed and x");
  auto outputs = infer_product(graph, node, a);
  outputs.push_back({{outputs[0].shape[0]}, outputs[0].dtype});
  return outputs;
}

double flops_of(const Graph& graph, const Node& node) {
  const Sizes s = sizes(graph, node, std::get<MatmulAttributes>(node.attributes));
  return 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
}

void gradient(GradientBuilder& builder, const Node& node) {
  const auto [transpose_a, transpose_b, tf32] = std::get<MatmulAttributes>(node.attributes);
  const ValueId a = node.inputs[0], b = node.inputs[1], dc = builder.gradient(node.outputs[0]);
  auto product = [&, tf32 = tf32](ValueId left, bool left_transposed, ValueId right, bool right_transposed) {
    return builder.append(Op::matmul, MatmulAttributes{left_transposed, right_transposed, tf32}, {left, right}, node)[0];
  };
  if (builder.needed(b))
    builder.accumulate(b, transpose_b ? product(dc, true, a, transpose_a) : product(a, !transpose_a, dc, false));
  if (builder.needed(a))
    builder.accumulate(a, transpose_a ? product(b, transpose_b, dc, true) : product(dc, false, b, !transpose_b));
}

}  // namespace

const OpRule kMatmulRule{.infer = infer, .gradient = gradient, .flops = flops_of, .bytes = product_bytes};
const OpRule kLinearRule{.infer = infer_linear, .bytes = product_bytes};
const OpRule kLinearGeluRule{.infer = infer_linear_gelu};
const OpRule kMatmulGeluGradRule{.infer = infer_with_matrix};
const OpRule kMatmulAddRule{.infer = infer_with_matrix, .in_place_inputs = {2}};
const OpRule kLinearGradWeightRule{.infer = infer_grad_weight};

}  // namespace epochbench
