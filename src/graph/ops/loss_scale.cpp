// all_finite and update_loss_scale: dynamic loss scaling (Micikevicius et al. 2018).
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

const TensorDesc kCounter{{1}, DType::i32};

std::vector<TensorDesc> infer_finite(const Graph& graph, const Node& node) {
  require(!node.inputs.empty(), "needs at least one input");
  for (ValueId id : node.inputs) require_float(graph.desc(id));
  return {kCounter};
}

std::vector<TensorDesc> infer_update(const Graph& graph, const Node& node) {
  const auto& a = std::get<LossScaleAttributes>(node.attributes);
  require(a.growth >= 1 && a.backoff > 0 && a.backoff <= 1 && a.growth_interval >= 1,
          "growth must be at least 1, backoff above 0 and at most 1, growth_interval at least 1");
  require(input(graph, node, 1) == TensorDesc{{1}, DType::f32}, "loss_scale must be f32 [1]");
  for (int i : {0, 2, 3}) require(input(graph, node, i) == kCounter, "finite, finite_steps and skipped_steps must be i32 [1]");
  return {};
}
std::vector<int> updated(const Node&) { return {1, 2, 3}; }

}  // namespace

const OpRule kAllFiniteRule{.infer = infer_finite};
const OpRule kUpdateLossScaleRule{.infer = infer_update, .updated_inputs = updated};

}  // namespace epochbench
