// SGD with momentum and AdamW, each one node over all parameters; clip_factor, which limits the norm of their gradients
// (Pascanu et al. 2013); sums over the parts of a batch and over ranks; the step counter; all_finite and update_loss_scale:
// dynamic loss scaling (Micikevicius et al. 2018).
#include <numeric>

#include "epochbench/communicator.h"
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

const TensorDesc kNumber{{1}, DType::f32}, kCounter{{1}, DType::i32};

std::vector<int> updated(const Node& node) {
  const OptimizerLayout layout = optimizer_layout(node);
  std::vector<int> positions;
  for (int i = 0; i < layout.parameters; ++i)
    for (int member = 0; member < layout.group; ++member)
      if (member != OptimizerLayout::kGradient) positions.push_back(layout.first + i * layout.group + member);
  for (int i = layout.copies; i < static_cast<int>(node.inputs.size()); ++i) positions.push_back(i);
  return positions;
}

void check(const Graph& graph, const Node& node) {
  const OptimizerLayout layout = optimizer_layout(node);
  require(layout.parameters >= 1 && layout.copies == layout.first + layout.parameters * layout.group,
          "the group of a parameter is incomplete");
  for (int group = layout.first; group < layout.copies; group += layout.group) {
    const TensorDesc& weight = input(graph, node, group);
    require(weight.dtype == DType::f32, "a parameter must be f32");
    require_float(input(graph, node, group + OptimizerLayout::kGradient));
    require(input(graph, node, group + OptimizerLayout::kGradient).shape == weight.shape,
            "a parameter and its gradient differ in shape");
    const TensorDesc state = layout.ranks == 1 ? weight : largest_share(weight, layout.ranks);
    for (int i = OptimizerLayout::kState; i < layout.group; ++i)
      require(input(graph, node, group + i) == state, "a parameter and its state differ in shape or type");
  }
  require(input(graph, node, layout.learning_rate) == kNumber, "the learning rate must be f32 [1]");
  if (layout.step >= 0) require(input(graph, node, layout.step) == kCounter, "the step must be i32 [1]");
  if (layout.loss_scale >= 0) require(input(graph, node, layout.loss_scale) == kNumber, "loss_scale must be f32 [1]");
  if (layout.clip >= 0) require(input(graph, node, layout.clip) == kNumber, "clip must be f32 [1]");
  if (layout.finite >= 0) require(input(graph, node, layout.finite) == kCounter, "finite must be i32 [1]");
  if (layout.skipped_steps >= 0) require(input(graph, node, layout.skipped_steps) == kCounter, "skipped_steps must be i32 [1]");
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
  const OptimizerLayout layout = optimizer_layout(node);
  const std::vector<std::int64_t>& copies = std::get<AdamwAttributes>(node.attributes).copies;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    require(copies[i] >= 0 && copies[i] < layout.parameters, "a copy is of a parameter that does not exist");
    const TensorDesc& copy = input(graph, node, layout.copies + static_cast<int>(i));
    require(is_float(copy.dtype) && copy.dtype != DType::f32, "a copy must have 16 bits");
    require(copy.shape == input(graph, node, layout.first + static_cast<int>(copies[i]) * layout.group).shape,
            "a parameter and its copy differ in shape");
  }
  return {};
}

std::vector<TensorDesc> infer_increment(const Graph& graph, const Node& node) {
  require(input(graph, node, 0) == kCounter, "the counter must be i32 [1]");
  return {};
}
std::vector<int> updated_counter(const Node&) { return {0}; }

std::vector<TensorDesc> infer_accumulate(const Graph& graph, const Node& node) {
  require_float(input(graph, node, 0));
  require(input(graph, node, 1) == TensorDesc{input(graph, node, 0).shape, DType::f32}, "the sum must be f32, of x's shape");
  return {};
}
std::vector<int> updated_sum(const Node&) { return {1}; }

std::vector<TensorDesc> infer_collective(const Graph& graph, const Node& node) {
  require(!node.inputs.empty(), "needs at least one tensor");
  for (ValueId id : node.inputs) require(graph.desc(id).dtype == DType::f32, "what ranks exchange must be f32");
  return {};
}
std::vector<int> updated_by_all(const Node& node) {
  std::vector<int> all(node.inputs.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<TensorDesc> infer_clip(const Graph& graph, const Node& node) {
  const auto& a = std::get<ClipFactorAttributes>(node.attributes);
  require(a.largest_norm > 0, "the largest norm must be above 0");
  const std::size_t first = a.loss_scaled ? 1 : 0;
  require(node.inputs.size() > first, "needs at least one gradient");
  if (a.loss_scaled) require(input(graph, node, 0) == kNumber, "loss_scale must be f32 [1]");
  for (std::size_t i = first; i < node.inputs.size(); ++i) require_float(graph.desc(node.inputs[i]));
  return {kNumber};
}

std::vector<TensorDesc> infer_finite(const Graph& graph, const Node& node) {
  require(!node.inputs.empty(), "needs at least one input");
  for (ValueId id : node.inputs) require_float(graph.desc(id));
  return {kCounter};
}

std::vector<TensorDesc> infer_update(const Graph& graph, const Node& node) {
  const auto& a = std::get<LossScaleAttributes>(node.attributes);
  require(a.growth >= 1 && a.backoff > 0 && a.backoff <= 1 && a.growth_interval >= 1,
          "growth must be at least 1, backoff above 0 and at most 1, growth_interval at least 1");
  require(input(graph, node, 1) == kNumber, "loss_scale must be f32 [1]");
  for (int i : {0, 2, 3}) require(input(graph, node, i) == kCounter, "finite, finite_steps and skipped_steps must be i32 [1]");
  return {};
}
std::vector<int> updated_scale(const Node&) { return {1, 2, 3}; }

}  // namespace

TensorDesc largest_share(const TensorDesc& tensor, std::int64_t ranks) {
  const Share share = share_of(static_cast<std::size_t>(tensor.elements()), 0, static_cast<int>(ranks));
  return {{static_cast<std::int64_t>(share.count)}, tensor.dtype};
}

OptimizerLayout optimizer_layout(const Node& node) {
  OptimizerLayout layout;
  layout.copies = static_cast<int>(node.inputs.size());
  if (const auto* sgd = std::get_if<SgdAttributes>(&node.attributes)) {
    layout.group = 3;
    layout.first = 1;
    if (sgd->loss_scaled) {
      layout.loss_scale = layout.first++;
      layout.finite = layout.first++;
    }
    if (sgd->clipped) layout.clip = layout.first++;
    layout.ranks = sgd->ranks;
  } else {
    const auto& adamw = std::get<AdamwAttributes>(node.attributes);
    layout.group = 4;
    layout.step = 1;
    layout.first = 2;
    layout.copies -= static_cast<int>(adamw.copies.size());
    if (adamw.loss_scaled) {
      layout.loss_scale = layout.first++;
      layout.finite = layout.first++;
      layout.skipped_steps = layout.first++;
    }
    if (adamw.clipped) layout.clip = layout.first++;
    layout.ranks = adamw.ranks;
  }
  layout.parameters = (layout.copies - layout.first) / layout.group;
  return layout;
}

const OpRule kSgdRule{.infer = infer_sgd, .updated_inputs = updated};
const OpRule kAdamwRule{.infer = infer_adamw, .updated_inputs = updated};
const OpRule kClipFactorRule{.infer = infer_clip};
const OpRule kAccumulateRule{.infer = infer_accumulate, .updated_inputs = updated_sum};
const OpRule kAllReduceRule{.infer = infer_collective, .updated_inputs = updated_by_all};
const OpRule kReduceScatterRule{.infer = infer_collective, .updated_inputs = updated_by_all};
const OpRule kAllGatherRule{.infer = infer_collective, .updated_inputs = updated_by_all};
const OpRule kIncrementRule{.infer = infer_increment, .updated_inputs = updated_counter};
const OpRule kAllFiniteRule{.infer = infer_finite};
const OpRule kUpdateLossScaleRule{.infer = infer_update, .updated_inputs = updated_scale};

}  // namespace epochbench
