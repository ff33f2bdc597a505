#include "src/analysis/speedup/ablation_ratios.h"

#include <algorithm>

#include "src/analysis/case_settings.h"
#include "src/analysis/fairness.h"

namespace epochbench {
namespace {

// What the complete case and those without a part share.
Settings complete_settings(Settings settings) {
  settings.erase("without");
  settings.erase("kernels");
  return settings;
}

}  // namespace

std::vector<AblationRatio> ablation_ratios(const AllSeries& all) {
  std::vector<AblationRatio> ratios;
  for (const Series& ablated : all.series) {
    const Settings wanted = complete_settings(ablated.settings);
    if (wanted == ablated.settings) continue;
    const auto complete = std::ranges::find_if(all.series, [&](const Series& other) {
      return other.origin == ablated.origin && other.settings == wanted &&
             same_work(other.first().workload, ablated.first().workload);
    });
    if (complete == all.series.end()) continue;
    ratios.push_back({&*complete, &ablated, handicap_of(ablated, *complete),
                      ratio_estimate(ablated.samples_per_second(), complete->samples_per_second())});
  }
  return ratios;
}

}  // namespace epochbench
