// Prefetches batches in background threads, directly into the memory that a device reads.
//
// It does not sample with replacement or augment: an epoch has every sample of the split once. The contents of a batch depend
// only on the data set, the seed, the epoch and the step, not on the number of threads or their timing.
//
// The threads divide the rows of the earliest incomplete batch; a thread that finds no row left begins the next batch.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "epochbench/batch_source.h"
#include "epochbench/dataset.h"
#include "src/data/order.h"

namespace epochbench {

struct LoaderOptions {
  Order order = Order::shuffled;  // of the training split; the test split is always read in order
  std::int64_t batch = 0;         // rows; of a batch that ranks share, those of this rank
  int parts = 1;                  // of these rows, each with memory of its own
  int rank = 0,
      ranks = 1;     // in training, rank after rank has `batch` rows of each batch; each may evaluate all of the test split
  double mixup = 0;  // above 0: the last input is f32 [rows], in training the share that each row keeps beside its neighbor
  std::uint64_t seed = 0;
  int threads = 1;       // in the background; 0: the thread that calls next() fills the batch, which counts as waiting
  bool prefetch = true;  // false: a batch is begun when next() asks for it; also without threads
};

class Loader final : public BatchSource {
 public:
  // Batches that are ready or being filled while one is in use, with prefetching.
  static constexpr int kPrefetchDepth = kInputSlots - 1;

  // Host memory of one input of a part of a slot's batch, from Executable::stage; requested once, in the constructor.
  using Stage = std::function<std::span<std::byte>(InputSlot slot, int input, int part)>;

  // `inputs`: inputs per batch; in an evaluation, the last of two or more, apart from shares, are the labels. The data set and
  // the staged memory must outlive the loader. Synthetic batches are all prepared here, one per slot, and next() returns them
  // in turn. Errors: DataError if an epoch has no whole batch; std::invalid_argument if an input is not the rows of a part.
  Loader(const Dataset& dataset, const LoaderOptions& options, int inputs, const Stage& stage);
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Rethrows the exception of a background thread that prepared this batch. A failed batch stays failed until begin_*().
  // Errors: std::logic_error before the first begin_*(), or if the caller holds every slot and asks for another.
  Batch next() override;
  void release(InputSlot slot) override;
  std::int64_t steps_per_epoch() const override { return train_steps_; }
  void begin_training(std::uint64_t epoch) override;
  void begin_evaluation() override;
  bool resident() const override { return dataset_.synthetic(); }

  bool prefetches() const { return options_.prefetch && options_.threads > 0; }

 private:
  enum class State : std::uint8_t { free, opening, filling, ready, in_use };
  struct Position {  // where a batch is in the pass that begin_*() started
    std::uint64_t pass = 0, sequence = 0;
    std::uint64_t epoch = 0;
    std::int64_t step = 0;
    Split split = Split::train;
  };
  struct Slot {
    std::vector<std::vector<std::span<std::byte>>> inputs;  // by part
    std::vector<std::uint32_t> indices;                     // [batch] samples of the batch being filled; set when it is opened
    State state = State::free;
    Position position;
    std::int64_t samples = 0, rows_claimed = 0;  // valid rows, and those that a thread has claimed
    int workers = 0;                             // threads that fill it
    bool handed_out = false;                     // synthetic: returned since it was filled
    std::exception_ptr error;
  };

  // The next work of a thread: open the slot's batch, or fill some of its rows.
  struct Task {
    Slot* slot;
    bool opens;
    std::int64_t first_row, rows;
  };

  void begin(Split split, std::uint64_t epoch);
  void prepare_synthetic();
  void work(const std::stop_token& stop);
  Slot* fillable();
  std::optional<Task> claim();
  void perform(const Task& task, std::unique_lock<std::mutex>& lock);
  void finish(const Task& task, const std::exception_ptr& error);
  void open(Slot& slot);
  std::int64_t first_sample(std::int64_t step) const {  // of this rank's rows of a training batch, in the order of the epoch
    return (step * options_.ranks + options_.rank) * options_.batch;
  }
  void fill(const Slot& slot, std::int64_t first_row, std::int64_t rows) const;
  void fill_row(const Slot& slot, std::int64_t row, Split split, std::int64_t sample, std::uint64_t epoch) const;
  void write_share(const Slot& slot, std::int64_t row, std::int64_t step, std::uint64_t epoch) const;
  std::size_t dataset_inputs(const Slot& slot) const { return slot.inputs.front().size() - (options_.mixup > 0 ? 1 : 0); }

  const Dataset& dataset_;
  const LoaderOptions options_;
  const std::int64_t train_steps_, evaluation_steps_, task_rows_, part_rows_;
  EpochOrder order_;
  std::array<Slot, kInputSlots> slots_;

  std::mutex mutex_;  // guards the members below, and all of a slot except its memory and indices
  std::condition_variable_any work_to_do_;
  std::condition_variable batch_ready_;
  bool begun_ = false, waiting_ = false;  // waiting_: next() waits for a batch
  Position upcoming_;                     // the next batch to fill
  std::uint64_t delivered_ = 0;           // batches of this pass
  std::vector<std::jthread> threads_;     // last, so that they end before the members that they use
};

}  // namespace epochbench
