// The step loop of one case: drives an executable and its batches, and reads the clock. It is independent of the device and
// decides nothing: the parent says how many steps to take, and when to stop.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "epochbench/batch_source.h"
#include "epochbench/executable.h"
#include "src/base/clock.h"
#include "src/result/measurements.h"
#include "src/worker/step_block.h"

namespace epochbench {

class Diverged : public std::runtime_error {  // the loss is not a number, or too large to be useful
 public:
  using std::runtime_error::runtime_error;
};

// A loss this many times the first one (or 1, if that was less) is divergence: no useful training recovers from there.
inline constexpr double kDivergedRatio = 1000;
// Steps in flight on an asynchronous device: one runs, one waits. Batches that are already on the device need no slot of their
// own, so more of their steps wait: a step may be shorter than the host takes to wake up after the previous one.
inline constexpr int kQueuedSteps = 2, kQueuedResidentSteps = 8;

using UsageMeter = std::function<Usage()>;
// How often this process has been continued after a stop (SIGSTOP, Ctrl-Z) since the first call.
std::int64_t times_continued();
Usage read_usage();  // of this process and this machine, now; cheap enough around each block of steps
// Non-idle seconds of all CPUs, from the first line of /proc/stat; time stolen by a hypervisor counts as busy.
std::optional<double> parse_busy_seconds(const char* stat, double ticks_per_second);

// Called after each step, while its batch is still in the slot; the time that this takes is not measured.
using StepObserver = std::function<void(InputSlot slot, double loss)>;

// The learning rate of a step, counted from 0, where a schedule decides it.
using LearningRate = std::function<double(std::int64_t step)>;

class Runner {
 public:
  // `entry` is what steps run: train or forward. `executable` and `batches` must outlive the runner.
  Runner(Executable& executable, BatchSource& batches, Entry entry, Clock clock, UsageMeter meter,
         StepObserver observer = nullptr, LearningRate learning_rate = nullptr);

  void begin_epoch(std::uint64_t epoch) { batches_.begin_training(epoch); }
  // Takes 1 to kBlockSteps steps, on an asynchronous device 1 to kQueuedBlockSteps. The block is valid until the next call.
  // Before the first step, batches that stay in their slots are copied to an asynchronous device. Errors: Diverged with the
  // step's number, counted from the first that this runner took; whatever executable and batches throw.
  const StepBlock& steps(std::int64_t count) { return take(count, true); }
  // The same, but not counted by the learning-rate schedule: all steps have the rate of the next counted step.
  const StepBlock& warm_up(std::int64_t count) { return take(count, false); }
  // Takes `count` steps one at a time: each begins when the previous one is complete, and its batch is copied to the device
  // even if it is there already. step_seconds of the returned block are those from submitting a batch to the end of its step,
  // by the host's clock, without those of steps that were stopped; valid until the next call. Errors: as for steps.
  const StepBlock& latencies(std::int64_t count);
  // How many steps of the block that is being taken are done; any thread may ask.
  std::int64_t steps_done() const { return done_.load(std::memory_order_relaxed); }
  // The whole test split, once. Call begin_epoch before the next step. Errors: std::runtime_error without any sample.
  Evaluation evaluate(std::int64_t labels_per_sample = 1);
  // Steps of `entry` on one batch, timed node by node; continues training, so it comes after everything that counts. Call
  // begin_epoch before the next step.
  Profile profile();

 private:
  const StepBlock& take(std::int64_t count, bool counted);
  void run_step();
  std::int64_t max_steps() const { return executable_.asynchronous() ? kQueuedBlockSteps : kBlockSteps; }
  void clear_block(std::int64_t count);
  void fill_slots();
  double take_one_by_one(std::int64_t count);  // returns the seconds that the observer took
  void take_queued(std::int64_t count);
  void await_batch();
  void submit(const BatchSource::Batch& batch);
  void account_for_device();
  void collect_losses(std::int64_t count);

  Executable& executable_;
  BatchSource& batches_;
  Entry entry_;
  Clock clock_;
  UsageMeter meter_;
  StepObserver observer_;
  LearningRate learning_rate_;
  StepBlock block_;
  std::vector<StepRecord> records_;
  std::int64_t taken_ = 0;
  std::atomic<std::int64_t> done_{0};
  std::int64_t scheduled_ = 0;        // steps that the schedule has counted
  bool counted_ = true;               // it counts the steps of this block
  std::optional<float> rate_;         // the last one that was set
  bool filled_ = false;               // the device has all batches, which stay in their slots
  std::vector<double> wait_seconds_;  // for the batch of each step of the block; asynchronous devices only
  double way_seconds_ = 0;            // transfer of the block's first batch to that device, before its step began
  std::optional<double> first_loss_;
};

}  // namespace epochbench
