// Softmax cross-entropy with class labels, its gradient, and the number of samples whose largest logit is the label.
// Rows with a negative label are ignored. One column of logits is that of class 1 of two: class 0 has logit 0.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

void check(const Graph& graph, const Node& node) {
  const TensorDesc &logits = input(graph, node, 0), &labels = input(graph, node, 1);
  require(logits.shape.size() == 2, "logits must be [rows, classes]");
  require_float(logits);
  require(labels == TensorDesc{{logits.shape[0]}, DType::i32}, "labels must be i32 [rows]");
  if (const auto* a = std::get_if<CrossEntropyAttributes>(&node.attributes))
    require(a->smoothing >= 0 && a->smoothing < 1, "smoothing must be at least 0 and less than 1");
}

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  check(graph, node);
  return {{{1}, DType::f32}, {{input(graph, node, 0).shape[0]}, DType::f32}};
}

std::vector<TensorDesc> infer_grad(const Graph& graph, const Node& node) {
  check(graph, node);
  require(input(graph, node, 2) == TensorDesc{{input(graph, node, 0).shape[0]}, DType::f32}, "log_sum_exp must be f32 [rows]");
  require(node.inputs.size() < 4 || input(graph, node, 3) == TensorDesc{{1}, DType::f32}, "loss_scale must be f32 [1]");
  return like_first_input(graph, node);
}

std::vector<TensorDesc> infer_count(const Graph& graph, const Node& node) {
  check(graph, node);
  return {{{1}, DType::f32}};
}

// The loss is where differentiation starts: its own gradient is 1.
void gradient(GradientBuilder& builder, const Node& node) {
  require(builder.gradient(node.outputs[0]) == kNoValue, "the loss must be the graph's last value");
  std::vector<ValueId> inputs{node.inputs[0], node.inputs[1], node.outputs[1]};
  if (builder.loss_scale() != kNoValue) inputs.push_back(builder.loss_scale());
  builder.accumulate(node.inputs[0], builder.append(Op::cross_entropy_grad, node.attributes, inputs, node)[0]);
}

}  // namespace

const OpRule kCrossEntropyRule{.infer = infer, .gradient = gradient};
const OpRule kCrossEntropyGradRule{.infer = infer_grad, .in_place_inputs = {0}};
const OpRule kCountCorrectRule{.infer = infer_count};

}  // namespace epochbench
