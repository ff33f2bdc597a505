#include "src/analysis/precision_quality.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>

#include "epochbench/precision.h"
#include "src/analysis/case_settings.h"
#include "src/base/lookup.h"
#include "src/base/statistics.h"

namespace epochbench {
namespace {

constexpr std::size_t kLastEvaluations = 5;

std::optional<double> quality_of(const Run& run) {
  if (run.status != RunStatus::ok || !run.timing || run.timing->stopped_by == StopReason::until || !run.quality)
    return std::nullopt;
  if (run.workload.mode == Mode::forward) return std::nullopt;
  const std::vector<double>& history = run.quality->eval_history;
  if (!run.quality->eval_metric || history.empty()) return std::nullopt;
  const auto last = static_cast<std::ptrdiff_t>(std::min(kLastEvaluations, history.size()));
  const double value = mean({history.end() - last, history.end()});
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// "lenet5/cpu/b64": all settings but the seed, by which trainings are paired, and the precision.
std::string workload_of(const Run& run) {
  Settings settings = of_classes(case_settings(run), {SettingClass::workload, SettingClass::placement, SettingClass::rounding,
                                                      SettingClass::ablation, SettingClass::input, SettingClass::measurement});
  settings.erase("precision");
  return label_of(settings);
}

struct SeededTrainings {  // of one workload in one precision
  TrainingKey key;
  const Run* first = nullptr;
  std::map<std::uint64_t, std::vector<double>> by_seed;  // one value per repetition
};

ListByKey<&SeededTrainings::key> trainings_of(const std::vector<const Run*>& runs) {
  ListByKey<&SeededTrainings::key> all;
  for (const Run* run : runs) {
    const std::optional<double> quality = quality_of(*run);
    if (!quality) continue;
    const TrainingKey key{workload_of(*run), run->device.backend, run->precision, *run->quality->eval_metric,
                          static_cast<int>(run->quality->eval_history.size())};
    SeededTrainings& trainings = all[key];
    if (!trainings.first) trainings.first = run;
    trainings.by_seed[run->workload.seed].push_back(*quality);
  }
  return all;
}

}  // namespace

Estimate difference_over_seeds(const std::map<std::uint64_t, double>& by_seed) {
  std::vector<double> differences;
  for (const auto& seed : by_seed) differences.push_back(seed.second);
  Estimate estimate = arithmetic_mean_estimate(differences, kMinRepetitions, "seeds");
  constexpr double kRounding = 1e-12;  // the error of sums of numbers about 1
  if (!estimate.ci95 || estimate.ci95->second - estimate.ci95->first > kRounding) return estimate;
  estimate.ci95.reset();
  estimate.reason = "every seed gave the same difference, which says nothing about their spread";
  return estimate;
}

std::vector<QualityDifference> precision_quality(std::span<const Run> runs) {
  std::vector<const Run*> all;
  for (const Run& run : runs) all.push_back(&run);
  return precision_quality(all);
}

std::vector<QualityDifference> precision_quality(const std::vector<const Run*>& runs) {
  const ListByKey<& SeededTrainings::key> all = trainings_of(runs);
  std::vector<QualityDifference> list;
  for (const auto& [key, first, by_seed] : all) {
    TrainingKey base_key = key;
    base_key.precision = Precision::fp32;
    const SeededTrainings* base = all.find(base_key);
    if (key == base_key || !base) continue;
    std::vector<double> fp32, reached;
    std::map<std::uint64_t, double> differences;
    for (const auto& [seed, values] : by_seed) {
      const auto twin = base->by_seed.find(seed);
      if (twin == base->by_seed.end()) continue;
      fp32.push_back(mean(twin->second));
      reached.push_back(mean(values));
      differences[seed] = reached.back() - fp32.back();
    }
    if (differences.empty()) continue;
    list.push_back({key, first, static_cast<int>(differences.size()), mean(fp32), mean(reached),
                    difference_over_seeds(differences), differences});
  }
  return list;
}

}  // namespace epochbench
