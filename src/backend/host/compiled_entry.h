// What every executable keeps for an entry of a program, and the times of its nodes over several passes of a profile.
#pragma once

#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "epochbench/backend.h"
#include "src/backend/host/program_layout.h"
#include "src/base/statistics.h"

namespace epochbench {

// CompiledNode: the backend's compiled form of a node, with the members `implementation` and `algorithm`.
template <typename CompiledNode>
struct CompiledEntry {
  ValueMemory memory;
  std::vector<CompiledNode> nodes;
  std::vector<NodeTime> description;  // by node; seconds empty
  ValueId loss = kNoValue, correct = kNoValue;

  void compile(const Graph& graph, const auto& compile_node) {
    for (const Node& node : graph.nodes) {
      nodes.push_back(compile_node(node));
      description.push_back({node.name, node.op, nodes.back().implementation, 0, flops(graph, node), bytes(graph, node)});
    }
    loss = graph.output("loss");
    correct = graph.output("correct");
  }
};

template <typename Entry>
using CompiledEntries = std::array<std::optional<Entry>, kEntryCount>;

// Errors: std::logic_error if the program has no such entry.
template <typename Entries>
auto& entry_of(Entries& entries, Entry which) {
  auto& entry = entries[static_cast<std::size_t>(which)];
  if (!entry) throw std::logic_error(std::string("the program has no entry ") + name(which));
  return *entry;
}

// Calls run(entry) for each part of the batch in `slot`, with the entry's memory set to that part, and after the parts of a
// training step for the entry that updates the weights.
void for_each_part(auto& entries, Entry which, int parts, InputSlot slot, const auto& run) {
  auto& entry = entry_of(entries, which);
  const bool divided = which == Entry::train || which == Entry::evaluate;
  for (int part = 0; part < (divided ? parts : 1); ++part) {
    entry.memory.select(slot, part);
    run(entry);
  }
  auto& update = entries[static_cast<std::size_t>(Entry::update)];
  if (which == Entry::train && update) run(*update);
}

// The nodes of one step, as for_each_part() runs them; nodes of a part count the work of all parts.
std::vector<NodeTime> describe_step(const auto& entries, Entry which, int parts) {
  std::vector<NodeTime> nodes = entry_of(entries, which).description;
  for (NodeTime& node : nodes) {
    node.flops *= parts;
    node.bytes *= parts;
  }
  const auto& update = entries[static_cast<std::size_t>(Entry::update)];
  if (which == Entry::train && update) nodes.insert(nodes.end(), update->description.begin(), update->description.end());
  return nodes;
}

// As Executable::algorithms(); no backend has more than one.
std::string algorithm_of(const auto& entries) {
  for (const auto& entry : entries)
    if (entry)
      for (const auto& node : entry->nodes)
        if (!node.algorithm.empty()) return node.algorithm;
  return "";
}

class PassTimes {
 public:
  PassTimes(std::size_t nodes, int passes) : seconds_(nodes) {
    for (auto& times : seconds_) times.reserve(static_cast<std::size_t>(passes));
  }
  void add(std::size_t node, double seconds) { seconds_[node].push_back(seconds); }
  // Sets each node's seconds to the median of its passes. The sum of minima would be less than any step takes.
  void set_medians(std::vector<NodeTime>& nodes) const {
    for (std::size_t node = 0; node < seconds_.size(); ++node)
      if (!seconds_[node].empty()) nodes[node].seconds = median(seconds_[node]);
  }

 private:
  std::vector<std::vector<double>> seconds_;  // by node, then pass
};

}  // namespace epochbench
