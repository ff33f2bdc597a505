// Whether a run can carry an answer. Every command asks here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/analysis/series.h"

namespace epochbench {

// How many times the least that a step can take (Efficiency::bound_seconds) makes it doubtful, and unusable; only where that is
// more than kShortBound seconds, since shorter steps are mostly overhead.
inline constexpr double kFarFromBound = 3, kUnusableFromBound = 10, kShortBound = 5e-3;
inline constexpr double kUnusableForeignCores = 0.5;  // mean over repetitions
inline constexpr double kUnusableThrottled = 0.5;     // of the steps of a repetition: a power cap now and then is usual

// The step over its bound, the median over repetitions; empty if the bound is not known or short, or kernels or parts were left
// out on purpose. Waits for data do not count.
std::optional<double> times_of_bound(const Series& series);

// "18 times their lower bound (the roofline, less what caches can hold)", with the digits of other times of a roofline.
std::string times_of_bound_text(double times);

// "its steps take 18 times their lower bound (…)"; "" if it can carry an answer. `shares_load`: its partner took turns with it,
// so other processes do not count.
std::string why_unusable(const Series& series, bool shares_load = false);

// Those that can carry an answer; all of them if none can.
std::vector<const Series*> usable_ones(std::vector<const Series*> candidates);

}  // namespace epochbench
