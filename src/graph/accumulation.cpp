// The passes for a batch in parts: gradients and outputs of each part are added to variables, and the optimizer, in a separate
// graph, reads the sums.
#include <algorithm>
#include <utility>

#include "src/graph/passes.h"

namespace epochbench {
namespace {

ValueId append_sum(Graph& graph, ValueId part, const std::string& name, VariableRole role, double factor) {
  const ValueId sum = graph.add_variable({name + ".sum", {graph.desc(part).shape, DType::f32}, role, {}});
  graph.add_node(Op::accumulate, AccumulateAttributes{factor}, {part, sum}, name + ".accumulate");
  return sum;
}

}  // namespace

void accumulate_outputs(Graph& graph, double factor) {
  for (Output& output : graph.outputs)
    output.value = append_sum(graph, output.value, output.name, VariableRole::control, factor);
}

UpdateGraph accumulate_gradients(Graph& graph, const std::vector<ValueId>& gradients, double factor) {
  UpdateGraph update;
  const std::vector<Variable> variables = graph.variables;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const ValueId gradient = gradients[i];
    if (gradient == kNoValue) continue;
    const ValueId sum = append_sum(graph, gradient, variables[i].name + ".gradient", VariableRole::gradient, factor);
    update.graph.add_variable(variables[i]);
    update.gradients.push_back(update.graph.add_variable(graph.variables[static_cast<std::size_t>(graph.value(sum).index)]));
    update.gradients.push_back(kNoValue);  // of the sum itself
  }
  return update;
}

void accumulate_early(Graph& graph) {
  std::vector<Node> sums;
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) (node.op == Op::accumulate ? sums : nodes).push_back(std::move(node));
  const auto place_of = [&](ValueId part) {  // after the last node that computes it, alone or in a joint value
    const ValueId joint = graph.value(part).joint;
    const auto computes = [&](const Node& node) {
      return std::ranges::any_of(node.outputs, [&](ValueId id) { return id == part || (joint != kNoValue && id == joint); });
    };
    return nodes.size() -
           static_cast<std::size_t>(std::ranges::find_if(nodes.rbegin(), nodes.rend(), computes) - nodes.rbegin());
  };
  std::vector<std::vector<Node>> behind(nodes.size() + 1);
  for (Node& sum : sums) behind[place_of(sum.inputs[0])].push_back(std::move(sum));
  graph.nodes.clear();
  for (std::size_t i = 0; i <= nodes.size(); ++i) {
    std::ranges::move(behind[i], std::back_inserter(graph.nodes));
    if (i < nodes.size()) graph.nodes.push_back(std::move(nodes[i]));
  }
}

}  // namespace epochbench
