// SwiGLU (Shazeer 2020): silu of one operand times the other, and its gradient; in the joint forms the operands are the halves
// of the rows of one tensor.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  require_float(input(graph, node, 0));
  require(input(graph, node, 0) == input(graph, node, 1), "gate and up differ in shape or type");
  return like_first_input(graph, node);
}

// The description of gate and of up, which are side by side in input `index`.
TensorDesc half(const Graph& graph, const Node& node, int index) {
  TensorDesc desc = input(graph, node, index);
  require_float(desc);
  require(desc.shape.size() == 2 && desc.shape[1] % 2 == 0, "gate and up must be the halves of [rows, 2*channels]");
  desc.shape[1] /= 2;
  return desc;
}

std::vector<TensorDesc> infer_joint(const Graph& graph, const Node& node) { return {half(graph, node, 0)}; }

std::vector<TensorDesc> infer_grad(const Graph& graph, const Node& node) {
  const TensorDesc& dy = input(graph, node, 0);
  require(input(graph, node, 1) == dy && input(graph, node, 2) == dy, "dy, gate and up differ in shape or type");
  return {dy, dy};
}

std::vector<TensorDesc> infer_joint_grad(const Graph& graph, const Node& node) {
  require(input(graph, node, 0) == half(graph, node, 1), "dy must have the shape and type of gate");
  return {input(graph, node, 1)};
}

void gradient(GradientBuilder& builder, const Node& node) {
  const auto gradients =
      builder.append(Op::swiglu_grad, {}, {builder.gradient(node.outputs[0]), node.inputs[0], node.inputs[1]}, node);
  for (std::size_t i = 0; i < 2; ++i)
    if (builder.needed(node.inputs[i])) builder.accumulate(node.inputs[i], gradients[i]);
}

}  // namespace

const OpRule kSwigluRule{.infer = infer, .gradient = gradient, .in_place_inputs = {0, 1}};
const OpRule kSwigluGradRule{.infer = infer_grad, .in_place_inputs = {0, 1, 2}};
const OpRule kJointSwigluRule{.infer = infer_joint};
const OpRule kJointSwigluGradRule{.infer = infer_joint_grad, .in_place_inputs = {1}};

}  // namespace epochbench
