// Prepares batches ahead of the training loop, in background threads, right in the memory that a device takes them from.
//
// It is no sampler with replacement, and it does not augment: an epoch is every sample of the split once. What a batch holds
// depends on the data set, the seed, the epoch and the step only, not on the number of threads or their timing.
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
  std::int64_t batch = 0;
  std::uint64_t seed = 0;
  int threads = 1;
};

class Loader final : public BatchSource {
 public:
  // Batches that are ready or being filled while one is computed on.
  static constexpr int kPrefetchDepth = kInputSlots - 1;

  // Host memory of one input of a slot, as Executable::stage gives it; asked for once a slot, in the constructor.
  using Stage = std::function<std::span<std::byte>(InputSlot slot, int input)>;

  // `inputs`: how many a batch has; in an evaluation the last of two or more are the labels. The data set and the staged memory
  // must outlive the loader. Synthetic batches are all prepared here, one a slot, and next() then only hands them round.
  // Errors: DataError when an epoch would have no whole batch; std::invalid_argument when an input is no `batch` rows.
  Loader(const Dataset& dataset, const LoaderOptions& options, int inputs, const Stage& stage);
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Rethrows what a background thread met while it prepared this batch. A failed batch stays failed until begin_*().
  // Errors: std::logic_error before the first begin_*(), or when the caller holds every slot and waits for another.
  Batch next() override;
  void release(InputSlot slot) override;
  std::int64_t steps_per_epoch() const override { return train_steps_; }
  void begin_training(std::uint64_t epoch) override;
  void begin_evaluation() override;

  int prefetch_depth() const { return kPrefetchDepth; }

 private:
  enum class State : std::uint8_t { free, filling, ready, in_use };
  struct Position {  // of a batch in the pass that begin_*() started
    std::uint64_t pass = 0, sequence = 0;
    std::uint64_t epoch = 0;
    std::int64_t step = 0;
    Split split = Split::train;
  };
  struct Slot {
    std::vector<std::span<std::byte>> inputs;
    std::vector<std::uint32_t> indices;  // [batch] samples of the batch being filled
    State state = State::free;
    Position position;
    std::int64_t samples = 0;
    bool handed_out = false;  // synthetic: since it was filled
    std::exception_ptr error;
  };

  void begin(Split split, std::uint64_t epoch);
  void prepare_synthetic();
  void work(const std::stop_token& stop);
  std::optional<InputSlot> fillable() const;
  std::optional<InputSlot> claim();
  void fill(Slot& slot);

  const Dataset& dataset_;
  const LoaderOptions options_;
  const std::int64_t train_steps_, evaluation_steps_;
  EpochOrder order_;
  std::array<Slot, kInputSlots> slots_;

  std::mutex mutex_;  // guards what follows, and each slot's state, position, samples and error
  std::condition_variable_any work_to_do_;
  std::condition_variable batch_ready_;
  bool begun_ = false;
  Position upcoming_;                  // the next batch to fill
  std::uint64_t delivered_ = 0;        // batches of this pass
  std::vector<std::jthread> threads_;  // last, so that they end before what they use
};

}  // namespace epochbench
