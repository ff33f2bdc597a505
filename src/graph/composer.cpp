#include "src/graph/composer.h"

#include <utility>

#include "src/graph/op_rule.h"

namespace epochbench {

Composer::Composer(Graph& graph, const std::function<bool(const Graph&, const Node&)>& has)
    : graph_(graph), has_(has), users_(graph.value_count()), producer_(graph.value_count(), kNone), gone_(graph.nodes.size()) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId id : graph.nodes[i].inputs) users_[static_cast<std::size_t>(id)].push_back(static_cast<int>(i));
    for (ValueId id : graph.nodes[i].outputs)
      if (graph.value(id).kind == ValueKind::intermediate) set_producer(id, static_cast<int>(i));
  }
  for (const Output& output : graph.outputs) users_[static_cast<std::size_t>(output.value)].push_back(kGraphOutput);
}

int Composer::only_user(ValueId value, Op op) {
  const auto& readers = users(value);
  return readers.size() == 1 && readers[0] != kGraphOutput && node(readers[0]).op == op ? readers[0] : kNone;
}

int Composer::producer_of(ValueId value, Op op) {
  const int index = producer(value);
  return index != kNone && !is_gone(index) && node(index).op == op ? index : kNone;
}

bool Composer::replace(int at, const std::vector<int>& parts, Node composite) {
  composite.ordinal = node(parts.front()).ordinal;
  composite.name = node(parts.front()).name;
  for (int part : parts) composite.parts.push_back(node(part));
  std::size_t created = rule(composite.op).infer(graph_, composite).size();
  if (created > composite.outputs.size()) throw GraphError("composite with too few outputs: " + composite.name);
  if (!has_(graph_, composite)) return false;
  for (int part : parts) gone_[static_cast<std::size_t>(part)] = part != at;
  node(at) = std::move(composite);
  return true;
}

void Composer::remove_parts() {
  std::vector<Node> kept;
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
    if (!gone_[i]) kept.push_back(std::move(graph_.nodes[i]));
  graph_.nodes = std::move(kept);
}

}  // namespace epochbench
