// The layout of a program in host memory, and running it.
#include "src/backend/host/host_executable.h"

#include "src/backend/host/stored_values.h"
#include "src/base/clock.h"

namespace epochbench {
namespace {

constexpr std::size_t kRecordsWithoutDrain = 65536;  // written once, so that a step does not allocate or fault

const float* gradient_of(ValueId id, const ValueMemory& memory, Share share) { return memory.get(id) + share.first; }
const Bf16* bf16_gradient(const Graph& graph, ValueId id, const ValueMemory& memory, Share share) {
  return graph.desc(id).dtype == DType::bf16 ? memory.get<Bf16>(id) + share.first : nullptr;
}

// Calls add(group, share) with the operands of each parameter of an optimizer node.
void for_each_parameter(const Graph& graph, const Node& node, int rank, const std::function<void(const ValueId*, Share)>& add) {
  const OptimizerLayout layout = optimizer_layout(node);
  for (int i = 0; i < layout.parameters; ++i) {
    const ValueId* group = &node.inputs[static_cast<std::size_t>(layout.first + i * layout.group)];
    add(group, owned_share(graph, group[OptimizerLayout::kWeight], layout.ranks, rank));
  }
}

}  // namespace

std::vector<SgdTensor> sgd_tensors(const Graph& graph, const Node& node, const ValueMemory& memory, int rank) {
  std::vector<SgdTensor> tensors;
  for_each_parameter(graph, node, rank, [&](const ValueId* group, Share share) {
    const ValueId gradient = group[OptimizerLayout::kGradient];
    tensors.push_back({memory.get(group[OptimizerLayout::kWeight]) + share.first, memory.get(group[OptimizerLayout::kState]),
                       gradient_of(gradient, memory, share), static_cast<std::int64_t>(share.count),
                       bf16_gradient(graph, gradient, memory, share)});
  });
  return tensors;
}

std::vector<AdamwTensor> adamw_tensors(const Graph& graph, const Node& node, const ValueMemory& memory, int rank) {
  const auto& decay = std::get<AdamwAttributes>(node.attributes).weight_decay;
  std::vector<AdamwTensor> tensors;
  for_each_parameter(graph, node, rank, [&](const ValueId* group, Share share) {
    const ValueId gradient = group[OptimizerLayout::kGradient], moments = OptimizerLayout::kState;
    tensors.push_back({memory.get(group[OptimizerLayout::kWeight]) + share.first, memory.get(group[moments]),
                       memory.get(group[moments + 1]), gradient_of(gradient, memory, share),
                       static_cast<std::int64_t>(share.count), decay[tensors.size()],
                       bf16_gradient(graph, gradient, memory, share)});
  });
  return tensors;
}

std::vector<GradientTensor> gradient_tensors(const Graph& graph, const Node& node, const ValueMemory& memory, int rank) {
  const std::int64_t ranks = std::get<ClipFactorAttributes>(node.attributes).ranks;
  std::vector<GradientTensor> tensors;
  for (ValueId id : node.inputs) {
    const Share share = owned_share(graph, id, ranks, rank);
    tensors.push_back(
        {gradient_of(id, memory, share), static_cast<std::int64_t>(share.count), bf16_gradient(graph, id, memory, share)});
  }
  return tensors;
}

HostExecutable::HostExecutable(const Program& program, int threads, const NodeCompiler& compile_node,
                               std::unique_ptr<BackgroundExchange> exchange)
    : layout_(program),
      variables_(layout_.variable_bytes()),
      slots_(layout_.slot_bytes() * kInputSlots),
      arena_(layout_.arena_bytes() + layout_.workspace_bytes()),
      exchange_(std::move(exchange)) {
  for (const HostMemory* memory : {&variables_, &slots_}) touch_first(memory->data(), memory->size(), threads);
  for (std::size_t i = 0; i < kEntryCount; ++i)
    if (program.entries[i]) compile_entry(static_cast<Entry>(i), *program.entries[i], threads, compile_node);
  touch_first(arena_.data(), arena_.size(), threads);
  finished_.resize(kRecordsWithoutDrain);
  finished_.clear();
  const EntryGraph *part = program.entry(Entry::train), *update = program.entry(Entry::update);
  if (exchange_ && part && update) exchange_order_ = exchange_order(*part, *update);
}

void HostExecutable::compile_entry(Entry which, const EntryGraph& entry, int threads, const NodeCompiler& compile_node) {
  const Graph& graph = entry.graph;
  auto& compiled = entries_[static_cast<std::size_t>(which)].emplace();
  compiled.memory = ValueMemory(layout_, entry, variables_.data(), slots_.data(), arena_.data());
  for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id) {
    const auto index = static_cast<std::size_t>(id);
    if (entry.plan.offset[index] != MemoryPlan::kNone)
      touch_first(compiled.memory.get<std::byte>(id), graph.desc(id).bytes(), threads);
  }
  compiled.compile(graph, [&](const Node& node) {
    return compile_node(graph, node, compiled.memory, arena_.data() + layout_.arena_bytes());
  });
}

std::span<std::byte> HostExecutable::stage(InputSlot slot, int input, int part) {
  return {slots_.data() + static_cast<std::size_t>(slot) * layout_.slot_bytes() + layout_.input_offset(input) +
              static_cast<std::size_t>(part) * layout_.part_bytes(input),
          layout_.inputs()[static_cast<std::size_t>(input)].desc.bytes()};
}

void HostExecutable::submit(InputSlot slot) {
  for (auto& entry : entries_)
    if (entry) entry->memory.select(slot);
}

void HostExecutable::run_step(Entry which) {
  const InputSlot slot = entry_of(entries_, which).memory.slot();
  if (which == Entry::train && !exchange_order_.empty())
    for_each_turn(entries_, exchange_order_, layout_.parts(), slot, [&](Turn::Kind kind, const CompiledNode* node) {
      if (kind == Turn::Kind::join)
        exchange_->join();
      else if (kind == Turn::Kind::begin)
        exchange_->begin(node->step);
      else if (node->step)
        node->step();
    });
  else
    for_each_part(entries_, which, layout_.parts(), slot, [](const auto& running) {
      for (const CompiledNode& node : running.nodes)
        if (node.step) node.step();
    });
}

void HostExecutable::run(Entry which) {
  const auto& entry = entry_of(entries_, which);
  const double begin = steady_seconds();
  run_step(which);
  StepRecord record{which, 0, 0, steady_seconds() - begin};
  if (entry.loss != kNoValue) record.loss = *entry.memory.get(entry.loss);
  if (entry.correct != kNoValue) record.correct = *entry.memory.get(entry.correct);
  finished_.push_back(record);
}

void HostExecutable::drain(std::vector<StepRecord>& records) {
  records.insert(records.end(), finished_.begin(), finished_.end());
  finished_.clear();
}

void HostExecutable::write(std::string_view name, std::span<const float> values) {
  layout_.whole_variable(name, values.size());
  write_part(name, 0, values);
}

void HostExecutable::write_part(std::string_view name, std::int64_t first, std::span<const float> values) {
  const auto& [desc, offset] = layout_.variable_part(name, first, values.size());
  store_values(variables_.data() + offset + static_cast<std::size_t>(first) * size_bytes(desc.dtype), values, desc.dtype);
}

void HostExecutable::read(std::string_view name, std::span<float> values) const {
  const auto& [desc, offset] = layout_.whole_variable(name, values.size());
  load_values(values, variables_.data() + offset, desc.dtype);
}

std::map<std::string, std::int64_t> HostExecutable::chosen_algorithms() const {
  std::map<std::string, std::int64_t> chosen;
  for (const auto& entry : entries_)
    if (entry)
      for (const CompiledNode& node : entry->nodes)
        if (!node.chosen.empty()) ++chosen[node.chosen];
  return chosen;
}

std::vector<NodeTime> HostExecutable::profile(Entry which, int passes) {
  const auto& entry = entry_of(entries_, which);
  std::vector<NodeTime> nodes = describe_step(entries_, which, layout_.parts());
  PassTimes times(nodes.size(), passes);
  for (int pass = 0; pass < passes; ++pass) {
    std::vector<double> seconds(nodes.size());
    double begin = steady_seconds();
    for_each_part(entries_, which, layout_.parts(), entry.memory.slot(), [&](const auto& running) {
      const std::size_t first = &running == &entry ? 0 : entry.nodes.size();
      for (std::size_t i = 0; i < running.nodes.size(); ++i) {
        if (running.nodes[i].step) running.nodes[i].step();
        const double end = steady_seconds();
        seconds[first + i] += end - begin;
        begin = end;
      }
    });
    for (std::size_t i = 0; i < nodes.size(); ++i) times.add(i, seconds[i]);
  }
  times.set_medians(nodes);
  return nodes;
}

}  // namespace epochbench
