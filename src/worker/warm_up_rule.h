// When a case is warm: a pure function of its warm-up steps. Reads no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/worker/stopping_rule.h"

namespace epochbench {

struct WarmUpLimits {  // for a warm-up by time
  double min_seconds = 2, max_seconds = 10;
  double block_seconds = 0.5;
  std::int64_t block_steps = 65536;
  double settled = 0.01;  // largest relative difference of the median steps of two consecutive blocks
};

// Either a number of steps, or as many as a device needs if it changes its clocks under load: until steps last as long as those
// just before.
class WarmUpRule {
 public:
  static WarmUpRule of_steps(std::int64_t steps) { return WarmUpRule(steps, {}); }
  static WarmUpRule by_time(const WarmUpLimits& limits = {}) { return WarmUpRule(std::nullopt, limits); }

  // How many steps to take next, given the duration of one (unset: not known yet); 0: enough. `blocks` says how long blocks are
  // if the number of steps is given.
  std::int64_t next_block(const StoppingRule& blocks, std::optional<double> step_seconds) const;
  void after_block(const std::vector<double>& step_seconds);

  std::int64_t taken() const { return taken_; }
  // Whether the last two blocks agreed; unset if a number of steps was requested.
  std::optional<bool> settled() const { return steps_ ? std::nullopt : std::optional(settled_); }

 private:
  WarmUpRule(std::optional<std::int64_t> steps, const WarmUpLimits& limits) : steps_(steps), limits_(limits) {}

  std::optional<std::int64_t> steps_;
  WarmUpLimits limits_;
  std::int64_t taken_ = 0;
  double seconds_ = 0;
  std::optional<double> block_median_;     // of the last block's steps
  bool judged_ = false, settled_ = false;  // judged: there was a block before it
};

}  // namespace epochbench
