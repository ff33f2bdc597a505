#include "src/analysis/speedup/peer_speedup.h"

#include <algorithm>
#include <functional>

#include "src/analysis/compare/peer_ratios.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

// The fastest of those that fit, and the rates that estimate it.
struct FastestGroup : BestChoice {
  const RunGroup* group = nullptr;  // null: none fits
  std::vector<double> rates = {};
};
FastestGroup fastest(const std::vector<RunGroup>& groups, const std::function<bool(const Run&)>& fits) {
  std::vector<const RunGroup*> candidates;
  std::vector<std::vector<double>> rates;
  for (const RunGroup& group : groups)
    if (fits(group.first())) {
      candidates.push_back(&group);
      rates.push_back(values_of(group.runs, kThroughput));
    }
  if (candidates.empty()) return {};
  const BestChoice choice = choose_best(rates);
  return {choice, candidates[choice.place], estimating(choice, [&](std::size_t place) { return rates[place]; })};
}

bool same_device(const Run& ours, const Run& theirs) {
  if (runs_on_gpu(ours) != runs_on_gpu(theirs)) return false;
  return runs_on_gpu(ours) ? ours.device.name == theirs.device.name : ours.device.threads == theirs.device.threads;
}

std::vector<RunGroup> peers_among(const std::vector<Run>& runs) {
  return measured_cases(runs, [](const Run& run) { return !is_ours(run); });
}

// Whether the peer's run is one that the side of a pair stands for.
bool stands_for(const Run& run, const SpeedupSide& side, bool at_best) {
  const Workload &a = run.workload, &b = side.workload;
  if (runs_on_gpu(run) != side.on_gpu || a.model != b.model || a.mode != b.mode || a.dataset != b.dataset) return false;
  return at_best || (same_work(a, b) && run.precision == side.precision);
}

}  // namespace

std::vector<PeerRatio> peer_ratios(const std::vector<Run>& runs) {
  const std::vector<RunGroup> peers = peers_among(runs);
  std::vector<PeerRatio> ratios;
  if (peers.empty()) return ratios;
  for (const RunGroup& ours : measured_cases(runs, is_ours)) {
    const Run& run = ours.first();
    const FastestGroup theirs = fastest(peers, [&](const Run& other) {
      return same_work(other.workload, run.workload) && other.precision == run.precision && same_device(run, other);
    });
    if (!theirs.group) continue;
    const auto by_turns = turns_ratio(theirs.group->runs, ours.runs);
    ratios.push_back({ours, *theirs.group,
                      by_turns.value_or(ratio_estimate(theirs.rates, values_of(ours.runs, kThroughput), theirs.error()))});
  }
  return ratios;
}

std::optional<Estimate> peer_speedup(const std::vector<Run>& runs, const SpeedupPair& pair) {
  const std::vector<RunGroup> peers = peers_among(runs);
  const auto of_side = [&](const SpeedupSide& side) {
    return fastest(peers, [&](const Run& run) { return stands_for(run, side, pair.each_at_best); });
  };
  const FastestGroup baseline = of_side(pair.baseline), contender = of_side(pair.contender);
  if (!baseline.group || !contender.group) return std::nullopt;
  return ratio_estimate(baseline.rates, contender.rates, std::min(baseline.error(), contender.error()));
}

std::string peer_text(const Run& run) {
  const auto known = [&](const char* key) {
    const auto* version = find_value(run.device.versions, key);
    return version ? *version : std::nullopt;
  };
  std::string text = "PyTorch";
  if (const auto version = known("torch")) text += " " + *version;
  const std::string compiled = setting_text(run.settings, "compile", "eager");
  append(text, compiled == "eager" ? "eager" : compiled == "default" ? "torch.compile" : "torch.compile " + compiled);
  if (const auto attention = known("attention")) append(text, "attention " + *attention);
  if (const auto format = known("memory_format")) append(text, *format);
  if (const auto clock = known("clock")) append(text, "timed by " + *clock);
  return text;
}

}  // namespace epochbench
