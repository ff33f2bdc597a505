#include "src/report/answers/answer_parts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "src/base/units.h"

namespace epochbench {
namespace {

std::vector<Repeated> repeated(const std::vector<Run>& runs, const std::function<bool(const Run&)>& wanted) {
  std::vector<Repeated> list;
  for (RunGroup& group : runs_by_name(runs, [&](const Run& run) { return usable(run) && wanted(run); }))
    list.push_back({std::move(group)});
  for (Repeated& work : list)
    std::stable_sort(work.runs.begin(), work.runs.end(), [](const Run* a, const Run* b) {
      return a->throughput->samples_per_second < b->throughput->samples_per_second;
    });
  return list;
}

}  // namespace

std::string ratio_text(const Estimate& estimate) {
  if (!std::isfinite(estimate.value)) return "not known (" + estimate.reason + ")";
  if (!estimate.ci95) return format_times(estimate.value) + " (no interval: " + estimate.reason + ")";
  return format_times(estimate.value) + " (" + significant(estimate.ci95->first, 3) + " to " +
         significant(estimate.ci95->second, 3) + ")";
}

std::string workload_text(const Workload& workload) { return workload.model + " b" + std::to_string(workload.batch); }

std::string side_text(const SpeedupSide& side) { return side.device.backend + " " + side.precision; }

std::string repetitions_text(std::size_t repetitions) {
  return repetitions > 1 ? ", median of " + std::to_string(repetitions) + " repetitions" : "";
}

bool usable(const Run& run) {
  return run.status == RunStatus::ok && run.timing && run.throughput && std::isfinite(run.throughput->samples_per_second);
}

bool on_gpu(const Run& run) { return run.device.backend == "cuda"; }

std::vector<Repeated> compared_workloads(const std::vector<Run>& runs) {
  std::map<std::string, std::set<std::string>> sides;
  for (const Run& run : runs)
    if (usable(run) && run.workload.dataset == "synthetic")
      sides[run.workload.fingerprint].insert(run.device.backend + run.precision);
  const auto compared = [&](const Run& run) {
    const auto found = sides.find(run.workload.fingerprint);
    return run.workload.dataset == "synthetic" && found != sides.end() && found->second.size() > 1;
  };
  std::vector<Repeated> list = repeated(runs, compared);
  return list.empty() ? repeated(runs, [](const Run& run) { return run.workload.dataset == "synthetic"; }) : list;
}

std::optional<double> median_over(const Repeated& work, const std::function<std::optional<double>(const Run&)>& of) {
  std::vector<double> values;
  for (const Run* run : work.runs)
    if (const std::optional<double> value = of(*run); value && std::isfinite(*value)) values.push_back(*value);
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool has_handicap(const SpeedupPair& pair) {
  return std::any_of(pair.warnings.begin(), pair.warnings.end(),
                     [](const Warning& warning) { return warning.code == WarningCode::handicap; });
}

std::vector<const SpeedupPair*> gpu_over_cpu(const Speedup& speedup) {
  const auto same_work = [](const SpeedupPair& a, const SpeedupPair& b) {
    return a.contender.workload.fingerprint == b.contender.workload.fingerprint &&
           a.contender.workload.dataset == b.contender.workload.dataset;
  };
  const auto rates = [](const SpeedupPair& pair) { return std::pair(pair.contender.rate, pair.baseline.rate); };
  std::vector<const SpeedupPair*> chosen;
  for (const SpeedupPair& pair : speedup.pairs) {
    const bool gpu_to_cpu = pair.contender.on_gpu && !pair.baseline.on_gpu;
    if (!gpu_to_cpu || pair.contender.workload.dataset != "synthetic" || has_handicap(pair)) continue;
    const bool strict = pair.contender.precision == "fp32" && pair.baseline.precision == "fp32";
    const bool fastest = std::none_of(speedup.pairs.begin(), speedup.pairs.end(), [&](const SpeedupPair& other) {
      return same_work(pair, other) && other.contender.on_gpu && !other.baseline.on_gpu && !has_handicap(other) &&
             rates(other) > rates(pair);
    });
    if (strict || fastest) chosen.push_back(&pair);
  }
  return chosen;
}

}  // namespace epochbench
