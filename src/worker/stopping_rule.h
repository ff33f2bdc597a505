// When a measurement has enough: a pure function of what was measured and of the time that it took. Knows no clock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/case/case_spec.h"

namespace epochbench {

enum class StopReason : std::uint8_t { noise, stable_noise, time, steps, epochs, until };
constexpr auto texts_of(StopReason) { return std::array{"noise", "stable_noise", "time", "steps", "epochs", "until"}; }

// Of a device that queues steps. A block begins with an empty queue, so its first step alone waits for a launch and for the way
// of its batch: blocks are so long that this is little beside their steps.
struct QueueLimits {
  double block_seconds = 1.1;           // at least 1 s, also where steps are shorter than those before
  std::int64_t least_block_steps = 16;  // but no more than most_seconds hold
  std::int64_t block_steps = 65536;     // the most
  double least_seconds = 3;             // of timed steps, unless their number or whole epochs are asked for
};

struct StoppingLimits {
  double noise = 0.01;            // half the interval of the median over the median
  std::int64_t least_steps = 10;  // before the noise counts
  double least_seconds = 0.5;     // the same: a shorter stretch sees one moment of the machine, not its noise
  double most_seconds = 30;
  std::int64_t steps_past_time = 3;   // these are taken even if they last longer than most_seconds
  std::int64_t latency_steps = 1000;  // one at a time: ten beyond the 99th percentile
  double latency_seconds = 10;        // the most that they take, but for steps_past_time
  std::int64_t epochs = 100;          // of --until without --epochs
  double block_seconds = 0.1;         // what a block of steps should last: long against a turn, short against a run
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

  // How many steps to take next, given those taken and what one lasts (unset: not known yet). At least 1.
  std::int64_t next_block(std::int64_t taken, std::optional<double> step_seconds) const;
  // The same where `left` steps are left to take, at least 1: no more than these.
  std::int64_t block_of(std::int64_t left, std::optional<double> step_seconds) const;

  // As next_block on a device that does not queue, for steps that are taken one at a time for their latencies: as many as
  // --steps says, else what the limits say. 0: they are enough.
  std::int64_t next_latency_block(std::int64_t taken, double elapsed_seconds, std::optional<double> step_seconds) const;

  std::optional<double> noise() const { return noise_; }  // of the last after_steps; unset before there is a meaning to it

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
