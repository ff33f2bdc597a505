#include "src/analysis/speedup/headline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

namespace epochbench {
namespace {

// On real data only the time to a target counts. A baseline with a handicap does not say how fast a device is.
bool tells_speed(const SpeedupPair& pair) {
  return (pair.contender.workload.dataset == "synthetic" || !pair.target.empty()) && !has_warning(pair, WarningCode::handicap);
}

}  // namespace

bool has_warning(const SpeedupPair& pair, WarningCode code) {
  return std::ranges::find(pair.warnings, code, &Warning::code) != pair.warnings.end();
}

const SpeedupPair* find_headline(const Speedup& speedup, const std::string& model) {
  const SpeedupPair* lead = nullptr;
  const auto rank = [](const SpeedupPair& pair) { return std::pair(pair.each_at_best, pair.ratio.value); };
  for (const SpeedupPair& pair : speedup.pairs) {
    const bool fits = pair.contender.workload.model == model && pair.compares == Compares::devices_or_precisions &&
                      std::isfinite(pair.ratio.value) && why_unusable(pair).empty() &&
                      !has_warning(pair, WarningCode::handicap);
    if (fits && (!lead || rank(pair) > rank(*lead))) lead = &pair;
  }
  return lead;
}

std::vector<const SpeedupPair*> gpu_over_cpu(const Speedup& speedup) {
  std::vector<const SpeedupPair*> chosen;
  std::map<std::string, std::size_t> workloads;  // in their order
  const auto place = [&](const SpeedupPair* pair) {
    const bool best = pair->each_at_best;
    return std::tuple(!best, workloads.at(pair->contender.workload.fingerprint),
                      best ? std::nullopt : std::optional(pair->contender.precision));
  };
  const auto of_devices = [](const SpeedupPair& pair) { return pair.contender.on_gpu && !pair.baseline.on_gpu; };
  const auto is_peer = [](const SpeedupPair& pair) { return pair.contender.device.backend == BackendKind::pytorch; };
  const bool ours_on_gpu = std::ranges::any_of(
      speedup.pairs, [&](const SpeedupPair& pair) { return of_devices(pair) && !is_peer(pair) && tells_speed(pair); });
  for (const SpeedupPair& pair : speedup.pairs) {
    if (ours_on_gpu && is_peer(pair)) continue;
    const Precision ours = pair.contender.precision, theirs = pair.baseline.precision;
    const bool alike = ours == theirs || (ours == Precision::tf32 && theirs == Precision::fp32);
    if (!of_devices(pair) || !tells_speed(pair)) continue;
    workloads.try_emplace(pair.contender.workload.fingerprint, workloads.size());
    if (alike || pair.each_at_best || !pair.target.empty()) chosen.push_back(&pair);
  }
  std::ranges::stable_sort(chosen, {}, place);
  return chosen;
}

std::vector<const SpeedupPair*> narrow_over(const Speedup& speedup, Precision baseline) {
  std::vector<const SpeedupPair*> chosen;
  for (const SpeedupPair& pair : speedup.pairs) {
    if (has_16_bits(pair.contender.precision) && pair.baseline.precision == baseline && tells_speed(pair) &&
        pair.contender.on_gpu == pair.baseline.on_gpu)
      chosen.push_back(&pair);
  }
  return chosen;
}

}  // namespace epochbench
