// The layout of a program in device memory, the capture of its steps, and running them.
#include "src/backend/cuda/cuda_executable.h"

#include <algorithm>
#include <deque>
#include <stdexcept>

#include "src/backend/host/stored_values.h"

namespace epochbench {
namespace {

constexpr std::size_t kRecordsWithoutDrain = 65536;  // reserved, so that a step does not allocate

}  // namespace

const void* DeviceTables::upload(const void* values, std::size_t bytes) {
  void* const memory = memory_.emplace_back(device_, bytes).data();
  if (bytes > 0) device_.copy_to_device(memory, values, bytes, stream_);
  device_.synchronize(stream_);
  return memory;
}

CudaExecutable::Streams::Streams(cuda::Device& owner, bool exchanges)
    : device(owner), compute(owner, owner.make_stream()), copy(owner, owner.make_stream()) {
  if (exchanges) exchange = {owner, owner.make_stream()};
}

CudaExecutable::Streams::~Streams() {
  for (const auto* stream : {&exchange, &copy, &compute}) {
    try {
      if (stream->get()) device.synchronize(stream->get());
    } catch (const std::exception&) {  // the device failed and runs nothing more; a caller that waited for a step got the error
    }
  }
}

CudaExecutable::CudaExecutable(std::shared_ptr<cuda::Device> device, const Program& program, const CudaCompiler& compile,
                               bool captures, const CudaRanks& ranks)
    : device_(std::move(device)),
      captures_(captures),
      in_use_before_(device_->bytes_in_use()),
      layout_(program),
      variables_(*device_, layout_.variable_bytes()),
      arena_(*device_, layout_.arena_bytes() + layout_.workspace_bytes()),
      slots_(*device_, layout_.slot_bytes() * kInputSlots),
      cursor_(*device_, sizeof(std::uint32_t)),
      staged_(*device_, layout_.slot_bytes() * kInputSlots),
      scalars_(*device_, sizeof(cuda::StepScalars) * kRing),
      settings_(*device_, sizeof(float) * kRing),
      streams_(*device_, ranks.collectives != nullptr) {
  for (Step& step : steps_) {
    step.begin = {*device_, device_->make_event()};
    step.arrived = {*device_, device_->make_event()};
    step.end = {*device_, device_->make_event()};
  }
  for (auto& event : copied_) event = {*device_, device_->make_event()};
  tables_.emplace(*device_, compute());
  finished_.reserve(kRecordsWithoutDrain);
  std::fill_n(staged_.data(), staged_.size(), std::byte{0});
  if (ranks.collectives) exchange_.emplace(*device_, ranks, compute(), streams_.exchange.get(), kRing);

  compile_entries(program, compile);
  if (exchange_ && program.entry(Entry::train) && program.entry(Entry::update)) {
    const EntryGraph& update = *program.entry(Entry::update);
    exchange_order_ = exchange_order(*program.entry(Entry::train), update);
    exchange_->set_traffic_of_step(exchanged_by(update.graph, entry_of(entries_, Entry::update).memory, exchange_->ranks()));
  }
  for (Entry which : runnable()) {
    clear_all();  // removes values of tuning and of the previous entry: ids and labels of 0 are valid
    enqueue_step(which, 0);
    device_->synchronize(compute());
  }
  for (Entry which : runnable())
    for (InputSlot slot = 0; captures_ && slot < kInputSlots; ++slot)
      entry_of(entries_, which).graphs[static_cast<std::size_t>(slot)] =
          cuda::captured(*device_, compute(), [&] { enqueue_step(which, slot); });
  clear_all();
  device_->synchronize(compute());
}

// The entries that run() takes; an update runs within a training step.
std::vector<Entry> CudaExecutable::runnable() const {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < kEntryCount; ++i)
    if (entries_[i] && static_cast<Entry>(i) != Entry::update) entries.push_back(static_cast<Entry>(i));
  return entries;
}

void CudaExecutable::clear_all() {
  for (const cuda::DeviceMemory* memory : {&variables_, &slots_, &cursor_})
    if (memory->size() > 0) device_->clear(memory->data(), memory->size(), compute());
  if (layout_.arena_bytes() > 0) device_->clear(arena_.data(), layout_.arena_bytes(), compute());
}

void CudaExecutable::compile_entries(const Program& program, const CudaCompiler& compile) {
  std::deque<CudaNodeContext> contexts;  // by entry
  std::vector<CudaNodePlace> places;
  for (std::size_t i = 0; i < kEntryCount; ++i)
    if (const auto& entry = program.entries[i]) {
      CudaEntry& compiled = entries_[i].emplace();
      compiled.memory = ValueMemory(layout_, *entry, variables_.data(), slots_.data(), arena_.data());
      contexts.push_back(
          {compiled.memory, arena_.data() + layout_.arena_bytes(), compute(), *tables_, exchange_ ? &*exchange_ : nullptr});
      for (const Node& node : entry->graph.nodes) places.push_back({entry->graph, node, contexts.back()});
    }
  std::vector<CudaNode> nodes = compile(places);
  auto next = nodes.begin();
  for (std::size_t i = 0; i < kEntryCount; ++i)
    if (entries_[i]) entries_[i]->compile(program.entries[i]->graph, [&](const Node&) { return std::move(*next++); });
}

void CudaExecutable::enqueue_scalars(const CudaEntry& entry) {
  auto address = [&](ValueId id) { return id == kNoValue ? nullptr : entry.memory.get<const float>(id); };
  cuda::record_step(scalars(), cursor(), static_cast<std::uint32_t>(kRing), address(entry.loss), address(entry.correct),
                    compute());
}

void CudaExecutable::enqueue_step(Entry which, InputSlot slot) {
  if (which == Entry::train && !exchange_order_.empty()) {
    for_each_turn(entries_, exchange_order_, layout_.parts(), slot, [&](Turn::Kind kind, const CudaNode* node) {
      if (kind == Turn::Kind::join)
        exchange_->join();
      else if (kind == Turn::Kind::begin)
        exchange_->begin(node->enqueue);
      else if (node->enqueue)
        node->enqueue(compute());
    });
  } else {
    for_each_part(entries_, which, layout_.parts(), slot, [&](const CudaEntry& running) {
      for (const CudaNode& node : running.nodes)
        if (node.enqueue) node.enqueue(compute());
    });
  }
  if (exchange_) exchange_->record_waiting(cursor());
  enqueue_scalars(entry_of(entries_, which));
}

void CudaExecutable::start_step(Entry which, InputSlot slot) {
  if (captures_)
    device_->launch(entry_of(entries_, which).graphs[static_cast<std::size_t>(slot)].get(), compute());
  else
    enqueue_step(which, slot);
}

std::span<std::byte> CudaExecutable::stage(InputSlot slot, int input, int part) {
  return {staged_.data() + static_cast<std::size_t>(slot) * layout_.slot_bytes() + layout_.input_offset(input) +
              static_cast<std::size_t>(part) * layout_.part_bytes(input),
          layout_.inputs()[static_cast<std::size_t>(input)].desc.bytes()};
}

void CudaExecutable::submit(InputSlot slot) {
  const auto index = static_cast<std::size_t>(slot);
  submitted_ = slot;
  if (layout_.slot_bytes() == 0) return;
  if (reader_[index] && *reader_[index] >= collected_) device_->wait(copy(), ring(*reader_[index]).end.get());
  const std::size_t offset = index * layout_.slot_bytes();
  device_->copy_to_device(slots_.data() + offset, staged_.data() + offset, layout_.slot_bytes(), copy());
  device_->record(copied_[index].get(), copy());
  unseen_[index] = true;
}

void CudaExecutable::run(Entry which) {
  entry_of(entries_, which);  // throws if the program lacks the entry
  const auto slot = static_cast<std::size_t>(submitted_);
  if (launched_ - collected_ == kStepsUnderWay) await(kStepsUnderWay - 1);
  Step& step = ring(launched_);
  step.entry = which;
  step.from_begin = idle_;
  step.fresh = unseen_[slot];
  device_->record(step.begin.get(), compute());  // before the wait: the transfer of a late batch counts
  if (step.fresh) {
    device_->wait(compute(), copied_[slot].get());
    device_->record(step.arrived.get(), compute());
  }
  start_step(which, submitted_);
  device_->record(step.end.get(), compute());
  unseen_[slot] = false;
  idle_ = false;
  reader_[slot] = launched_;
  ++launched_;
}

void CudaExecutable::collect() {
  for (; collected_ < launched_ && device_->done(ring(collected_).end.get()); ++collected_) {
    const Step& step = ring(collected_);
    const cuda::Event before = step.from_begin ? step.begin.get() : ring(collected_ - 1).end.get();
    const cuda::StepScalars& values = scalars()[collected_ % kRing];
    StepRecord& record = finished_.emplace_back();
    record.entry = step.entry;
    record.loss = values.loss;
    record.correct = values.correct;
    record.device_seconds = device_->seconds_between(before, step.end.get());
    record.idle_seconds = step.from_begin ? 0 : device_->seconds_between(before, step.begin.get());
    record.arrival_seconds = step.fresh ? device_->seconds_between(step.begin.get(), step.arrived.get()) : 0;
    if (step.entry == Entry::train && !exchange_order_.empty()) exchange_->count_step(collected_);
  }
}

int CudaExecutable::under_way() const {
  std::uint64_t done = collected_;
  while (done < launched_ && device_->done(ring(done).end.get())) ++done;
  return static_cast<int>(launched_ - done);
}

void CudaExecutable::await(int steps) {
  const std::uint64_t most = static_cast<std::uint64_t>(std::max(steps, 0));
  if (launched_ - collected_ > most) device_->synchronize(ring(launched_ - most - 1).end.get());
  collect();
}

void CudaExecutable::drain(std::vector<StepRecord>& records) {
  collect();
  records.insert(records.end(), finished_.begin(), finished_.end());
  finished_.clear();
}

void CudaExecutable::synchronize() {
  device_->synchronize(compute());
  if (std::any_of(unseen_.begin(), unseen_.end(), [](bool unseen) { return unseen; })) {
    device_->synchronize(copy());
    unseen_.fill(false);
  }
  collect();
  idle_ = true;
}

void CudaExecutable::write(std::string_view name, std::span<const float> values) {
  layout_.whole_variable(name, values.size());
  write_part(name, 0, values);
}

void CudaExecutable::write_part(std::string_view name, std::int64_t first, std::span<const float> values) {
  const auto& [desc, offset] = layout_.variable_part(name, first, values.size());
  if (values.empty()) return;
  std::byte* to = variables_.data() + offset + static_cast<std::size_t>(first) * size_bytes(desc.dtype);
  std::vector<std::byte> stored(values.size() * size_bytes(desc.dtype));
  store_values(stored.data(), values, desc.dtype);
  device_->copy_to_device(to, stored.data(), stored.size(), compute());  // after the steps that are running
  device_->synchronize(compute());
}

// The value stays in pinned memory until the step after it is done, so that it is copied between two steps without a wait.
void CudaExecutable::set(std::string_view name, float value) {
  const auto& [desc, offset] = layout_.whole_variable(name, 1);
  if (desc.dtype != DType::f32) throw std::invalid_argument("variable " + std::string(name) + " is not f32");
  const std::size_t entry = set_++ % kRing;
  if (setting_of_[entry] && *setting_of_[entry] >= collected_) {
    device_->synchronize(compute());
    collect();
  }
  float* const from = reinterpret_cast<float*>(settings_.data()) + entry;
  *from = value;
  setting_of_[entry] = launched_;
  device_->copy_to_device(variables_.data() + offset, from, sizeof value, compute());
}

void CudaExecutable::read(std::string_view name, std::span<float> values) const {
  const auto& [desc, offset] = layout_.whole_variable(name, values.size());
  if (values.empty()) return;
  std::vector<std::byte> stored(values.size() * size_bytes(desc.dtype));
  device_->copy_to_host(stored.data(), variables_.data() + offset, stored.size(), compute());
  device_->synchronize(compute());
  load_values(values, stored.data(), desc.dtype);
}

bool CudaExecutable::library_dropout_masks() const {
  for (const auto& entry : entries_)
    if (entry &&
        std::any_of(entry->nodes.begin(), entry->nodes.end(), [](const CudaNode& node) { return node.library_dropout; }))
      return true;
  return false;
}

std::map<std::string, std::int64_t> CudaExecutable::chosen_algorithms() const {
  std::map<std::string, std::int64_t> chosen;
  for (const auto& entry : entries_)
    for (std::size_t i = 0; entry && i < entry->nodes.size(); ++i)
      if (entry->nodes[i].has_algorithms)
        ++chosen[name(entry->description[i].op) + (": " + entry->description[i].implementation)];
  return chosen;
}

std::optional<double> CudaExecutable::blind_seconds(Entry which) const {
  double sum = 0;
  const auto add = [&](const CudaEntry& entry, int runs) {
    for (const CudaNode& node : entry.nodes) {
      if (node.has_algorithms && !node.blind_seconds) return false;
      sum += runs * node.blind_seconds.value_or(0);
    }
    return true;
  };
  const auto& update = entries_[static_cast<std::size_t>(Entry::update)];
  bool known = add(entry_of(entries_, which), layout_.parts());
  if (which == Entry::train && update) known &= add(*update, 1);
  return known ? std::optional(sum) : std::nullopt;
}

// Nodes are enqueued one by one with events between them. If a kernel takes less time than its enqueueing, the wait would count
// as its time, so whole steps run first while the pass after them is enqueued. This helps most with captured steps; without
// capture, the remaining wait is part of whole steps too.
std::vector<NodeTime> CudaExecutable::profile(Entry which, int passes) {
  constexpr double kEnqueueSeconds = 20e-6;  // of a node and its event: twice the longest launch that was measured
  constexpr double kMaxLeadingSteps = 200;   // a step is never so short that more would be needed
  const CudaEntry& entry = entry_of(entries_, which);
  const auto slot = static_cast<std::size_t>(submitted_);
  std::vector<NodeTime> nodes = describe_step(entries_, which, layout_.parts());
  PassTimes times(nodes.size(), passes);
  std::vector<std::size_t> enqueued;  // nodes of a step, in their order: those of a part once per part
  for_each_part(entries_, which, layout_.parts(), submitted_, [&](const CudaEntry& running) {
    const std::size_t first = &running == &entry ? 0 : entry.nodes.size();
    for (std::size_t i = 0; i < running.nodes.size(); ++i) enqueued.push_back(first + i);
  });
  std::vector<cuda::Owned<cuda::Event>> marks;
  for (std::size_t i = 0; i <= enqueued.size(); ++i) marks.emplace_back(*device_, device_->make_event());
  synchronize();
  if (unseen_[slot]) device_->wait(compute(), copied_[slot].get());
  unseen_[slot] = false;

  auto launch_steps = [&](int count) {
    for (int i = 0; i < count; ++i) start_step(which, submitted_);
  };
  device_->record(marks.front().get(), compute());
  launch_steps(1);
  device_->record(marks.back().get(), compute());
  device_->synchronize(compute());
  const double step_seconds = device_->seconds_between(marks.front().get(), marks.back().get());
  const double leading_steps = kEnqueueSeconds * static_cast<double>(enqueued.size()) / std::max(step_seconds, 1e-9);
  for (int pass = 0; pass < passes; ++pass) {
    launch_steps(1 + static_cast<int>(std::min(leading_steps, kMaxLeadingSteps)));
    device_->record(marks.front().get(), compute());
    std::size_t mark = 0;
    for_each_part(entries_, which, layout_.parts(), submitted_, [&](const CudaEntry& running) {
      for (const CudaNode& node : running.nodes) {
        if (node.enqueue) node.enqueue(compute());
        device_->record(marks[++mark].get(), compute());
      }
    });
    device_->synchronize(compute());
    std::vector<double> seconds(nodes.size());
    for (std::size_t i = 0; i < enqueued.size(); ++i)
      seconds[enqueued[i]] += device_->seconds_between(marks[i].get(), marks[i + 1].get());
    for (std::size_t i = 0; i < nodes.size(); ++i) times.add(i, seconds[i]);
  }
  // The leading steps advanced the ring's cursor, but have no record.
  const auto count = static_cast<std::uint32_t>(launched_ % kRing);
  device_->copy_to_device(cursor(), &count, sizeof count, compute());
  device_->synchronize(compute());
  times.set_medians(nodes);
  return nodes;
}

}  // namespace epochbench
