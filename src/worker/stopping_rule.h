// When a measurement is long enough: a pure function of what was measured and the time that it took. Reads no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/case/case_spec.h"
#include "src/result/measurements.h"

namespace epochbench {

// For a device that queues steps. A block begins with an empty queue, so only its first step waits for a launch and for the
// transfer of its batch: blocks are long enough that this is small compared to their steps.
struct QueueLimits {
  double block_seconds = 1.1;         // at least 1 s, even if steps are shorter than the previous ones
  std::int64_t min_block_steps = 16;  // but no more than fit into slow_block_seconds, unless that is less than slow_block_steps
  double slow_block_seconds = 5;      // a block of slow steps is short, so that its end is seen
  std::int64_t slow_block_steps = 3;
  std::int64_t block_steps = 65536;  // the most
  double min_seconds = 3;            // of timed steps, unless their number or whole epochs are asked for
};

struct StoppingLimits {
  double noise = 0.01;          // half the width of the median's interval over the median
  std::int64_t min_steps = 10;  // before the noise counts
  double min_seconds = 0.5;     // the same: a shorter stretch shows one moment of the machine, not its noise
  double max_seconds = 30;
  std::int64_t steps_past_time = 3;   // these are taken even if they last longer than max_seconds
  std::int64_t latency_steps = 1000;  // one at a time: ten beyond the 99th percentile
  double latency_seconds = 10;        // the most that they take, except for steps_past_time
  std::int64_t epochs = 100;          // for --until without --epochs
  double block_seconds = 0.1;         // what a block of steps should last: long compared to a turn, short compared to a run
  std::int64_t block_steps = 4096;    // the most in a block, so that its buffers are bounded
  QueueLimits queue;
};

class StoppingRule {
 public:
  explicit StoppingRule(const StopSpec& spec, const StoppingLimits& limits = {});
  void set_queues() { queues_ = true; }  // the device queues steps

  bool whole_epochs() const { return spec_.epochs || spec_.until; }
  std::int64_t epochs() const { return spec_.epochs.value_or(limits_.epochs); }  // the most, where epochs are whole

  // After a block of steps: all timed steps so far, and the time since the first began. Never stops whole epochs.
  std::optional<StopReason> after_steps(const std::vector<double>& step_seconds, double elapsed_seconds);
  // After `epochs` whole epochs. `value`: the evaluation metric of --until after the last one; unset: not evaluated.
  std::optional<StopReason> after_epoch(std::int64_t epochs, std::optional<double> value) const;

  // How many steps to take next, given those taken and the duration of one (unset: not known yet). At least 1.
  std::int64_t next_block(std::int64_t taken, std::optional<double> step_seconds) const;
  // The same, but no more than the `left` steps (at least 1) that are left to take.
  std::int64_t block_of(std::int64_t left, std::optional<double> step_seconds) const;

  // Like next_block on a device that does not queue, for steps taken one at a time for their latencies: as many as --steps
  // says, else as the limits say. 0: enough.
  std::int64_t next_latency_block(std::int64_t taken, double elapsed_seconds, std::optional<double> step_seconds) const;

  std::optional<double> noise() const { return noise_; }  // of the last after_steps; unset until it is meaningful

 private:
  bool noise_is_stable(double elapsed_seconds) const;
  struct Reading {
    double elapsed_seconds, noise;
  };
  StopSpec spec_;
  StoppingLimits limits_;
  bool queues_ = false;
  std::vector<Reading> history_;
  std::optional<double> noise_;
};

}  // namespace epochbench
