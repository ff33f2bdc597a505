#include "src/worker/stopping_rule.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "src/base/rounds.h"
#include "src/base/statistics.h"

namespace epochbench {
namespace {

// Noise is stable when it has stopped falling over the last quarter of the measurement. With independent samples it falls as
// 1/sqrt(time), by 7 % from the middle of that quarter's first half to the middle of its second; below 2 %, more time gains
// nothing.
constexpr double kStableWindow = 0.25;
constexpr double kStableRatio = 0.98;
constexpr std::size_t kStableReadings = 8;
constexpr double kStableAfter = 0.5;  // as a share of max_seconds: a machine may calm down

std::int64_t steps_within(double seconds, double step_seconds, std::int64_t most) {
  return static_cast<std::int64_t>(std::min(seconds / step_seconds, static_cast<double>(most)));
}

// From the interval that a result states; costlier than the rule's own, so computed only once that one is narrow enough.
double reported_noise(const std::vector<double>& step_seconds) {
  const Interval interval = median_interval(step_seconds);
  return (interval.second - interval.first) / 2 / median(step_seconds);
}

}  // namespace

StoppingRule::StoppingRule(const StopSpec& spec, const StoppingLimits& limits) : spec_(spec), limits_(limits) {}

std::optional<StopReason> StoppingRule::after_steps(const std::vector<double>& step_seconds, double elapsed_seconds) {
  const auto taken = static_cast<std::int64_t>(step_seconds.size());
  if (taken >= limits_.min_steps) {
    noise_ = relative_noise(step_seconds);
    history_.push_back({elapsed_seconds, *noise_});
  }
  if (whole_epochs()) return std::nullopt;
  if (spec_.steps) return taken >= *spec_.steps ? std::optional(StopReason::steps) : std::nullopt;

  const double total = std::accumulate(step_seconds.begin(), step_seconds.end(), 0.0);
  const double floor = std::max(spec_.min_time_seconds.value_or(0), queues_ ? limits_.queue.min_seconds : 0);
  if (total < floor || taken == 0) return std::nullopt;
  if (noise_ && *noise_ <= limits_.noise && total >= limits_.min_seconds && reported_noise(step_seconds) <= limits_.noise)
    return StopReason::noise;
  if (elapsed_seconds >= std::max(limits_.max_seconds, floor) && taken >= limits_.steps_past_time) return StopReason::time;
  if (noise_is_stable(elapsed_seconds)) return StopReason::stable_noise;
  return std::nullopt;
}

bool StoppingRule::noise_is_stable(double elapsed_seconds) const {
  if (elapsed_seconds < kStableAfter * limits_.max_seconds) return false;
  std::vector<double> early, late;
  for (const Reading& reading : history_) {
    if (reading.elapsed_seconds < (1 - kStableWindow) * elapsed_seconds) continue;
    (reading.elapsed_seconds < (1 - kStableWindow / 2) * elapsed_seconds ? early : late).push_back(reading.noise);
  }
  if (early.size() + late.size() < kStableReadings || early.empty() || late.empty()) return false;
  return median(late) >= kStableRatio * median(early);
}

std::optional<StopReason> StoppingRule::after_epoch(std::int64_t epochs, std::optional<double> value) const {
  if (spec_.until && value) {
    const bool reached = spec_.until->metric == EvalMetric::loss ? *value <= spec_.until->value : *value >= spec_.until->value;
    if (reached) return StopReason::until;
  }
  return epochs >= this->epochs() ? std::optional(StopReason::epochs) : std::nullopt;
}

std::int64_t StoppingRule::next_block(std::int64_t taken, std::optional<double> step_seconds) const {
  const bool counted = !whole_epochs() && spec_.steps;
  return block_of(counted ? *spec_.steps - taken : std::numeric_limits<std::int64_t>::max(), step_seconds);
}

std::int64_t StoppingRule::block_of(std::int64_t left, std::optional<double> step_seconds) const {
  const std::optional<double> known = step_seconds && *step_seconds > 0 ? step_seconds : std::nullopt;
  std::int64_t steps = known && !queues_ ? steps_within(limits_.block_seconds, *known, limits_.block_steps) : 1;
  if (queues_) {
    const QueueLimits& queue = limits_.queue;
    const std::int64_t least =
        known ? std::max(steps_within(queue.slow_block_seconds, *known, queue.min_block_steps), queue.slow_block_steps)
              : queue.slow_block_steps;
    steps = known ? std::max(least, calls_per_turn(queue.block_seconds, *known, queue.block_steps)) : least;
    if (left - steps < least && left <= queue.block_steps) steps = left;  // a short block at the end would be biased
  }
  return std::max<std::int64_t>(std::min(steps, left), 1);
}

std::int64_t StoppingRule::next_latency_block(std::int64_t taken, double elapsed_seconds,
                                              std::optional<double> step_seconds) const {
  const std::int64_t wanted = spec_.steps.value_or(limits_.latency_steps);
  const bool out_of_time = elapsed_seconds >= limits_.latency_seconds && taken >= limits_.steps_past_time;
  if (taken >= wanted || (out_of_time && !spec_.steps)) return 0;
  const double step = std::max(step_seconds.value_or(limits_.block_seconds), 1e-9);
  return std::clamp<std::int64_t>(steps_within(limits_.block_seconds, step, limits_.block_steps), 1, wanted - taken);
}

}  // namespace epochbench
