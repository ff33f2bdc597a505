#include "src/data/loader.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "src/data/mixup.h"
#include "src/data/prepared_dataset.h"

namespace epochbench {
namespace {

// Whole batches of the training split.
std::int64_t training_steps(const Dataset& dataset, const LoaderOptions& options) {
  if (options.batch < 1) throw std::invalid_argument("loader: batch " + std::to_string(options.batch) + " is less than 1");
  const std::int64_t batch = options.batch * options.ranks;
  const std::int64_t samples = dataset.samples(Split::train);
  if (samples < batch) {
    throw DataError("data '" + dataset.name() + "' has " + std::to_string(samples) +
                    " training samples, fewer than a batch of " + std::to_string(batch) + ": use a batch of at most " +
                    std::to_string(samples) + " (--batch)");
  }
  return samples / batch;
}

// A single thread fills a whole batch. Several threads share it in more tasks than threads, as some are slower than others.
std::int64_t rows_of_a_task(const LoaderOptions& options) {
  constexpr std::int64_t kTasksPerThread = 4;
  if (options.threads < 2) return options.batch;
  const std::int64_t tasks = kTasksPerThread * options.threads;
  return std::max<std::int64_t>(1, (options.batch + tasks - 1) / tasks);
}

std::vector<std::span<std::byte>> inputs_of_part(const Loader::Stage& stage, InputSlot slot, int inputs, int part,
                                                 std::int64_t rows) {
  std::vector<std::span<std::byte>> memory;
  for (int input = 0; input < inputs; ++input) {
    memory.push_back(stage(slot, input, part));
    if (memory.back().size() % static_cast<std::size_t>(rows) != 0)
      throw std::invalid_argument("loader: input " + std::to_string(input) + " of " + std::to_string(memory.back().size()) +
                                  " bytes is not a batch of " + std::to_string(rows) + " rows");
  }
  return memory;
}

}  // namespace

Loader::Loader(const Dataset& dataset, const LoaderOptions& options, int inputs, const Stage& stage)
    : dataset_(dataset),
      options_(options),
      train_steps_(training_steps(dataset, options)),
      evaluation_steps_((dataset.samples(Split::test) + options.batch - 1) / options.batch),
      task_rows_(rows_of_a_task(options)),
      part_rows_(options.batch / std::max(options.parts, 1)),
      order_(options.order, dataset.synthetic() ? 0 : dataset.samples(Split::train), options.seed) {
  if (inputs < 1 || options.threads < 0) throw std::invalid_argument("loader: needs at least one input and at least 0 threads");
  if (options.parts < 1 || options.batch % options.parts != 0)
    throw std::invalid_argument("loader: a batch of " + std::to_string(options.batch) + " rows has no " +
                                std::to_string(options.parts) + " equal parts");
  for (InputSlot s = 0; s < kInputSlots; ++s) {
    Slot& slot = slots_[static_cast<std::size_t>(s)];
    for (int part = 0; part < options.parts; ++part) slot.inputs.push_back(inputs_of_part(stage, s, inputs, part, part_rows_));
    slot.indices.assign(static_cast<std::size_t>(options.batch), 0u);
  }
  if (dataset.synthetic()) {
    prepare_synthetic();
  } else {
    for (int t = 0; t < options.threads; ++t) threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
}

// The samples of the batches 0 .. kInputSlots - 1.
void Loader::prepare_synthetic() {
  for_all_rows(kInputSlots * options_.batch, [this](std::int64_t i) {
    const std::int64_t slot = i / options_.batch, row = i % options_.batch;
    fill_row(slots_[static_cast<std::size_t>(slot)], row, Split::train, first_sample(slot) + row, 0);
    write_share(slots_[static_cast<std::size_t>(slot)], row, slot, 0);
  });
}

void Loader::begin(Split split, std::uint64_t epoch) {
  {
    const std::lock_guard lock(mutex_);
    begun_ = true;
    upcoming_ = {upcoming_.pass + 1, 0, epoch, 0, split};
    delivered_ = 0;
    // A slot being filled belongs to the previous pass and is freed by its last thread; a slot in use, by release().
    for (Slot& slot : slots_) {
      if (slot.state != State::ready && (slot.state != State::filling || slot.workers > 0)) continue;
      slot.state = State::free;
      slot.error = nullptr;
    }
  }
  work_to_do_.notify_all();
}

void Loader::begin_training(std::uint64_t epoch) { begin(Split::train, epoch); }
void Loader::begin_evaluation() { begin(Split::test, 0); }

BatchSource::Batch Loader::next() {
  std::unique_lock lock(mutex_);
  if (!begun_) throw std::logic_error("loader: next() before begin_training() or begin_evaluation()");
  const bool evaluating = upcoming_.split == Split::test;
  if (evaluating && delivered_ == static_cast<std::uint64_t>(evaluation_steps_)) return {};
  if (dataset_.synthetic()) {
    const auto slot = static_cast<InputSlot>(delivered_++ % kInputSlots);
    const bool fresh = !std::exchange(slots_[static_cast<std::size_t>(slot)].handed_out, true);
    return {slot, options_.batch * options_.ranks, fresh};
  }

  const auto is_next = [this](const Slot& slot) {
    return slot.state == State::ready && slot.position.pass == upcoming_.pass && slot.position.sequence == delivered_;
  };
  for (;;) {
    const auto slot = std::find_if(slots_.begin(), slots_.end(), is_next);
    if (slot != slots_.end()) {
      waiting_ = false;
      if (slot->error) std::rethrow_exception(slot->error);
      slot->state = State::in_use;
      ++delivered_;
      if (fillable()) work_to_do_.notify_one();  // since there is one prefetched batch fewer
      return {static_cast<InputSlot>(slot - slots_.begin()), slot->samples * (evaluating ? 1 : options_.ranks)};
    }
    if (std::all_of(slots_.begin(), slots_.end(), [](const Slot& s) { return s.state == State::in_use; }))
      throw std::logic_error("loader: next() while every slot is in use; release() one first");
    waiting_ = true;
    if (options_.threads > 0) {
      if (!options_.prefetch) work_to_do_.notify_one();
      batch_ready_.wait(lock);
    } else {
      perform(claim().value(), lock);
    }
  }
}

void Loader::release(InputSlot slot) {
  if (slot < 0 || slot >= kInputSlots) throw std::logic_error("loader: there is no slot " + std::to_string(slot));
  if (dataset_.synthetic()) return;
  const std::lock_guard lock(mutex_);
  Slot& released = slots_[static_cast<std::size_t>(slot)];
  if (released.state != State::in_use)
    throw std::logic_error("loader: slot " + std::to_string(slot) + " is released but not in use");
  released.state = State::free;
  if (fillable()) work_to_do_.notify_one();
}

// A free slot, if there is a batch to fill it with now. Requires the lock.
Loader::Slot* Loader::fillable() {
  if (!begun_ || (upcoming_.split == Split::test && upcoming_.step == evaluation_steps_)) return nullptr;
  const int depth = prefetches() ? kPrefetchDepth : waiting_ ? 1 : 0;
  Slot* free = nullptr;
  int prefetched = 0;
  for (Slot& slot : slots_) {
    if (slot.state == State::free && !free) free = &slot;
    if (slot.state != State::free && slot.state != State::in_use) ++prefetched;
  }
  return prefetched < depth ? free : nullptr;
}

// Assigns rows of the earliest batch that has some left, or else the next batch to open. Requires the lock.
std::optional<Loader::Task> Loader::claim() {
  Slot* earliest = nullptr;
  for (Slot& slot : slots_)
    if (slot.state == State::filling && slot.position.pass == upcoming_.pass && slot.rows_claimed < slot.samples &&
        (!earliest || slot.position.sequence < earliest->position.sequence))
      earliest = &slot;
  if (earliest) {
    const std::int64_t first = earliest->rows_claimed, rows = std::min(task_rows_, earliest->samples - first);
    earliest->rows_claimed += rows;
    ++earliest->workers;
    return Task{earliest, false, first, rows};
  }
  Slot* const free = fillable();
  if (!free) return std::nullopt;
  free->state = State::opening;
  free->workers = 1;
  free->position = upcoming_;
  ++upcoming_.sequence;
  ++upcoming_.step;
  if (upcoming_.split == Split::train && upcoming_.step == train_steps_) {
    upcoming_.step = 0;
    ++upcoming_.epoch;
  }
  return Task{free, true, 0, 0};
}

void Loader::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  std::optional<Task> task;
  const auto claims = [&] { return (task = claim()).has_value(); };
  while (!stop.stop_requested() && work_to_do_.wait(lock, stop, claims)) perform(*task, lock);
}

// Does the task without the lock, and returns with it.
void Loader::perform(const Task& task, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  std::exception_ptr error;
  try {
    if (task.opens)
      open(*task.slot);
    else
      fill(*task.slot, task.first_row, task.rows);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  finish(task, error);
}

// Requires the lock.
void Loader::finish(const Task& task, const std::exception_ptr& error) {
  Slot& slot = *task.slot;
  --slot.workers;
  if (slot.position.pass != upcoming_.pass) {  // this batch is no longer needed
    if (slot.workers > 0) return;
    slot.state = State::free;
    slot.error = nullptr;
    if (fillable()) work_to_do_.notify_one();
    return;
  }
  if (task.opens) {
    slot.state = State::filling;
    if (options_.threads > 1) work_to_do_.notify_all();  // all threads may fill its rows
  }
  if (error) {
    if (!slot.error) slot.error = error;
    slot.rows_claimed = slot.samples;  // the others are not valid
  }
  if (slot.workers > 0 || slot.rows_claimed < slot.samples) return;
  slot.state = State::ready;
  batch_ready_.notify_one();
}

// Determines the samples of the batch, and fills rows without a sample with zeros, and labels of -1 (all bits set).
void Loader::open(Slot& slot) {
  const Position& position = slot.position;
  slot.samples = options_.batch;
  slot.rows_claimed = 0;
  if (position.split == Split::train) {
    order_.indices(position.epoch, first_sample(position.step), slot.indices);
    return;
  }
  const std::int64_t first = position.step * options_.batch;
  slot.samples = std::min(options_.batch, dataset_.samples(Split::test) - first);
  for (std::int64_t part = 0; part < options_.parts && slot.samples < options_.batch; ++part) {
    const auto& inputs = slot.inputs[static_cast<std::size_t>(part)];
    const std::int64_t filled = std::clamp<std::int64_t>(slot.samples - part * part_rows_, 0, part_rows_);
    for (std::size_t input = 0; input < inputs.size(); ++input) {
      const std::size_t row_bytes = inputs[input].size() / static_cast<std::size_t>(part_rows_);
      const std::span<std::byte> padding = inputs[input].subspan(row_bytes * static_cast<std::size_t>(filled));
      const bool labels = input > 0 && input + 1 == dataset_inputs(slot);
      std::memset(padding.data(), labels ? 0xff : 0, padding.size());
    }
  }
}

void Loader::fill(const Slot& slot, std::int64_t first_row, std::int64_t rows) const {
  const Position& position = slot.position;
  for (std::int64_t row = first_row; row < first_row + rows; ++row) {
    if (position.split == Split::train) {
      fill_row(slot, row, Split::train, slot.indices[static_cast<std::size_t>(row)], position.epoch);
      write_share(slot, row, position.step, position.epoch);
    } else {
      fill_row(slot, row, Split::test, position.step * options_.batch + row, 0);
    }
  }
}

void Loader::fill_row(const Slot& slot, std::int64_t row, Split split, std::int64_t sample, std::uint64_t epoch) const {
  const std::span<const std::span<std::byte>> inputs = slot.inputs[static_cast<std::size_t>(row / part_rows_)];
  dataset_.fill(split, sample, epoch, row % part_rows_, inputs.first(dataset_inputs(slot)));
}

// Both rows of a pair keep the same share. It depends on the position of the pair in the epoch, so that parts of a batch and
// ranks with an even number of rows have the same pairs as the whole batch.
void Loader::write_share(const Slot& slot, std::int64_t row, std::int64_t step, std::uint64_t epoch) const {
  if (options_.mixup == 0) return;
  const std::int64_t part = row / part_rows_, of_part = row % part_rows_, pair = part * part_rows_ + of_part - of_part % 2;
  const std::span<std::byte> shares = slot.inputs[static_cast<std::size_t>(part)].back();
  reinterpret_cast<float*>(shares.data())[of_part] =
      mixup_share(options_.mixup, {options_.seed, epoch, first_sample(step) + pair});
}

}  // namespace epochbench
