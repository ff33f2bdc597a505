// What puts the times of runs in doubt: CPU time of other jobs, and a repetition far slower than the others of its case.
// Everything that reports it uses these thresholds.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "src/base/statistics.h"
#include "src/result/result.h"

namespace epochbench {

inline constexpr double kQuietForeignCores = 0.15;  // below: no more than an idle machine's services

inline bool is_loaded(const std::optional<double>& foreign_cores) { return foreign_cores.value_or(0) >= kQuietForeignCores; }
// The largest load of the repetitions; 0 where it is not known.
inline double max_foreign_cores(const std::vector<const Run*>& runs) {
  double most = 0;
  for (const Run* run : runs)
    if (run->interference) most = std::max(most, run->interference->foreign_cpu_cores.value_or(0));
  return most;
}
inline bool is_loaded(const Run& run) { return run.interference && is_loaded(run.interference->foreign_cpu_cores); }
template <class Runs>
bool any_loaded(const Runs& runs) {  // pointers to runs
  return std::ranges::any_of(runs, [](const Run* run) { return is_loaded(*run); });
}

// A repetition that takes this many times as long as the median of its case was disturbed by what no counter saw, such as
// other virtual machines that use the same memory.
inline constexpr double kSlowRepetition = 1.15;
template <class Runs>
bool any_slow(const Runs& repetitions) {  // pointers to runs of one case; false for fewer than 3, as either of 2 may be wrong
  std::vector<double> rates;
  for (const Run* run : repetitions)
    if (run->status == RunStatus::ok && run->throughput) rates.push_back(run->throughput->samples_per_second);
  return rates.size() >= 3 && std::ranges::min(rates) * kSlowRepetition < median(rates);
}
template <class Runs>
bool any_disturbed(const Runs& repetitions) {
  return any_loaded(repetitions) || any_slow(repetitions);
}

}  // namespace epochbench
