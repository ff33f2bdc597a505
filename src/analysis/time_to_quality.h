// Time, cost and energy until a training reaches its target (--until), over repetitions that each have a seed of their own.
//
// Scored as in MLPerf Training (training rules of MLCommons): the clock starts before data are touched; initialization is not
// counted, evaluation is. A repetition that misses the target, or diverges, counts as slower than all others: its time is
// censored, so it moves ranks and is in no mean.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/analysis/series.h"
#include "src/figures/estimate.h"
#include "src/result/result.h"

namespace epochbench {

// The target of a run: "accuracy=0.97"; empty if it had none, or its file is too old to say.
std::string target_of(const Run& run);
bool reached_target(const Run& run);
// Whether it counts as a repetition: it trained to a target, and ended by reaching it, by its last epoch or by diverging.
bool trained_to_target(const Run& run);

// By its own clock; empty in files that do not have it.
std::optional<double> training_seconds(const Run& run);
std::optional<double> usd_to_quality(const Run& run);  // the training's seconds at the price per hour, in USD
// The training's seconds at the mean power of the timed steps: evaluations are not metered, and count at the same power.
std::optional<double> joules_to_quality(const Run& run);

// The median of times, some only known to be longer than all others, and its 95 % interval between two order statistics. An end
// that is among the misses is empty: open.
struct CensoredMedian {
  std::optional<double> value;  // empty: at least half of the repetitions missed
  std::optional<double> low, high;
  std::string reason = {};  // why the interval is unknown
};
CensoredMedian censored_median(std::span<const double> reached, std::size_t misses);
// Fewer order statistics have no interval at 95 %: the whole range of five values contains the median in 93.75 % of cases.
inline constexpr std::size_t kMinForMedian = 6;

// The mean without the fastest and the slowest, as MLPerf takes it. Empty with fewer than five times or two misses: a single
// miss is the slowest.
inline constexpr std::size_t kMinForMean = 5;
std::optional<double> olympic_mean(std::span<const double> reached, std::size_t misses);

struct TimeToQuality {
  std::string name, target;  // of the case; as target_of() has it
  std::optional<EvalMetric> metric;
  std::size_t repetitions = 0;               // that reached it
  std::size_t not_reached = 0;               // that did not, or diverged
  std::optional<double> reached;             // the mean quality at the end of those that reached it
  bool wall_time = false;                    // seconds are of whole processes: the file has no clock of the training
  CensoredMedian seconds, usd, joules;       // usd and joules: also without a value if one repetition's is not known
  std::optional<double> mean_seconds;        // olympic_mean()
  std::optional<double> evaluation_seconds;  // the part of the median that was evaluation
  // What compiling and, on a GPU, choosing algorithms took before the clock started: the median. Empty for wall_time, which
  // includes it.
  std::optional<double> first_use_seconds = {};
};
// Why the median of its times is unknown; "" if it is known.
std::string median_reason(const TimeToQuality& time);
TimeToQuality time_to_quality_of(const RunGroup& trainings);  // all with one target
// One per case, in the order of their first runs.
std::vector<TimeToQuality> times_to_quality(std::span<const Run> runs);

// How much sooner the contender reaches the target: the median over seeds of the baseline's time over the contender's, between
// two order statistics. If one side missed, the seed's ratio is beyond every number; if both did, it may be any, and counts
// against any conclusion.
struct SeedPair {
  std::optional<double> baseline, contender;  // empty: it missed the target
};
Estimate quality_ratio(const std::vector<SeedPair>& seeds);

// The trainings of both sides with the same seed, in order; several with one seed are paired in their order.
using Trainings = std::vector<const Run*>;
using QuantityOf = std::function<std::optional<double>(const Run&)>;
// Empty: the quantity of a training that reached its target is not known.
std::optional<std::vector<SeedPair>> paired_by_seed(const Trainings& baseline, const Trainings& contender,
                                                    const QuantityOf& quantity);

}  // namespace epochbench
