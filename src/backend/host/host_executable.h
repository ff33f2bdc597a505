// An executable in host memory: variables, arena, staged batches and the steps of each entry. The backends that run on the
// host differ only in the function that turns a node into a step.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "epochbench/backend.h"
#include "kernels/shapes.h"
#include "src/backend/host/background_exchange.h"
#include "src/backend/host/compiled_entry.h"
#include "src/backend/host/exchange_order.h"
#include "src/backend/host/host_memory.h"
#include "src/backend/host/program_layout.h"

namespace epochbench {

// The tensors of an optimizer node, whose addresses do not change; for a node of several ranks, this rank's shares. A pointer
// to a 16-bit gradient is typed as a pointer to float.
std::vector<SgdTensor> sgd_tensors(const Graph& graph, const Node& node, const ValueMemory& memory, int rank = 0);
std::vector<AdamwTensor> adamw_tensors(const Graph& graph, const Node& node, const ValueMemory& memory, int rank = 0);
// For clip_factor without a loss scale.
std::vector<GradientTensor> gradient_tensors(const Graph& graph, const Node& node, const ValueMemory& memory, int rank = 0);

using HostStep = std::function<void()>;

struct CompiledNode {
  HostStep step;               // empty: nothing to do (a view)
  std::string implementation;  // "avx512 gemm"
  std::string algorithm = {};  // Executable::algorithms names it: "winograd"
  std::string chosen = {};     // for Executable::chosen_algorithms; empty: there was no choice
};

// `memory` and `workspace` stay valid as long as the executable; variables and intermediates do not move, inputs do.
using NodeCompiler = std::function<CompiledNode(const Graph&, const Node&, const ValueMemory& memory, void* workspace)>;

class HostExecutable final : public Executable {
 public:
  // `exchange`: runs exchanges between ranks, as early as possible; null: they run in their turn.
  HostExecutable(const Program& program, int threads, const NodeCompiler& compile_node,
                 std::unique_ptr<BackgroundExchange> exchange = nullptr);

  using Executable::stage;
  std::span<std::byte> stage(InputSlot slot, int input, int part) override;
  void submit(InputSlot slot) override;
  void run(Entry entry) override;
  void drain(std::vector<StepRecord>& records) override;
  void synchronize() override {}
  void write(std::string_view variable, std::span<const float> values) override;
  void read(std::string_view variable, std::span<float> values) const override;
  void write_part(std::string_view variable, std::int64_t first, std::span<const float> values) override;
  std::string algorithms() const override { return algorithm_of(entries_); }
  std::map<std::string, std::int64_t> chosen_algorithms() const override;
  std::vector<NodeTime> profile(Entry entry, int passes) override;

 private:
  void run_step(Entry which);
  void compile_entry(Entry which, const EntryGraph& entry, int threads, const NodeCompiler& compile_node);

  ProgramLayout layout_;
  HostMemory variables_, slots_, arena_;  // the workspace is in arena_, after the largest entry
  CompiledEntries<CompiledEntry<CompiledNode>> entries_;
  std::vector<StepRecord> finished_;
  std::unique_ptr<BackgroundExchange> exchange_;
  std::vector<Turn> exchange_order_;  // empty: every node runs in its turn
};

}  // namespace epochbench
