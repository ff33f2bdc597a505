#include "src/data/loader.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace epochbench {
namespace {

// Whole batches of the training split.
std::int64_t training_steps(const Dataset& dataset, std::int64_t batch) {
  if (batch < 1) throw std::invalid_argument("loader: batch " + std::to_string(batch) + " is less than 1");
  const std::int64_t samples = dataset.samples(Split::train);
  if (samples < batch) {
    throw DataError("data '" + dataset.name() + "' has " + std::to_string(samples) +
                    " training samples, fewer than a batch of " + std::to_string(batch) + ": take a batch of at most " +
                    std::to_string(samples) + " (--batch)");
  }
  return samples / batch;
}

}  // namespace

Loader::Loader(const Dataset& dataset, const LoaderOptions& options, int inputs, const Stage& stage)
    : dataset_(dataset),
      options_(options),
      train_steps_(training_steps(dataset, options.batch)),
      evaluation_steps_((dataset.samples(Split::test) + options.batch - 1) / options.batch),
      order_(options.order, dataset.synthetic() ? 0 : dataset.samples(Split::train), options.seed) {
  if (inputs < 1 || options.threads < 1) throw std::invalid_argument("loader: needs at least one input and one thread");
  for (InputSlot s = 0; s < kInputSlots; ++s) {
    Slot& slot = slots_[static_cast<std::size_t>(s)];
    for (int input = 0; input < inputs; ++input) {
      slot.inputs.push_back(stage(s, input));
      if (slot.inputs.back().size() % static_cast<std::size_t>(options.batch) != 0) {
        throw std::invalid_argument("loader: input " + std::to_string(input) + " of " +
                                    std::to_string(slot.inputs.back().size()) + " bytes is no batch of " +
                                    std::to_string(options.batch) + " rows");
      }
    }
    slot.indices.assign(static_cast<std::size_t>(options.batch), 0u);
  }
  if (dataset.synthetic()) {
    prepare_synthetic();
  } else {
    for (int t = 0; t < options.threads; ++t) threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
}

// The samples 0 .. kInputSlots * batch - 1, drawn by as many threads as may run here: nothing else does yet.
void Loader::prepare_synthetic() {
  const std::int64_t rows = kInputSlots * options_.batch;
  const std::int64_t workers = std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, rows);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(workers));
  std::vector<std::jthread> threads;
  for (std::int64_t w = 0; w < workers; ++w) {
    threads.emplace_back([this, w, workers, rows, &error = errors[static_cast<std::size_t>(w)]] {
      try {
        for (std::int64_t i = w * rows / workers; i < (w + 1) * rows / workers; ++i) {
          const Slot& slot = slots_[static_cast<std::size_t>(i / options_.batch)];
          dataset_.fill(Split::train, i, 0, i % options_.batch, slot.inputs);
        }
      } catch (...) {
        error = std::current_exception();
      }
    });
  }
  threads.clear();  // joins
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

void Loader::begin(Split split, std::uint64_t epoch) {
  {
    const std::lock_guard lock(mutex_);
    begun_ = true;
    upcoming_ = {upcoming_.pass + 1, 0, epoch, 0, split};
    delivered_ = 0;
    // A slot being filled belongs to the former pass now and is freed by its thread; one in use, by release().
    for (Slot& slot : slots_) {
      if (slot.state != State::ready) continue;
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
    return {slot, options_.batch, fresh};
  }

  const auto is_next = [this](const Slot& slot) {
    return slot.state == State::ready && slot.position.pass == upcoming_.pass && slot.position.sequence == delivered_;
  };
  for (;;) {
    const auto slot = std::find_if(slots_.begin(), slots_.end(), is_next);
    if (slot != slots_.end()) {
      if (slot->error) std::rethrow_exception(slot->error);
      slot->state = State::in_use;
      ++delivered_;
      if (fillable()) work_to_do_.notify_one();  // as one fewer is prefetched
      return {static_cast<InputSlot>(slot - slots_.begin()), slot->samples};
    }
    if (std::all_of(slots_.begin(), slots_.end(), [](const Slot& s) { return s.state == State::in_use; }))
      throw std::logic_error("loader: next() while every slot is in use; release() one first");
    batch_ready_.wait(lock);
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

// A free slot, if there is a batch to put into it now. Under the lock.
std::optional<InputSlot> Loader::fillable() const {
  if (!begun_ || (upcoming_.split == Split::test && upcoming_.step == evaluation_steps_)) return std::nullopt;
  std::optional<InputSlot> free;
  int ahead = 0;
  for (InputSlot s = 0; s < kInputSlots; ++s) {
    const State state = slots_[static_cast<std::size_t>(s)].state;
    if (state == State::free && !free) free = s;
    if (state == State::filling || state == State::ready) ++ahead;
  }
  return ahead < kPrefetchDepth ? free : std::nullopt;
}

// Gives the calling thread the next batch to fill and a slot for it. Under the lock.
std::optional<InputSlot> Loader::claim() {
  const std::optional<InputSlot> free = fillable();
  if (!free) return std::nullopt;
  Slot& slot = slots_[static_cast<std::size_t>(*free)];
  slot.state = State::filling;
  slot.position = upcoming_;
  ++upcoming_.sequence;
  ++upcoming_.step;
  if (upcoming_.split == Split::train && upcoming_.step == train_steps_) {
    upcoming_.step = 0;
    ++upcoming_.epoch;
  }
  return free;
}

void Loader::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  std::optional<InputSlot> claimed;
  const auto claims = [&] { return (claimed = claim()).has_value(); };
  while (!stop.stop_requested() && work_to_do_.wait(lock, stop, claims)) {
    Slot& slot = slots_[static_cast<std::size_t>(*claimed)];
    lock.unlock();
    std::exception_ptr error;
    try {
      fill(slot);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    const bool wanted = slot.position.pass == upcoming_.pass;
    slot.state = wanted ? State::ready : State::free;
    slot.error = wanted ? std::exchange(error, nullptr) : nullptr;
    batch_ready_.notify_one();
  }
}

void Loader::fill(Slot& slot) {
  const Position& position = slot.position;
  const std::int64_t first = position.step * options_.batch;
  std::int64_t samples = options_.batch;
  if (position.split == Split::train) {
    order_.indices(position.epoch, first, slot.indices);
    for (std::int64_t row = 0; row < samples; ++row)
      dataset_.fill(Split::train, slot.indices[static_cast<std::size_t>(row)], position.epoch, row, slot.inputs);
  } else {
    samples = std::min(samples, dataset_.samples(Split::test) - first);
    for (std::int64_t row = 0; row < samples; ++row) dataset_.fill(Split::test, first + row, 0, row, slot.inputs);
    // The rows that are left carry zeros, and labels of -1, all bits set.
    for (std::size_t input = 0; input < slot.inputs.size() && samples < options_.batch; ++input) {
      const std::span<std::byte> memory = slot.inputs[input];
      const std::size_t row_bytes = memory.size() / static_cast<std::size_t>(options_.batch);
      const std::span<std::byte> padding = memory.subspan(row_bytes * static_cast<std::size_t>(samples));
      const bool labels = input > 0 && input + 1 == slot.inputs.size();
      std::memset(padding.data(), labels ? 0xff : 0, padding.size());
    }
  }
  slot.samples = samples;
}

}  // namespace epochbench
