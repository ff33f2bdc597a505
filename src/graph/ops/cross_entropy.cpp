// Softmax cross-entropy with class labels, its gradient, and the number of samples whose largest logit is the label. Rows with
// a negative label are ignored. A single column of logits is that of class 1 of two; class 0 has logit 0.
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

void check_share(const Graph& graph, const Node& node) {
  const std::size_t at = cross_entropy_operands(node).share;
  if (at == 0) return;
  require(node.inputs.size() > at && input(graph, node, at) == TensorDesc{{input(graph, node, 0).shape[0]}, DType::f32},
          "share must be f32 [rows]");
}

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  check(graph, node);
  check_share(graph, node);
  return {{{1}, DType::f32}, {{input(graph, node, 0).shape[0]}, DType::f32}};
}

std::vector<TensorDesc> infer_grad(const Graph& graph, const Node& node) {
  check(graph, node);
  require(input(graph, node, 2) == TensorDesc{{input(graph, node, 0).shape[0]}, DType::f32}, "log_sum_exp must be f32 [rows]");
  check_share(graph, node);
  const std::size_t scale = cross_entropy_operands(node).loss_scale;
  require(scale == 0 || input(graph, node, scale) == TensorDesc{{1}, DType::f32}, "loss_scale must be f32 [1]");
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
  if (const std::size_t share = cross_entropy_operands(node).share) inputs.push_back(node.inputs[share]);
  if (builder.loss_scale() != kNoValue) inputs.push_back(builder.loss_scale());
  builder.accumulate(node.inputs[0], builder.append(Op::cross_entropy_grad, node.attributes, inputs, node)[0]);
}

}  // namespace

CrossEntropyOperands cross_entropy_operands(const Node& node) {
  CrossEntropyOperands at;
  std::size_t count = 2;
  if (node.op == Op::cross_entropy_grad) at.log_sum_exp = count++;
  if (std::get<CrossEntropyAttributes>(node.attributes).mixed) at.share = count++;
  if (node.op == Op::cross_entropy_grad && node.inputs.size() > count) at.loss_scale = count;
  return at;
}

const OpRule kCrossEntropyRule{.infer = infer, .gradient = gradient, .f32_parameters = true};
const OpRule kCrossEntropyGradRule{.infer = infer_grad, .in_place_inputs = {0}};
const OpRule kCountCorrectRule{.infer = infer_count};

}  // namespace epochbench
