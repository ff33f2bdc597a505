#include "src/analysis/speedup/trainings.h"

#include <algorithm>

#include "src/analysis/case_settings.h"

namespace epochbench {

void leave_out_without_target(AllSeries& all) {
  for (Series& series : all.series) {
    const auto first = std::ranges::find_if(series.runs, [](const Run* run) { return !target_of(*run).empty(); });
    const std::string target = first == series.runs.end() ? "" : target_of(**first);
    std::erase_if(series.runs, [&](const Run* run) {
      const bool other = target.empty() || target_of(*run) != target;
      if (other)
        all.left_out.push_back({run, series.source,
                                target.empty() ? "it trained to no target (--until)"
                                               : "it trained to another target than others of its case, " + target});
      return other;
    });
  }
  std::erase_if(all.series, [](const Series& series) { return series.runs.empty(); });
}

Trainings trainings_of(const Series& series, const AllSeries& all) {
  const Run& first = series.first();
  Trainings trainings = series.runs;
  for (const LeftOut& out : all.left_out)
    if (out.run->status == RunStatus::diverged && out.source == series.source && target_of(*out.run) == target_of(first) &&
        out.run->device.name == first.device.name && speed_settings(*out.run) == series.settings &&
        same_work(out.run->workload, first.workload))
      trainings.push_back(out.run);
  return trainings;
}

}  // namespace epochbench
