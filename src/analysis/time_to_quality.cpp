#include "src/analysis/time_to_quality.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

#include "src/analysis/cost/cost.h"
#include "src/analysis/series.h"
#include "src/base/clock.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/statistics.h"

namespace epochbench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::optional<double> if_finite(double value) { return std::isfinite(value) ? std::optional(value) : std::nullopt; }

// Empty if one of the middle two is a miss (infinite), since the median is then unknown.
std::optional<double> finite_median(std::vector<double> values) {
  std::ranges::sort(values);
  const double lower = values[(values.size() - 1) / 2], upper = values[values.size() / 2];
  return std::isfinite(lower) && std::isfinite(upper) ? std::optional(lower + (upper - lower) / 2) : std::nullopt;
}

std::string too_few(std::size_t count) {
  return "an interval takes " + std::to_string(kMinForMedian) + " seeds (--repetitions " + std::to_string(kMinForMedian) +
         "), and there " + (count == 1 ? "is " : "are ") + std::to_string(count);
}

std::optional<double> wall_seconds(const Run& run) { return run.timing ? if_finite(run.timing->wall_seconds) : std::nullopt; }

// Over those that reached the target; without a value if one is not known.
CensoredMedian median_of(const std::vector<const Run*>& reached, std::size_t misses, const QuantityOf& quantity) {
  std::vector<double> values;
  for (const Run* run : reached) {
    const std::optional<double> value = quantity(*run);
    if (!value) return {{}, {}, {}, "not known of every repetition"};
    values.push_back(*value);
  }
  return censored_median(values, misses);
}

// By seed, and by position among those with the same seed.
std::map<std::pair<std::uint64_t, std::size_t>, const Run*> by_seed(const Trainings& trainings) {
  std::map<std::pair<std::uint64_t, std::size_t>, const Run*> places;
  std::map<std::uint64_t, std::size_t> count;
  for (const Run* run : trainings) places.emplace(std::pair(run->workload.seed, count[run->workload.seed]++), run);
  return places;
}

}  // namespace

std::string target_of(const Run& run) { return setting_text(run.settings, "until"); }

bool reached_target(const Run& run) {
  return run.status == RunStatus::ok && run.timing && run.timing->stopped_by == StopReason::until &&
         run.timing->wall_seconds > 0 && run.quality && run.quality->eval_value && std::isfinite(*run.quality->eval_value);
}

bool trained_to_target(const Run& run) {
  if (reached_target(run)) return true;
  const bool ended = run.status == RunStatus::diverged || (run.status == RunStatus::ok && run.timing);
  return ended && !target_of(run).empty();
}

std::optional<double> training_seconds(const Run& run) {
  const std::optional<double> seconds = member_of(run.timing, &Timing::training_seconds);
  return seconds && std::isfinite(*seconds) && *seconds > 0 ? seconds : std::nullopt;
}

std::optional<double> usd_to_quality(const Run& run) {
  if (!run.cost || !in_usd(*run.cost)) return std::nullopt;
  const auto seconds = training_seconds(run);
  if (!seconds || !run.cost->usd_per_hour) return run.cost->usd_total ? if_finite(*run.cost->usd_total) : std::nullopt;
  return if_finite(*run.cost->usd_per_hour * *seconds / kSecondsPerHour);
}

std::optional<double> joules_to_quality(const Run& run) {
  const auto seconds = training_seconds(run), watts = member_of(run.energy, &Energy::average_watts);
  return seconds && watts ? if_finite(*seconds * *watts) : std::nullopt;
}

CensoredMedian censored_median(std::span<const double> reached, std::size_t misses) {
  if (reached.empty()) return {{}, {}, {}, "no repetition reached the target"};
  std::vector<double> values(reached.begin(), reached.end());
  values.insert(values.end(), misses, kInfinity);
  CensoredMedian median{finite_median(values), {}, {}};
  if (values.size() < kMinForMedian) {
    median.reason = too_few(values.size());
    return median;
  }
  const Interval ends = median_interval_by_rank(std::move(values));
  median.low = if_finite(ends.first);
  median.high = if_finite(ends.second);
  return median;
}

std::optional<double> olympic_mean(std::span<const double> reached, std::size_t misses) {
  if (misses > 1 || reached.size() < kMinForMean) return std::nullopt;
  std::vector<double> middle(reached.begin(), reached.end());
  std::ranges::sort(middle);
  if (misses == 0) middle.pop_back();
  return if_finite(mean(std::span(middle).subspan(1)));
}

std::string median_reason(const TimeToQuality& time) {
  if (time.seconds.value) return "";
  return std::to_string(time.repetitions) + " of " + std::to_string(time.repetitions + time.not_reached) +
         " repetitions reached the target, so the median lies among those that did not";
}

TimeToQuality time_to_quality_of(const RunGroup& trainings) {
  const std::vector<const Run*>& runs = trainings.runs;
  TimeToQuality time;
  time.name = trainings.name;
  time.target = target_of(*runs.front());
  time.metric = from_name<EvalMetric>(time.target.substr(0, time.target.find('=')));
  std::vector<const Run*> reached;
  std::vector<double> qualities, evaluation, compiling;
  for (const Run* run : runs) {
    if (!reached_target(*run)) continue;
    reached.push_back(run);
    if (run->quality->eval_metric) time.metric = run->quality->eval_metric;
    qualities.push_back(*run->quality->eval_value);
    if (const auto seconds = member_of(run->timing, &Timing::evaluation_seconds)) evaluation.push_back(*seconds);
    if (const auto seconds = recorded<&Run::timing, &Timing::compile_seconds>(*run)) compiling.push_back(*seconds);
  }
  time.repetitions = reached.size();
  time.not_reached = runs.size() - reached.size();
  if (!qualities.empty()) time.reached = mean(qualities);
  time.wall_time = std::ranges::any_of(reached, [](const Run* run) { return !training_seconds(*run); });
  const QuantityOf seconds = time.wall_time ? wall_seconds : training_seconds;
  time.seconds = median_of(reached, time.not_reached, seconds);
  time.joules = median_of(reached, time.not_reached, joules_to_quality);
  time.usd = median_of(reached, time.not_reached, usd_to_quality);
  std::vector<double> times;
  for (const Run* run : reached) times.push_back(seconds(*run).value_or(kInfinity));
  time.mean_seconds = olympic_mean(times, time.not_reached);
  if (!time.wall_time && evaluation.size() == reached.size()) time.evaluation_seconds = median_if_any(evaluation);
  if (!time.wall_time) time.first_use_seconds = median_if_any(compiling);
  return time;
}

std::vector<TimeToQuality> times_to_quality(std::span<const Run> runs) {
  std::vector<TimeToQuality> times;
  for (const RunGroup& group : runs_by_case(runs, trained_to_target)) times.push_back(time_to_quality_of(group));
  return times;
}

Estimate quality_ratio(const std::vector<SeedPair>& seeds) {
  if (seeds.empty()) return {.reason = "both sides have no seed in common"};
  std::vector<double> at_least, at_most;
  std::size_t baseline = 0, contender = 0;
  for (const SeedPair& seed : seeds) {
    baseline += seed.baseline.has_value();
    contender += seed.contender.has_value();
    const double ratio = seed.baseline && seed.contender ? *seed.baseline / *seed.contender : seed.baseline ? 0 : kInfinity;
    at_least.push_back(!seed.baseline && !seed.contender ? 0 : ratio);
    at_most.push_back(ratio);
  }
  const std::string of_all = " of " + std::to_string(seeds.size()) + " seeds";
  const std::string reached = "the target was reached with " + std::to_string(baseline) + of_all + " by the baseline, with " +
                              std::to_string(contender) + " by the contender";
  const auto low = finite_median(at_least), high = finite_median(at_most);
  Estimate estimate;
  if (low && high && *low == *high && *low > 0) estimate.value = *low;
  if (seeds.size() < kMinForMedian) {
    estimate.reason = (std::isfinite(estimate.value) ? "" : reached + "; ") + too_few(seeds.size());
    return estimate;
  }
  const double from = median_interval_by_rank(at_least).first, to = median_interval_by_rank(at_most).second;
  if (std::isfinite(estimate.value) && from > 0 && std::isfinite(to)) {
    estimate.ci95 = {from, to};
    return estimate;
  }
  estimate.reason = reached;
  if (from > 0 && std::isfinite(from)) estimate.reason += "; at least " + format_times(from);
  if (std::isfinite(to) && to > 0) estimate.reason += "; at most " + format_times(to);
  return estimate;
}

std::optional<std::vector<SeedPair>> paired_by_seed(const Trainings& baseline, const Trainings& contender,
                                                    const QuantityOf& quantity) {
  std::vector<SeedPair> pairs;
  const auto others = by_seed(contender);
  for (const auto& [key, run] : by_seed(baseline)) {
    const auto twin = others.find(key);
    if (twin == others.end()) continue;
    SeedPair pair;
    for (const auto& [side, training] : {std::pair(&pair.baseline, run), std::pair(&pair.contender, twin->second)}) {
      if (!reached_target(*training)) continue;
      *side = quantity(*training);
      if (!*side || !(**side > 0)) return std::nullopt;
    }
    pairs.push_back(pair);
  }
  return pairs;
}

}  // namespace epochbench
