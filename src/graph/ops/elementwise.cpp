// Element-wise ops and their gradients: add; bias_add over the last dimension, whose gradient is a sum over rows; relu; relu6
// (Sandler et al. 2018); gelu in the erf or the tanh form (Hendrycks and Gimpel 2016); sigmoid and silu; dropout (Srivastava et
// al. 2014). Dropout's mask is not a tensor: it follows from seed, step, ordinal and element, so its gradient is the same op on
// dy. Stochastic depth (Huang et al. 2016) is a dropout of whole samples.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

std::vector<TensorDesc> infer_add(const Graph& graph, const Node& node) {
  require(input(graph, node, 0) == input(graph, node, 1), "the two operands differ in shape or type");
  return like_first_input(graph, node);
}

void gradient_add(GradientBuilder& builder, const Node& node) {
  const ValueId dy = builder.gradient(node.outputs[0]);
  for (ValueId operand : node.inputs)
    if (builder.needed(operand)) builder.accumulate(operand, dy);
}

std::vector<TensorDesc> infer_bias(const Graph& graph, const Node& node) {
  const TensorDesc& x = input(graph, node, 0);
  require(input(graph, node, 1) == TensorDesc{{last_extent(x)}, x.dtype}, "bias must be [channels], of the input's type");
  return like_first_input(graph, node);
}

void gradient_bias(GradientBuilder& builder, const Node& node) {
  const ValueId dy = builder.gradient(node.outputs[0]);
  if (builder.needed(node.inputs[1])) builder.accumulate(node.inputs[1], builder.append(Op::bias_add_grad, {}, {dy}, node)[0]);
  if (builder.needed(node.inputs[0])) builder.accumulate(node.inputs[0], dy);
}

std::vector<TensorDesc> infer_bias_grad(const Graph& graph, const Node& node) {
  const TensorDesc& dy = input(graph, node, 0);
  require_float(dy);
  return {{{last_extent(dy)}, dy.dtype}};
}

// For ops whose gradient is computed from dy and the output.
template <Op kGradient>
void gradient_by_output(GradientBuilder& builder, const Node& node) {
  accumulate_first(builder, node, kGradient, {}, {node.outputs[0]});
}

std::vector<TensorDesc> infer_grad_by_output(const Graph& graph, const Node& node) {
  require(input(graph, node, 0) == input(graph, node, 1), "dy and y differ in shape or type");
  return like_first_input(graph, node);
}

// For ops whose gradient is computed from dy and the input.
template <Op kGradient>
void gradient_by_input(GradientBuilder& builder, const Node& node) {
  accumulate_first(builder, node, kGradient, node.attributes, {node.inputs[0]});
}

std::vector<TensorDesc> infer_grad_by_input(const Graph& graph, const Node& node) {
  require(input(graph, node, 0) == input(graph, node, 1), "dy and x differ in shape or type");
  return like_first_input(graph, node);
}

// Also for stochastic depth.
std::vector<TensorDesc> infer_dropout(const Graph& graph, const Node& node) {
  const double probability = std::get<DropoutAttributes>(node.attributes).probability;
  require(probability > 0 && probability < 1, "the probability must lie between 0 and 1");
  require(input(graph, node, 1) == TensorDesc{{1}, DType::i32}, "the step must be i32 [1]");
  return like_first_input(graph, node);
}

void gradient_dropout(GradientBuilder& builder, const Node& node) {
  accumulate_first(builder, node, node.op, node.attributes, {node.inputs[1]});
}

}  // namespace

const OpRule kAddRule{.infer = infer_add, .gradient = gradient_add, .in_place_inputs = {0, 1}};
const OpRule kBiasAddRule{.infer = infer_bias, .gradient = gradient_bias, .in_place_inputs = {0}};
const OpRule kBiasAddGradRule{.infer = infer_bias_grad};
const OpRule kReluRule{.infer = like_first_input, .gradient = gradient_by_output<Op::relu_grad>, .in_place_inputs = {0}};
const OpRule kReluGradRule{.infer = infer_grad_by_output, .in_place_inputs = {0}};
const OpRule kRelu6Rule{.infer = like_first_input, .gradient = gradient_by_output<Op::relu6_grad>, .in_place_inputs = {0}};
const OpRule kRelu6GradRule{.infer = infer_grad_by_output, .in_place_inputs = {0}};
const OpRule kSigmoidRule{.infer = like_first_input, .gradient = gradient_by_output<Op::sigmoid_grad>, .in_place_inputs = {0}};
const OpRule kSigmoidGradRule{.infer = infer_grad_by_output, .in_place_inputs = {0, 1}};
const OpRule kSiluRule{.infer = like_first_input, .gradient = gradient_by_input<Op::silu_grad>};
const OpRule kSiluGradRule{.infer = infer_grad_by_input, .in_place_inputs = {0, 1}};
const OpRule kGeluRule{.infer = like_first_input, .gradient = gradient_by_input<Op::gelu_grad>};
const OpRule kGeluGradRule{.infer = infer_grad_by_input, .in_place_inputs = {0, 1}};
const OpRule kDropoutRule{.infer = infer_dropout, .gradient = gradient_dropout, .in_place_inputs = {0}};
const OpRule kStochasticDepthRule{.infer = infer_dropout, .gradient = gradient_dropout, .in_place_inputs = {0}};

}  // namespace epochbench
