#include "src/worker/warm_up_rule.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/base/statistics.h"

namespace epochbench {

std::int64_t WarmUpRule::next_block(const StoppingRule& blocks, std::optional<double> step_seconds) const {
  if (steps_) return taken_ < *steps_ ? blocks.block_of(*steps_ - taken_, step_seconds) : 0;
  if (seconds_ >= limits_.min_seconds && (settled_ || (judged_ && seconds_ >= limits_.max_seconds))) return 0;
  if (!step_seconds || *step_seconds <= 0) return kDefaultWarmUpSteps;
  const double steps = std::ceil(limits_.block_seconds / *step_seconds);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(steps, static_cast<double>(limits_.block_steps))));
}

void WarmUpRule::after_block(const std::vector<double>& step_seconds) {
  if (step_seconds.empty()) return;
  taken_ += static_cast<std::int64_t>(step_seconds.size());
  seconds_ += std::accumulate(step_seconds.begin(), step_seconds.end(), 0.0);
  const double now = median(step_seconds);
  judged_ = block_median_.has_value();
  settled_ = judged_ && std::fabs(now - *block_median_) <= limits_.settled * *block_median_;
  block_median_ = now;
}

}  // namespace epochbench
