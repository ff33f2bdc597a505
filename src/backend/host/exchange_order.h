// When exchanges between ranks begin and have to be done. In the graph of the update, the nodes that exchange follow those that
// finish what they sum; here an exchange begins as soon as that is finished, so that an executable can compute meanwhile.
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
    begin,  // the node, which exchanges: when all earlier nodes and all earlier exchanges are done
    join,   // continue when all exchanges that have begun are done
  };
  Kind kind = Kind::run;
  Entry entry = Entry::train;  // of the node: train or update
  std::size_t node = 0;        // in its graph
};

// The end of a training step: the last part of its batch, and the update. Nodes keep their order, and all exchanges are joined.
std::vector<Turn> exchange_order(const EntryGraph& part, const EntryGraph& update);

// The elements of a value that `rank` of `ranks` updates; a single rank updates all, whatever `rank` is.
Share owned_share(const Graph& graph, ValueId id, std::int64_t ranks, int rank);

// What an all_reduce node sums, as pieces of memory: adjacent tensors form one piece. Their padding is 0 on every rank. The
// other collectives divide each tensor separately, as the optimizer does.
std::vector<std::span<float>> exchanged_pieces(const Graph& graph, const Node& node, const ValueMemory& memory);

// Calls act(kind, node) for each turn of a training step; node: a compiled node, null to join.
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
