#include "src/backend/host/exchange_order.h"

#include <algorithm>
#include <set>
#include <string>

namespace epochbench {
namespace {

using Names = std::set<std::string>;  // of variables

bool meet(const Names& a, const Names& b) {
  return std::ranges::any_of(a, [&](const std::string& name) { return b.contains(name); });
}

Names variables_of(const EntryGraph& entry, const Node& node) {
  Names names;
  for (const auto* values : {&node.inputs, &node.outputs})
    for (ValueId id : *values) {
      const Value& value = entry.graph.value(id);
      for (ValueId member : value.members) names.insert(entry.graph.value(member).name);
      if (const Value& root = entry.graph.value(entry.plan.root[static_cast<std::size_t>(id)]);
          root.kind == ValueKind::variable)
        names.insert(root.name);
    }
  return names;
}

}  // namespace

std::vector<Turn> exchange_order(const EntryGraph& part, const EntryGraph& update) {
  std::vector<Turn> computing;
  std::vector<Names> touched;                   // by each of these turns
  std::vector<std::vector<std::size_t>> begun;  // update nodes that exchange, by the number of nodes run before
  std::vector<Names> exchanged;                 // the variables of these nodes
  const auto grow = [&] {
    begun.resize(computing.size() + 1);
    exchanged.resize(computing.size() + 1);
  };
  const auto compute = [&](const EntryGraph& entry, Entry which, std::size_t node) {
    computing.push_back({Turn::Kind::run, which, node});
    touched.push_back(variables_of(entry, entry.graph.nodes[node]));
    grow();
  };
  for (std::size_t node = 0; node < part.graph.nodes.size(); ++node) compute(part, Entry::train, node);
  grow();
  std::size_t earliest = 0;  // exchanges begin one after another
  for (std::size_t node = 0; node < update.graph.nodes.size(); ++node) {
    if (!is_collective(update.graph.nodes[node].op)) {
      compute(update, Entry::update, node);
      continue;
    }
    const Names names = variables_of(update, update.graph.nodes[node]);
    std::size_t after = computing.size();
    while (after > earliest && !meet(names, touched[after - 1])) --after;
    earliest = after;
    begun[after].push_back(node);
    exchanged[after].insert(names.begin(), names.end());
  }

  std::vector<Turn> order;
  Names under_way;
  const auto join = [&] {
    if (!under_way.empty()) order.push_back({Turn::Kind::join, Entry::update, 0});
    under_way.clear();
  };
  for (std::size_t i = 0; i <= computing.size(); ++i) {
    for (std::size_t node : begun[i]) order.push_back({Turn::Kind::begin, Entry::update, node});
    under_way.merge(exchanged[i]);
    if (i == computing.size()) break;
    if (meet(under_way, touched[i])) join();
    order.push_back(computing[i]);
  }
  join();
  return order;
}

Share owned_share(const Graph& graph, ValueId id, std::int64_t ranks, int rank) {
  const auto elements = static_cast<std::size_t>(graph.desc(id).elements());
  return ranks == 1 ? Share{0, elements} : share_of(elements, rank, static_cast<int>(ranks));
}

std::vector<std::span<float>> exchanged_pieces(const Graph& graph, const Node& node, const ValueMemory& memory) {
  std::vector<std::span<float>> pieces;
  for (ValueId id : node.inputs) {
    const std::span<float> tensor(memory.get(id), static_cast<std::size_t>(graph.desc(id).elements()));
    float* const end = pieces.empty() ? nullptr : pieces.back().data() + pieces.back().size();
    if (node.op == Op::all_reduce && end != nullptr && tensor.data() >= end &&
        tensor.data() - end < static_cast<std::ptrdiff_t>(kTensorAlignment / sizeof(float)))
      pieces.back() = {pieces.back().data(), tensor.data() + tensor.size()};
    else
      pieces.push_back(tensor);
  }
  return pieces;
}

}  // namespace epochbench
