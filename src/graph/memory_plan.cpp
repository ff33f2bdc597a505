// The memory plan.
#include <algorithm>
#include <limits>
#include <numeric>

#include "epochbench/backend.h"
#include "src/graph/op_rule.h"
#include "src/graph/passes.h"

namespace epochbench {
namespace {

constexpr int kUnused = -1;

std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }
std::int64_t aligned(std::size_t bytes) {
  return static_cast<std::int64_t>((bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment);
}

// A piece of the arena: one value, or several that overwrite each other in place. Times are node indices.
struct Block {
  std::int64_t size = 0, offset = 0;
  int begin = 0, end = 0;
};

class Planner {
 public:
  Planner(const Graph& graph, const std::function<std::size_t(ValueId)>& value_bytes)
      : graph_(graph),
        value_bytes_(value_bytes),
        root_(graph.value_count()),
        within_root_(graph.value_count()),
        last_use_(graph.value_count(), kUnused),
        block_of_(graph.value_count(), kUnused) {
    std::iota(root_.begin(), root_.end(), 0);
    for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id) find_root_of_members(id);
    for (const Node& node : graph.nodes) {
      if (!rule(node.op).view) continue;
      root_[at(node.outputs[0])] = root_[at(node.inputs[0])];
      within_root_[at(node.outputs[0])] = within_root_[at(node.inputs[0])];
    }
    for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i)
      for (ValueId id : graph.nodes[static_cast<std::size_t>(i)].inputs) last_use_[at(root_[at(id)])] = i;
    for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i)
      for (ValueId id : graph.nodes[static_cast<std::size_t>(i)].outputs)
        if (std::ranges::find(graph.unread, id) != graph.unread.end())
          last_use_[at(root_[at(id)])] = std::max(last_use_[at(root_[at(id)])], i);
    for (const Output& output : graph.outputs) last_use_[at(root_[at(output.value)])] = std::numeric_limits<int>::max();
  }

  MemoryPlan run() {
    make_blocks();
    MemoryPlan plan;
    plan.arena_bytes = place();
    plan.gradient_bytes = gradient_bytes();
    plan.root = root_;
    plan.offset.assign(graph_.value_count(), MemoryPlan::kNone);
    for (std::size_t id = 0; id < plan.offset.size(); ++id) {
      const int block = block_of_[at(root_[id])];
      if (block != kUnused) plan.offset[id] = blocks_[static_cast<std::size_t>(block)].offset + within_root_[id];
    }
    return plan;
  }

 private:
  void find_root_of_members(ValueId joint) {
    const Value& value = graph_.value(joint);
    if (value.members.empty()) return;
    if (value.kind == ValueKind::variable) root_[at(joint)] = value.members[0];
    if (value.kind != ValueKind::intermediate) return;
    std::int64_t offset = 0;
    for (ValueId member : value.members) {
      root_[at(member)] = joint;
      within_root_[at(member)] = offset;
      offset += static_cast<std::int64_t>(graph_.desc(member).bytes());
    }
  }

  void make_blocks() {
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) {
      const Node& node = graph_.nodes[static_cast<std::size_t>(i)];
      for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        const ValueId out = root_[at(node.outputs[k])];
        if (rule(node.op).view || graph_.value(out).kind != ValueKind::intermediate || last_use_[at(out)] == kUnused) continue;
        if (block_of_[at(out)] != kUnused) continue;  // an earlier member of the same joint value made the block
        int block = k == 0 ? block_to_overwrite(node, i) : kUnused;
        if (block == kUnused) {
          block = static_cast<int>(blocks_.size());
          blocks_.push_back({aligned(value_bytes_(out)), 0, i, i});
        }
        blocks_[static_cast<std::size_t>(block)].end = last_use_[at(out)];
        block_of_[at(out)] = block;
      }
    }
  }

  // The block of an operand that node `i` reads last and that its rule lets output 0 overwrite. Joint values are excluded,
  // since several values share their block.
  int block_to_overwrite(const Node& node, int i) const {
    const ValueId out = root_[at(node.outputs[0])];
    if (!graph_.value(out).members.empty()) return kUnused;
    for (int index : rule(node.op).in_place_inputs) {
      if (static_cast<std::size_t>(index) >= node.inputs.size()) continue;  // optional, and not given
      const ValueId operand = root_[at(node.inputs[static_cast<std::size_t>(index)])];
      if (graph_.value(operand).kind == ValueKind::intermediate && graph_.value(operand).members.empty() &&
          last_use_[at(operand)] == i && value_bytes_(operand) == value_bytes_(out))
        return block_of_[at(operand)];
    }
    return kUnused;
  }

  // The gradients of all parameters are alive together when the optimizer runs.
  std::int64_t gradient_bytes() const {
    std::int64_t sum = 0;
    for (const Node& node : graph_.nodes) {
      if (node.op != Op::sgd && node.op != Op::adamw) continue;
      const OptimizerLayout layout = optimizer_layout(node);
      for (int i = 0; i < layout.parameters; ++i) {
        const Value& gradient = graph_.value(node.inputs[at(layout.first + i * layout.group + OptimizerLayout::kGradient)]);
        if (gradient.kind == ValueKind::intermediate) sum += aligned(gradient.desc.bytes());
      }
    }
    return sum;
  }

  // Largest first, each at the lowest offset that overlaps no block alive at the same time. Returns the total size.
  std::int64_t place() {
    std::vector<std::size_t> order(blocks_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return blocks_[a].size > blocks_[b].size; });
    std::vector<const Block*> placed;  // by offset
    std::int64_t total = 0;
    for (std::size_t index : order) {
      Block& block = blocks_[index];
      std::int64_t offset = 0;
      for (const Block* other : placed) {
        if (other->end < block.begin || block.end < other->begin) continue;
        if (offset + block.size <= other->offset) break;
        offset = std::max(offset, other->offset + other->size);
      }
      block.offset = offset;
      total = std::max(total, offset + block.size);
      placed.insert(std::upper_bound(placed.begin(), placed.end(), &block,
                                     [](const Block* a, const Block* b) { return a->offset < b->offset; }),
                    &block);
    }
    return total;
  }

  const Graph& graph_;
  const std::function<std::size_t(ValueId)>& value_bytes_;
  std::vector<ValueId> root_;
  std::vector<std::int64_t> within_root_;  // bytes from the start of the root
  std::vector<int> last_use_;              // by root
  std::vector<int> block_of_;              // by root
  std::vector<Block> blocks_;
};

MemoryPlan plan(const Graph& graph, const std::function<std::size_t(ValueId)>& value_bytes,
                const std::function<std::size_t(const Node&)>& workspace_bytes) {
  MemoryPlan plan = Planner(graph, value_bytes).run();
  for (const Node& node : graph.nodes) plan.workspace_bytes = std::max(plan.workspace_bytes, aligned(workspace_bytes(node)));
  return plan;
}

}  // namespace

const char* name(Entry entry) {
  switch (entry) {
    case Entry::train:
      return "train";
    case Entry::evaluate:
      return "evaluate";
    case Entry::forward:
      return "forward";
    case Entry::calibrate:
      return "calibrate";
    case Entry::prepare:
      return "prepare";
    case Entry::update:
      return "update";
  }
  return "?";
}

MemoryPlan plan_memory(const Graph& graph, const Backend& backend) {
  return plan(
      graph, [&](ValueId value) { return backend.value_bytes(graph, value); },
      [&](const Node& node) { return backend.workspace_bytes(graph, node); });
}

MemoryPlan plan_memory(const Graph& graph, const std::function<std::size_t(const Graph&, const Node&)>& workspace_bytes) {
  return plan(
      graph, [&](ValueId value) { return graph.desc(value).bytes(); },
      [&](const Node& node) { return workspace_bytes(graph, node); });
}

namespace {

std::int64_t& part_of(ProgramMemory& memory, VariableRole role) {
  switch (role) {
    case VariableRole::parameter:
    case VariableRole::derived:
      return memory.parameters;
    case VariableRole::gradient:
      return memory.gradients;
    case VariableRole::statistic:
    case VariableRole::optimizer:
    case VariableRole::control:
      break;
  }
  return memory.optimizer;
}

}  // namespace

ProgramMemory memory(const Program& program) {
  ProgramMemory sum;
  for (const Variable& variable : program.variables) part_of(sum, variable.role) += aligned(variable.desc.bytes());
  std::int64_t arena = 0, gradients = 0, staged = 0;
  for (const auto& entry : program.entries) {
    if (!entry) continue;
    if (entry->plan.arena_bytes > arena) {
      arena = entry->plan.arena_bytes;
      gradients = entry->plan.gradient_bytes;
    }
    sum.workspace = std::max(sum.workspace, entry->plan.workspace_bytes);
    std::int64_t batch = 0;
    for (const Value& input : entry->graph.inputs) batch += aligned(input.desc.bytes()) * program.parts;
    staged = std::max(staged, batch);
  }
  sum.gradients += gradients;
  sum.activations = arena - gradients + kInputSlots * staged;
  return sum;
}

}  // namespace epochbench
