// The passes for data parallelism: ranks that train on parts of one batch sum their gradients before each updates its weights,
// or its share of them. The passes use no communicator and do not overlap communication with computation; a backend may.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "src/graph/passes.h"

namespace epochbench {
namespace {

bool is_gradient_sum(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  return value.kind == ValueKind::variable &&
         graph.variables[static_cast<std::size_t>(value.index)].role == VariableRole::gradient;
}

// Whether a node is the optimizer, not the update of averages: it reads sums of gradients.
bool updates_parameters(const Graph& graph, const Node& node) {
  if (node.op != Op::sgd && node.op != Op::adamw) return false;
  return is_gradient_sum(graph,
                         node.inputs[static_cast<std::size_t>(optimizer_layout(node).first + OptimizerLayout::kGradient)]);
}

// The parameter of each sum of gradients, and the names of all optimizer states.
struct Operands {
  std::map<ValueId, ValueId> parameter_of;
  std::set<std::string> states;
};
Operands operands_of(const Graph& graph, const Node& optimizer) {
  const OptimizerLayout layout = optimizer_layout(optimizer);
  if (layout.loss_scale >= 0) throw GraphError(optimizer.name + ": --shard optimizer knows no loss scale");
  Operands operands;
  for (int i = 0; i < layout.parameters; ++i) {
    const ValueId* group = &optimizer.inputs[static_cast<std::size_t>(layout.first + i * layout.group)];
    operands.parameter_of[group[OptimizerLayout::kGradient]] = group[OptimizerLayout::kWeight];
    for (int state = OptimizerLayout::kState; state < layout.group; ++state)
      operands.states.insert(graph.value(group[state]).name);
  }
  return operands;
}

void set_ranks(Attributes& attributes, std::int64_t ranks) {
  if (auto* sgd = std::get_if<SgdAttributes>(&attributes)) sgd->ranks = ranks;
  if (auto* adamw = std::get_if<AdamwAttributes>(&attributes)) adamw->ranks = ranks;
  if (auto* clip = std::get_if<ClipFactorAttributes>(&attributes)) clip->ranks = ranks;
}

}  // namespace

void all_reduce_sums(Graph& update, const Graph& part, std::int64_t bucket_bytes) {
  const auto updates = static_cast<std::ptrdiff_t>(update.nodes.size());
  std::vector<ValueId> bucket;
  std::int64_t bytes = 0, buckets = 0;
  const auto close = [&] {
    if (bucket.empty()) return;
    update.add_node(Op::all_reduce, {}, std::move(bucket), "bucket." + std::to_string(buckets++));
    bucket.clear();
    bytes = 0;
  };
  for (const Node& node : part.nodes) {
    if (node.op != Op::accumulate) continue;
    const Value& sum = part.value(node.inputs[1]);
    bucket.push_back(update.add_variable(part.variables[static_cast<std::size_t>(sum.index)]));
    bytes += static_cast<std::int64_t>(sum.desc.bytes());
    if (bytes >= bucket_bytes) close();
  }
  close();
  std::rotate(update.nodes.begin(), update.nodes.begin() + updates, update.nodes.end());
}

Graph shard_optimizer(const Graph& update, std::int64_t ranks) {
  const auto optimizer = std::ranges::find_if(update.nodes, [&](const Node& node) { return updates_parameters(update, node); });
  const Operands operands = operands_of(update, *optimizer);
  Graph sharded = with_variables(update, [&](Variable& variable) {
    if (operands.states.contains(variable.name)) variable.desc = largest_share(variable.desc, ranks);
  });
  const std::vector<Node> nodes = std::exchange(sharded.nodes, {});
  std::vector<std::vector<ValueId>> buckets;  // of parameters
  for (Node node : nodes) {
    if (node.op == Op::all_reduce) {  // of the loss, and of gradients
      const auto first = std::stable_partition(node.inputs.begin(), node.inputs.end(),
                                               [&](ValueId id) { return !is_gradient_sum(sharded, id); });
      const std::vector<ValueId> gradients(first, node.inputs.end());
      node.inputs.erase(first, node.inputs.end());
      if (!node.inputs.empty()) sharded.add_node(Op::all_reduce, {}, node.inputs, node.name + ".outputs");
      if (gradients.empty()) continue;
      sharded.add_node(Op::reduce_scatter, {}, gradients, node.name);
      for (ValueId& parameter : buckets.emplace_back(gradients)) parameter = operands.parameter_of.at(parameter);
      continue;
    }
    const bool updating = updates_parameters(sharded, node);
    if (updating || node.op == Op::clip_factor) set_ranks(node.attributes, ranks);
    sharded.nodes.push_back(std::move(node));
    if (!updating) continue;
    for (std::size_t i = 0; i < buckets.size(); ++i)
      sharded.add_node(Op::all_gather, {}, buckets[i], "parameters." + std::to_string(i));
  }
  return sharded;
}

}  // namespace epochbench
