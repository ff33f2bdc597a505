// Laying a program out in host memory and running it.
#include "src/backend/host_executable.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <stdexcept>

namespace epochbench {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kRecordsWithoutDrain = 65536;  // reserved, so that a step allocates nothing

std::size_t aligned(std::size_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

double now_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

std::vector<SgdTensor> sgd_tensors(const Graph& graph, const Node& node, const ValueMemory& memory) {
  const OptimizerLayout layout = optimizer_layout(node);
  std::vector<SgdTensor> tensors;
  for (int i = 0; i < layout.parameters; ++i) {
    const ValueId* id = &node.inputs[static_cast<std::size_t>(layout.first + i * layout.group)];
    const ValueId weight = id[OptimizerLayout::kWeight], velocity = id[OptimizerLayout::kState];
    tensors.push_back(
        {memory.get(weight), memory.get(velocity), memory.get(id[OptimizerLayout::kGradient]), graph.desc(weight).elements()});
  }
  return tensors;
}

std::vector<AdamwTensor> adamw_tensors(const Graph& graph, const Node& node, const ValueMemory& memory) {
  const OptimizerLayout layout = optimizer_layout(node);
  const auto& decay = std::get<AdamwAttributes>(node.attributes).weight_decay;
  std::vector<AdamwTensor> tensors;
  for (int i = 0; i < layout.parameters; ++i) {
    const ValueId* id = &node.inputs[static_cast<std::size_t>(layout.first + i * layout.group)];
    const ValueId weight = id[OptimizerLayout::kWeight], moments = OptimizerLayout::kState;
    tensors.push_back({memory.get(weight), memory.get(id[moments]), memory.get(id[moments + 1]),
                       memory.get(id[OptimizerLayout::kGradient]), graph.desc(weight).elements(),
                       decay[static_cast<std::size_t>(i)]});
  }
  return tensors;
}

HostExecutable::HostExecutable(const Program& program, int threads, const NodeCompiler& compile_node) {
  lay_out_variables(program, threads);
  lay_out_inputs(program, threads);
  std::int64_t arena_bytes = 0, workspace_bytes = 0;
  for (const auto& entry : program.entries) {
    if (!entry) continue;
    arena_bytes = std::max(arena_bytes, entry->plan.arena_bytes);
    workspace_bytes = std::max(workspace_bytes, entry->plan.workspace_bytes);
  }
  arena_ = HostMemory(static_cast<std::size_t>(arena_bytes + workspace_bytes));
  workspace_ = arena_.data() + arena_bytes;
  for (std::size_t i = 0; i < kEntryCount; ++i)
    if (program.entries[i]) compile_entry(static_cast<Entry>(i), *program.entries[i], threads, compile_node);
  touch_first(arena_.data(), arena_.size(), threads);
  finished_.reserve(kRecordsWithoutDrain);
  submit(0);
}

void HostExecutable::lay_out_variables(const Program& program, int threads) {
  std::size_t total = 0;
  for (const Variable& variable : program.variables) total += aligned(variable.desc.bytes());
  variable_memory_ = HostMemory(total);
  std::byte* next = variable_memory_.data();
  for (const Variable& variable : program.variables) {
    variables_[variable.name] = {variable.desc, next};
    next += aligned(variable.desc.bytes());
  }
  touch_first(variable_memory_.data(), variable_memory_.size(), threads);
}

void HostExecutable::lay_out_inputs(const Program& program, int threads) {
  for (const auto& entry : program.entries) {
    if (!entry) continue;
    for (const Value& input : entry->graph.inputs)
      if (std::none_of(inputs_.begin(), inputs_.end(), [&](const Value& known) { return known.name == input.name; }))
        inputs_.push_back(input);
  }
  for (const Value& input : inputs_) {
    input_offset_.push_back(slot_bytes_);
    slot_bytes_ += aligned(input.desc.bytes());
  }
  input_memory_ = HostMemory(slot_bytes_ * kInputSlots);
  touch_first(input_memory_.data(), input_memory_.size(), threads);
}

void HostExecutable::compile_entry(Entry which, const EntryGraph& entry, int threads, const NodeCompiler& compile_node) {
  const Graph& graph = entry.graph;
  CompiledEntry& compiled = entries_[static_cast<std::size_t>(which)].emplace();
  auto& address = compiled.memory.address_;
  address.assign(graph.value_count(), nullptr);
  for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id) {
    const auto index = static_cast<std::size_t>(id);
    const Value& root = graph.value(entry.plan.root[index]);
    if (root.kind == ValueKind::variable) {
      address[index] = variables_.at(root.name).data;
    } else if (root.kind == ValueKind::input) {
      const auto input =
          std::find_if(inputs_.begin(), inputs_.end(), [&](const Value& known) { return known.name == root.name; });
      compiled.inputs.emplace_back(id, static_cast<int>(input - inputs_.begin()));
    } else if (entry.plan.offset[index] != MemoryPlan::kNone) {
      address[index] = arena_.data() + entry.plan.offset[index];
      touch_first(address[index], root.desc.bytes(), threads);
    }
  }
  for (const Node& node : graph.nodes) {
    compiled.nodes.push_back(compile_node(graph, node, compiled.memory, workspace_));
    compiled.description.push_back(
        {node.name, node.op, compiled.nodes.back().implementation, 0, flops(graph, node), bytes(graph, node)});
  }
  compiled.loss = graph.output("loss");
  compiled.correct = graph.output("correct");
}

std::span<std::byte> HostExecutable::stage(InputSlot slot, int input) {
  const auto index = static_cast<std::size_t>(input);
  return {input_memory_.data() + static_cast<std::size_t>(slot) * slot_bytes_ + input_offset_.at(index),
          inputs_.at(index).desc.bytes()};
}

void HostExecutable::submit(InputSlot slot) {
  std::byte* base = input_memory_.data() + static_cast<std::size_t>(slot) * slot_bytes_;
  for (auto& entry : entries_)
    if (entry)
      for (auto [id, input] : entry->inputs)
        entry->memory.address_[static_cast<std::size_t>(id)] = base + input_offset_[static_cast<std::size_t>(input)];
}

HostExecutable::CompiledEntry& HostExecutable::compiled(Entry entry) {
  auto& slot = entries_[static_cast<std::size_t>(entry)];
  if (!slot) throw std::logic_error(std::string("the program has no entry ") + name(entry));
  return *slot;
}

void HostExecutable::run(Entry which) {
  CompiledEntry& entry = compiled(which);
  const double begin = now_seconds();
  for (const CompiledNode& node : entry.nodes)
    if (node.step) node.step();
  StepRecord record{which, 0, 0, now_seconds() - begin};
  if (entry.loss != kNoValue) record.loss = *entry.memory.get(entry.loss);
  if (entry.correct != kNoValue) record.correct = *entry.memory.get(entry.correct);
  finished_.push_back(record);
}

void HostExecutable::drain(std::vector<StepRecord>& records) {
  records.insert(records.end(), finished_.begin(), finished_.end());
  finished_.clear();
}

const HostExecutable::StoredVariable& HostExecutable::find(std::string_view name, std::size_t count) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) throw std::invalid_argument("there is no variable " + std::string(name));
  if (static_cast<std::size_t>(found->second.desc.elements()) != count)
    throw std::invalid_argument("variable " + std::string(name) + " is " + to_string(found->second.desc) + ", not " +
                                std::to_string(count) + " elements");
  return found->second;
}

void HostExecutable::write(std::string_view name, std::span<const float> values) {
  find(name, values.size());
  write_part(name, 0, values);
}

void HostExecutable::write_part(std::string_view name, std::int64_t first, std::span<const float> values) {
  const auto found = variables_.find(name);
  if (found == variables_.end()) throw std::invalid_argument("there is no variable " + std::string(name));
  const auto& [desc, data] = found->second;
  const auto size = static_cast<std::int64_t>(values.size());
  if (first < 0 || first > desc.elements() || size > desc.elements() - first)
    throw std::invalid_argument("variable " + std::string(name) + " is " + to_string(desc) + " and has no elements " +
                                std::to_string(first) + " to " + std::to_string(first + size));
  if (desc.dtype == DType::i32)
    std::transform(values.begin(), values.end(), reinterpret_cast<std::int32_t*>(data) + first,
                   [](float value) { return static_cast<std::int32_t>(value); });
  else
    std::copy(values.begin(), values.end(), reinterpret_cast<float*>(data) + first);
}

void HostExecutable::read(std::string_view name, std::span<float> values) const {
  const StoredVariable& variable = find(name, values.size());
  if (variable.desc.dtype == DType::i32)
    std::transform(reinterpret_cast<const std::int32_t*>(variable.data),
                   reinterpret_cast<const std::int32_t*>(variable.data) + values.size(), values.begin(),
                   [](std::int32_t value) { return static_cast<float>(value); });
  else
    std::copy_n(reinterpret_cast<const float*>(variable.data), values.size(), values.begin());
}

std::vector<NodeTime> HostExecutable::profile(Entry which) {
  constexpr int kPasses = 3;  // the fastest counts: a node's time without what else the machine did
  CompiledEntry& entry = compiled(which);
  std::vector<NodeTime> times = entry.description;
  for (NodeTime& time : times) time.seconds = std::numeric_limits<double>::infinity();
  for (int pass = 0; pass < kPasses; ++pass)
    for (std::size_t i = 0; i < times.size(); ++i) {
      const double begin = now_seconds();
      if (entry.nodes[i].step) entry.nodes[i].step();
      times[i].seconds = std::min(times[i].seconds, now_seconds() - begin);
    }
  return times;
}

}  // namespace epochbench
