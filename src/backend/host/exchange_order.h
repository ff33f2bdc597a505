// When what ranks exchange begins and has to be there. The nodes that exchange stand in the graph of the update, after those
// that finish what they sum; here they begin as soon as that is finished, so that an executable can go on with computing
// meanwhile.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "epochbench/communicator.h"
#include "src/backend/host/program_layout.h"

namespace epochbench {

struct Turn {
  enum class Kind : std::uint8_t {
    run,    // the node
    begin,  // the node, which exchanges: when everything that ran before is done, and what began before is exchanged
    join,   // go on when everything that began is exchanged
  };
  Kind kind = Kind::run;
  Entry entry = Entry::train;  // of the node: train or update
  std::size_t node = 0;        // of its graph
};

// The end of a training step: the last part of its batch, and the update. Nodes keep their order, and all that began is joined.
std::vector<Turn> exchange_order(const EntryGraph& part, const EntryGraph& update);

// The elements of a value that this one of so many ranks updates; of a single rank all, whatever `rank` is.
Share owned_share(const Graph& graph, ValueId id, std::int64_t ranks, int rank);

// What an all_reduce node sums, as pieces of memory: tensors that lie side by side are one. What pads them is 0 on every rank.
// The other collectives divide each tensor by itself, as the optimizer does.
std::vector<std::span<float>> exchanged_pieces(const Graph& graph, const Node& node, const ValueMemory& memory);

// Calls act(kind, node) for a training step; node: a compiled one, null to join.
void for_each_turn(auto& entries, const std::vector<Turn>& order, int parts, InputSlot slot, const auto& act) {
  auto& part = entries[static_cast<std::size_t>(Entry::train)];
  for (int i = 0; i < parts; ++i) {
    part->memory.select(slot, i);
    for (std::size_t node = 0; i + 1 < parts && node < part->nodes.size(); ++node) act(Turn::Kind::run, &part->nodes[node]);
  }
  for (const Turn& turn : order) {
    auto& nodes = entries[static_cast<std::size_t>(turn.entry)]->nodes;
    act(turn.kind, turn.kind == Turn::Kind::join ? nullptr : &nodes[turn.node]);
  }
}

}  // namespace epochbench
