// An executable in host memory: the variable store, the arena, the staged batches and the steps of each entry. The backends
// that run on the host differ only in the function that turns a node into a step.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "epochbench/backend.h"
#include "kernels/shapes.h"
#include "src/backend/host_memory.h"

namespace epochbench {

// Where an entry's values lie. Inputs move with the submitted slot, so steps look addresses up when they run.
class ValueMemory {
 public:
  template <typename T = float>
  T* get(ValueId id) const {  // null: nobody reads this value, it has no memory
    return reinterpret_cast<T*>(address_[static_cast<std::size_t>(id)]);
  }

 private:
  friend class HostExecutable;
  std::vector<std::byte*> address_;
};

// The tensors of an optimizer node; none of them moves. A 16-bit gradient is pointed to as if it were float.
std::vector<SgdTensor> sgd_tensors(const Graph& graph, const Node& node, const ValueMemory& memory);
std::vector<AdamwTensor> adamw_tensors(const Graph& graph, const Node& node, const ValueMemory& memory);

using HostStep = std::function<void()>;

struct CompiledNode {
  HostStep step;               // empty: nothing to do (a view)
  std::string implementation;  // "avx512 gemm"
};

// `memory` and `workspace` stay valid as long as the executable; variables and intermediates do not move, inputs do.
using NodeCompiler = std::function<CompiledNode(const Graph&, const Node&, const ValueMemory& memory, void* workspace)>;

class HostExecutable final : public Executable {
 public:
  HostExecutable(const Program& program, int threads, const NodeCompiler& compile_node);

  std::span<std::byte> stage(InputSlot slot, int input) override;
  void submit(InputSlot slot) override;
  void run(Entry entry) override;
  void drain(std::vector<StepRecord>& records) override;
  void synchronize() override {}
  void write(std::string_view variable, std::span<const float> values) override;
  void read(std::string_view variable, std::span<float> values) const override;
  void write_part(std::string_view variable, std::int64_t first, std::span<const float> values) override;
  std::vector<NodeTime> profile(Entry entry) override;

 private:
  struct CompiledEntry {
    ValueMemory memory;
    std::vector<CompiledNode> nodes;
    std::vector<NodeTime> description;            // by node; seconds empty
    std::vector<std::pair<ValueId, int>> inputs;  // values that show an input, and which
    ValueId loss = kNoValue, correct = kNoValue;
  };
  struct StoredVariable {
    TensorDesc desc;
    std::byte* data;
  };

  void lay_out_variables(const Program& program, int threads);
  void lay_out_inputs(const Program& program, int threads);
  void compile_entry(Entry which, const EntryGraph& entry, int threads, const NodeCompiler& compile_node);
  const StoredVariable& find(std::string_view name, std::size_t count) const;
  CompiledEntry& compiled(Entry entry);

  HostMemory variable_memory_, input_memory_, arena_;
  std::byte* workspace_ = nullptr;  // in arena_, behind the largest entry
  std::map<std::string, StoredVariable, std::less<>> variables_;
  std::vector<Value> inputs_;
  std::vector<std::size_t> input_offset_;  // in a slot
  std::size_t slot_bytes_ = 0;
  std::array<std::optional<CompiledEntry>, kEntryCount> entries_;
  std::vector<StepRecord> finished_;
};

}  // namespace epochbench
