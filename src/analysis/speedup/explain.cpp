// Splits a speedup into what the devices can do and how near their programs come to it.
#include <cmath>

#include "src/analysis/speedup/speedup.h"

namespace epochbench {
namespace {

// The roofline over the one with launches, at least 1; launches that cost less than a tenth are none.
double launch_times(const SpeedupSide& side) {
  constexpr double kNoticed = 1.1;
  const double times = side.roofline_rate / side.launched_rate;
  return times < kNoticed ? 1 : times;
}

}  // namespace

std::optional<SpeedupParts> explain(const SpeedupSide& baseline, const SpeedupSide& contender, const Estimate& ratio) {
  for (const SpeedupSide* side : {&baseline, &contender})
    if (!(side->roofline_rate > 0) || !(side->launched_rate > 0) || !(side->rate > 0)) return std::nullopt;
  if (!std::isfinite(ratio.value)) return std::nullopt;
  SpeedupParts parts;
  const double theirs = launch_times(baseline), ours = launch_times(contender);
  parts.silicon = contender.roofline_rate / baseline.roofline_rate;
  parts.launches = theirs / ours;
  const double rooflines = parts.silicon * parts.launches;
  parts.software = ratio;
  parts.software.value /= rooflines;
  if (auto& ends = parts.software.ci95) ends = {ends->first / rooflines, ends->second / rooflines};
  parts.baseline_times = baseline.roofline_rate / theirs / baseline.rate;
  parts.contender_times = contender.roofline_rate / ours / contender.rate;
  return parts;
}

}  // namespace epochbench
