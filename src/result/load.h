// Other jobs on the machine while a run was measured: from how much on its times are in doubt, for everything that says so.
#pragma once

#include <algorithm>
#include <optional>

#include "src/result/result.h"

namespace epochbench {

inline constexpr double kQuietForeignCores = 0.15;  // other jobs took less: no more than an idle machine's services

inline bool is_loaded(const std::optional<double>& foreign_cores) { return foreign_cores.value_or(0) >= kQuietForeignCores; }
inline bool is_loaded(const Run& run) { return run.interference && is_loaded(run.interference->foreign_cpu_cores); }
template <class Runs>
bool any_loaded(const Runs& runs) {  // pointers to runs
  return std::ranges::any_of(runs, [](const Run* run) { return is_loaded(*run); });
}

}  // namespace epochbench
