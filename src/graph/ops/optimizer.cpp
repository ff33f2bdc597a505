// SGD with momentum and AdamW, each one node over all parameters, and the step counter.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

std::vector<int> updated(const Node& node) {
  const OptimizerLayout layout = optimizer_layout(node);
  std::vector<int> positions;
  for (int i = 0; i < layout.parameters; ++i)
    for (int member = 0; member < layout.group; ++member)
      if (member != OptimizerLayout::kGradient) positions.push_back(layout.first + i * layout.group + member);
  return positions;
}

void check(const Graph& graph, const Node& node) {
  const OptimizerLayout layout = optimizer_layout(node);
  require(layout.parameters >= 1 && static_cast<int>(node.inputs.size()) == layout.first + layout.parameters * layout.group,
          "the group of a parameter is incomplete");
  for (int group = layout.first; group < static_cast<int>(node.inputs.size()); group += layout.group) {
    const TensorDesc& weight = input(graph, node, group);
    require(weight.dtype == DType::f32, "a parameter must be f32");
    require_float(input(graph, node, group + OptimizerLayout::kGradient));
    require(input(graph, node, group + OptimizerLayout::kGradient).shape == weight.shape,
            "a parameter and its gradient differ in shape");
    for (int i = OptimizerLayout::kState; i < layout.group; ++i)
      require(input(graph, node, group + i) == weight, "a parameter and its state differ in shape or type");
  }
  const TensorDesc number{{1}, DType::f32}, counter{{1}, DType::i32};
  require(input(graph, node, layout.learning_rate) == number, "the learning rate must be f32 [1]");
  if (layout.step >= 0) require(input(graph, node, layout.step) == counter, "the step must be i32 [1]");
  if (layout.loss_scale >= 0) require(input(graph, node, layout.loss_scale) == number, "loss_scale must be f32 [1]");
  if (layout.finite >= 0) require(input(graph, node, layout.finite) == counter, "finite must be i32 [1]");
  if (layout.skipped_steps >= 0) require(input(graph, node, layout.skipped_steps) == counter, "skipped_steps must be i32 [1]");
}

std::vector<TensorDesc> infer_sgd(const Graph& graph, const Node& node) {
  check(graph, node);
  return {};
}

std::vector<TensorDesc> infer_adamw(const Graph& graph, const Node& node) {
  check(graph, node);
  require(std::get<AdamwAttributes>(node.attributes).weight_decay.size() ==
              static_cast<std::size_t>(optimizer_layout(node).parameters),
          "there must be one weight decay per parameter");
  return {};
}

std::vector<TensorDesc> infer_increment(const Graph& graph, const Node& node) {
  require(input(graph, node, 0) == TensorDesc{{1}, DType::i32}, "the counter must be i32 [1]");
  return {};
}
std::vector<int> updated_counter(const Node&) { return {0}; }

}  // namespace

OptimizerLayout optimizer_layout(const Node& node) {
  OptimizerLayout layout;
  if (const auto* sgd = std::get_if<SgdAttributes>(&node.attributes)) {
    layout.group = 3;
    layout.first = 1;
    if (sgd->loss_scaled) {
      layout.loss_scale = layout.first++;
      layout.finite = layout.first++;
    }
  } else {
    layout.group = 4;
    layout.step = 1;
    layout.first = 2;
    if (std::get<AdamwAttributes>(node.attributes).loss_scaled) {
      layout.loss_scale = layout.first++;
      layout.finite = layout.first++;
      layout.skipped_steps = layout.first++;
    }
  }
  layout.parameters = (static_cast<int>(node.inputs.size()) - layout.first) / layout.group;
  return layout;
}

const OpRule kSgdRule{.infer = infer_sgd, .updated_inputs = updated};
const OpRule kAdamwRule{.infer = infer_adamw, .updated_inputs = updated};
const OpRule kIncrementRule{.infer = infer_increment, .updated_inputs = updated_counter};

}  // namespace epochbench
