// How much CPU time of other jobs puts the times of a run in doubt. Everything that reports it uses this threshold.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

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

}  // namespace epochbench
