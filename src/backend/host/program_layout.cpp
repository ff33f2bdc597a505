// Offsets of variables, inputs and intermediates.
#include "src/backend/host/program_layout.h"

#include <algorithm>
#include <stdexcept>

namespace epochbench {
namespace {

constexpr std::size_t kBlockAlignment = 256;  // of the workspace after the arena, as libraries prefer it

std::size_t aligned(std::size_t bytes, std::size_t to = kTensorAlignment) { return (bytes + to - 1) / to * to; }

// The variables in the order of their places. The members of a joint value follow each other at the place of the first of them,
// and so does what a node sums over ranks, so that it is one piece of memory.
std::vector<const epochbench::Variable*> in_order(const Program& program) {
  std::map<std::string_view, std::vector<std::string_view>> joint_of;  // by member: all members in their order
  const auto join = [&](const Graph& graph, const std::vector<ValueId>& members) {
    std::vector<std::string_view> names;
    for (ValueId member : members) names.push_back(graph.value(member).name);
    for (std::string_view name : names)
      if (const auto [known, added] = joint_of.emplace(name, names); !added && known->second != names)
        throw std::logic_error(std::string(name) + " lies beside other variables in another entry");
  };
  for (const auto& entry : program.entries) {
    if (!entry) continue;
    for (const Node& node : entry->graph.nodes)
      if (node.op == Op::all_reduce) join(entry->graph, node.inputs);
    for (ValueId id = 0; id < static_cast<ValueId>(entry->graph.value_count()); ++id) {
      const Value& joint = entry->graph.value(id);
      if (!joint.members.empty() && joint.kind == ValueKind::variable) join(entry->graph, joint.members);
    }
  }
  std::map<std::string_view, const epochbench::Variable*> left;
  for (const epochbench::Variable& variable : program.variables) left[variable.name] = &variable;
  std::vector<const epochbench::Variable*> order;
  const auto place = [&](std::string_view name) {
    if (const auto found = left.extract(name)) order.push_back(found.mapped());
  };
  for (const epochbench::Variable& variable : program.variables) {
    if (const auto joint = joint_of.find(variable.name); joint != joint_of.end()) std::ranges::for_each(joint->second, place);
    place(variable.name);
  }
  return order;
}

}  // namespace

ProgramLayout::ProgramLayout(const Program& program)
    : parts_(static_cast<int>(program.parts)), first_part_(static_cast<int>(program.first_part)) {
  for (const epochbench::Variable* variable : in_order(program)) {
    variables_[variable->name] = {variable->desc, variable_bytes_};
    variable_bytes_ += aligned(variable->desc.bytes());
  }
  for (const auto& entry : program.entries) {
    if (!entry) continue;
    arena_bytes_ = std::max(arena_bytes_, aligned(static_cast<std::size_t>(entry->plan.arena_bytes), kBlockAlignment));
    workspace_bytes_ = std::max(workspace_bytes_, static_cast<std::size_t>(entry->plan.workspace_bytes));
    for (const Value& input : entry->graph.inputs) {
      if (std::any_of(inputs_.begin(), inputs_.end(), [&](const Value& known) { return known.name == input.name; })) continue;
      inputs_.push_back(input);
      input_offset_.push_back(slot_bytes_);
      slot_bytes_ += aligned(input.desc.bytes()) * static_cast<std::size_t>(parts_);
    }
  }
}

int ProgramLayout::input(std::string_view name) const {
  const auto found = std::find_if(inputs_.begin(), inputs_.end(), [&](const Value& input) { return input.name == name; });
  return static_cast<int>(found - inputs_.begin());
}

std::size_t ProgramLayout::part_bytes(int input) const {
  return aligned(inputs_.at(static_cast<std::size_t>(input)).desc.bytes());
}

const ProgramLayout::Variable& ProgramLayout::variable(std::string_view name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) throw std::invalid_argument("there is no variable " + std::string(name));
  return found->second;
}

const ProgramLayout::Variable& ProgramLayout::whole_variable(std::string_view name, std::size_t elements) const {
  const Variable& found = variable(name);
  if (static_cast<std::size_t>(found.desc.elements()) != elements)
    throw std::invalid_argument("variable " + std::string(name) + " is " + to_string(found.desc) + ", not " +
                                std::to_string(elements) + " elements");
  return found;
}

const ProgramLayout::Variable& ProgramLayout::variable_part(std::string_view name, std::int64_t first,
                                                            std::size_t elements) const {
  const Variable& found = variable(name);
  const auto size = static_cast<std::int64_t>(elements);
  if (first < 0 || first > found.desc.elements() || size > found.desc.elements() - first)
    throw std::invalid_argument("variable " + std::string(name) + " is " + to_string(found.desc) + " and has no elements " +
                                std::to_string(first) + " to " + std::to_string(first + size));
  return found;
}

ValueMemory::ValueMemory(const ProgramLayout& layout, const EntryGraph& entry, std::byte* variables, std::byte* slots,
                         std::byte* arena)
    : places_(entry.graph.value_count()), parts_(layout.parts()), first_part_(layout.first_part()) {
  for (std::size_t id = 0; id < places_.size(); ++id) {
    const Value& root = entry.graph.value(entry.plan.root[id]);
    if (root.kind == ValueKind::variable) {
      places_[id].address = variables + layout.variable(root.name).offset;
    } else if (root.kind == ValueKind::input) {
      const int input = layout.input(root.name);
      places_[id] = {slots + layout.input_offset(input), layout.slot_bytes(), layout.part_bytes(input)};
    } else if (entry.plan.offset[id] != MemoryPlan::kNone) {
      places_[id].address = arena + entry.plan.offset[id];
    }
  }
}

}  // namespace epochbench
