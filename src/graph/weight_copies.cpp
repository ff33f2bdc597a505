// The pass that lets AdamW write the 16-bit copies of the weights that it has just updated: a step reads and writes 4 bytes
// less per weight, and runs one kernel fewer.
#include <algorithm>
#include <utility>

#include "src/graph/passes.h"

namespace epochbench {
namespace {

// The index of the parameter with this weight, or -1.
int parameter_of(const Node& optimizer, ValueId weight) {
  const OptimizerLayout layout = optimizer_layout(optimizer);
  for (int i = 0; i < layout.parameters; ++i)
    if (optimizer.inputs[static_cast<std::size_t>(layout.first + i * layout.group + OptimizerLayout::kWeight)] == weight)
      return i;
  return -1;
}

// Makes a node like add_node, but does not leave it in the list.
Node make_node(Graph& graph, const Node& like, Attributes attributes, std::vector<ValueId> inputs) {
  graph.add_node(like.op, std::move(attributes), std::move(inputs), like.name, like.ordinal);
  Node node = std::move(graph.nodes.back());
  graph.nodes.pop_back();
  return node;
}

}  // namespace

std::optional<Graph> keep_copies(Graph& graph, Graph& updating, const std::function<bool(const Graph&, const Node&)>& has) {
  const auto casts_weights = [&](const Node& node) {
    return node.op == Op::cast && graph.value(node.inputs[0]).kind == ValueKind::variable;
  };
  const auto cast = std::ranges::find_if(graph.nodes, casts_weights);
  const auto optimizer = std::ranges::find(updating.nodes, Op::adamw, &Node::op);
  if (cast == graph.nodes.end() || optimizer == updating.nodes.end()) return std::nullopt;

  const bool whole = &graph == &updating;
  Graph kept = graph, other = whole ? Graph() : updating, prepare;
  Graph& updated = whole ? kept : other;
  auto attributes = std::get<AdamwAttributes>(optimizer->attributes);
  auto to = std::get<CastAttributes>(cast->attributes);
  std::vector<ValueId> operands = optimizer->inputs, weights, copies;
  for (std::size_t i = 0; i < cast->inputs.size(); ++i) {
    const Variable& variable = graph.variables[static_cast<std::size_t>(graph.value(cast->inputs[i]).index)];
    const int parameter = parameter_of(*optimizer, updated.add_variable(variable));
    if (parameter < 0) return std::nullopt;
    Variable copy;
    copy.name = variable.name + ".copy";
    copy.desc = {variable.desc.shape, to.to};
    copy.role = VariableRole::derived;
    const ValueId kept_copy = kept.add_variable(copy);
    for (Node& node : kept.nodes) std::ranges::replace(node.inputs, cast->outputs[i], kept_copy);
    operands.push_back(updated.add_variable(copy));
    attributes.copies.push_back(parameter);
    weights.push_back(prepare.add_variable(variable));
    copies.push_back(prepare.add_variable(copy));
  }
  Node updating_node = make_node(updated, *optimizer, attributes, operands);
  if (!has(updated, updating_node)) return std::nullopt;
  updated.nodes[static_cast<std::size_t>(optimizer - updating.nodes.begin())] = std::move(updating_node);
  kept.nodes.erase(kept.nodes.begin() + (cast - graph.nodes.begin()));
  to.variables = true;
  weights.insert(weights.end(), copies.begin(), copies.end());
  prepare.add_node(Op::cast, to, weights, cast->name, cast->ordinal);
  if (!whole) updating = std::move(other);
  graph = std::move(kept);
  return prepare;
}

}  // namespace epochbench
