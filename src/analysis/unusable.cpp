#include "src/analysis/unusable.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "src/analysis/parity.h"
#include "src/base/numbers.h"
#include "src/base/statistics.h"
#include "src/case/choices.h"

namespace epochbench {

std::optional<double> times_of_bound(const Series& series) {
  const char* const fastest = name(Kernels::fastest);
  const bool lesser = setting_text(series.conditions, "kernels", fastest) != fastest;
  if (lesser || series.conditions.contains("without")) return std::nullopt;
  std::vector<double> times;
  for (const Run* run : series.runs) {
    if (!run->timing || !run->efficiency || run->efficiency->bound_seconds.value_or(0) <= kShortBound) continue;
    const double computing = 1 - std::clamp(run->efficiency->data_wait_fraction.value_or(0), 0., 1.);
    times.push_back(run->timing->step_seconds_median * computing / *run->efficiency->bound_seconds);
  }
  return times.empty() ? std::nullopt : std::optional(median(std::move(times)));
}

std::string times_of_bound_text(double times) {
  return significant(times, 2) + " times their lower bound (the roofline, less what caches can hold)";
}

std::string why_unusable(const Series& series, bool shares_load) {
  if (series.source->result.context.build_type == "Debug") return "a debug build measured it";
  double foreign = 0;
  for (const Run* run : series.runs) {
    const double steps = run->timing ? static_cast<double>(run->timing->steps()) : 0;
    if (run->gpu && static_cast<double>(run->gpu->throttled_steps.value_or(0)) > kUnusableThrottled * steps)
      return "the GPU's clock was held down during most of its steps";
    const auto apart = run->quality && is_ours(*run) ? run->quality->parity_max_relative_difference : std::nullopt;
    if (apart && *apart > parity_bound(run->precision)) return "its losses are not those of the CPU in fp32";
    foreign += run->interference ? run->interference->foreign_cpu_cores.value_or(0) : 0;
  }
  foreign /= static_cast<double>(series.runs.size());
  if (foreign > kUnusableForeignCores && !shares_load)
    return "other processes took " + significant(foreign, 2) + " CPU cores meanwhile";
  if (const auto times = times_of_bound(series); times && *times > kUnusableFromBound)
    return "its steps take " + times_of_bound_text(*times);
  return "";
}

std::vector<const Series*> usable_ones(std::vector<const Series*> candidates) {
  const auto usable = [](const Series* each) { return why_unusable(*each).empty(); };
  if (std::ranges::any_of(candidates, usable)) std::erase_if(candidates, [&](const Series* each) { return !usable(each); });
  return candidates;
}

}  // namespace epochbench
