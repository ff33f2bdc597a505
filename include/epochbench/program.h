// A program: the graphs of a model's entry points after all passes, ready for a backend.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "epochbench/entry.h"
#include "epochbench/graph.h"

namespace epochbench {

// The position of each intermediate value in the arena; entries run one at a time and share it.
struct MemoryPlan {
  static constexpr std::int64_t kNone = -1;  // not in the arena: input, variable, a view of one, or never read
  std::vector<std::int64_t> offset;          // by ValueId, in bytes, a multiple of kTensorAlignment
  // By ValueId: the value whose memory it is in: for a view, the value it refers to; for an intermediate member, its joint
  // value; for a joint value of variables, that of its first member; otherwise the value itself.
  std::vector<ValueId> root;
  std::int64_t arena_bytes = 0;      // intermediates only
  std::int64_t gradient_bytes = 0;   // the part of arena_bytes for the gradients of parameters
  std::int64_t workspace_bytes = 0;  // the largest of any node; placed after the arena
};

struct EntryGraph {
  Graph graph;
  MemoryPlan plan;
};

struct Program {
  std::array<std::optional<EntryGraph>, kEntryCount> entries;
  // Equal parts of a batch. With more than one, train and evaluate run their graph once per part, on that part's inputs, and
  // train then runs update once; sums over the parts, and so the outputs, are variables.
  std::int64_t parts = 1;
  // The index of this rank's first part among those of all ranks, which share one batch: random masks depend on it.
  std::int64_t first_part = 0;
  std::uint64_t seed = 0;           // key of the random numbers that nodes draw (dropout)
  std::vector<Variable> variables;  // of all entries, each once; the graph of an entry refers to them by name

  const EntryGraph* entry(Entry which) const {
    const auto& slot = entries[static_cast<std::size_t>(which)];
    return slot ? &*slot : nullptr;
  }
};

struct ProgramMemory {  // bytes
  std::int64_t parameters = 0, gradients = 0, optimizer = 0, workspace = 0;
  std::int64_t activations = 0;  // the arena without the gradients, which reuse memory of dead activations
  std::int64_t total() const { return parameters + gradients + optimizer + activations + workspace; }
};
// Derived variables count as parameters, statistics and control variables as optimizer state, staged batches (kInputSlots of
// them) as activations.
ProgramMemory memory(const Program& program);

}  // namespace epochbench
