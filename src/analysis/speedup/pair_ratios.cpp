#include "src/analysis/speedup/pair_ratios.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "src/analysis/compare/peer_ratios.h"
#include "src/analysis/speedup/trainings.h"
#include "src/base/lookup.h"
#include "src/base/statistics.h"
#include "src/result/load.h"

namespace epochbench {
namespace {

SpeedupSide side_of(const FastestSeries& fastest) {
  const Series& series = fastest.series();
  const Run& run = series.first();
  SpeedupSide side{series.name(),
                   series.source->path,
                   run.workload,
                   run.device,
                   run.precision,
                   series.settings,
                   series.on_gpu(),
                   any_disturbed(series.runs),
                   values_of(fastest.runs, kThroughput)};
  side.runs = fastest.runs;
  side.error = fastest.error();
  side.rate = geometric_mean(side.rates);
  if (run.efficiency && run.efficiency->roofline_seconds) {
    const auto batch = static_cast<double>(run.workload.batch);
    side.roofline_rate = batch / *run.efficiency->roofline_seconds;
    side.launched_rate = batch / run.efficiency->launched_roofline_seconds.value();
  }
  return side;
}

Estimate ratio_of(const FastestSeries& baseline, const FastestSeries& contender, const std::vector<double>& theirs,
                  const std::vector<double>& ours) {
  return ratio_estimate(theirs, ours, std::min(baseline.error(), contender.error()));
}

Estimate speed_ratio(const FastestSeries& baseline, const FastestSeries& contender) {
  return ratio_of(baseline, contender, values_of(baseline.runs, kThroughput), values_of(contender.runs, kThroughput));
}

// baseline / contender of what `get` returns for each repetition; the reason for no interval is that of throughput's ratio.
template <typename Get>
Estimate per_epoch(const FastestSeries& baseline, const FastestSeries& contender, const char* what, const Get& get) {
  const auto unknown = [&](const std::string& reason) { return Estimate{.reason = what + reason}; };
  std::vector<double> ours, theirs;
  for (const auto& [side, values] : {std::pair(&contender, &ours), std::pair(&baseline, &theirs)})
    for (const Run* run : side->runs) {
      const std::optional<double> value = get(*run);
      if (!value || !std::isfinite(*value)) return unknown(" is not known of both sides");
      if (!(*value > 0)) return unknown(" of " + run->name + " is 0 or less, and a ratio needs more");
      values->push_back(*value);
    }
  Estimate estimate = ratio_of(baseline, contender, ours, theirs);
  if (std::isfinite(estimate.value) && !estimate.ci95) estimate.reason = speed_ratio(baseline, contender).reason;
  return estimate;
}

Estimate cost_ratio(const FastestSeries& baseline, const FastestSeries& contender) {
  std::set<std::string> currencies;
  for (const FastestSeries* side : {&baseline, &contender})
    for (const Run* run : side->runs)
      if (run->cost) currencies.insert(run->cost->currency.value_or("USD"));
  if (currencies.size() > 1)
    return {.reason = "costs in " + *currencies.begin() + " and " + *currencies.rbegin() + " are not compared"};
  return per_epoch(baseline, contender, "cost per epoch",
                   [](const Run& run) { return member_of(run.cost, &Cost::usd_per_epoch); });
}

}  // namespace

SpeedupPair speed_pair(const FastestSeries& baseline, const FastestSeries& contender) {
  SpeedupPair pair{.baseline = side_of(baseline),
                   .contender = side_of(contender),
                   .ratio = speed_ratio(baseline, contender),
                   .cost = cost_ratio(baseline, contender),
                   .energy = per_epoch(baseline, contender, "energy per epoch",
                                       [](const Run& run) { return member_of(run.energy, &Energy::joules_per_epoch); }),
                   .warnings = fairness_warnings(baseline.series(), contender.series())};
  for (const FastestSeries* side : {&baseline, &contender})
    if (const std::string doubt = side->doubt(); !doubt.empty())
      pair.warnings.push_back({WarningCode::fastest_in_doubt, side->series().name(), 0, 0, doubt});
  if (auto ratio = turns_ratio(baseline.series().runs, contender.series().runs)) {
    pair.ratio = *std::move(ratio);
    pair.by_rounds = true;
  }
  pair.parts = explain(pair.baseline, pair.contender, pair.ratio);
  return pair;
}

SpeedupPair quality_pair(const Series& baseline, const Series& contender, const AllSeries& all) {
  SpeedupPair pair{side_of(choose_series({&baseline})),
                   side_of(choose_series({&contender})),
                   false,
                   false,
                   target_of(contender.first()),
                   {},
                   {},
                   {},
                   {}};
  const Trainings theirs = trainings_of(baseline, all), ours = trainings_of(contender, all);
  for (const auto& [side, trainings] : {std::pair(&pair.baseline, &theirs), std::pair(&pair.contender, &ours)}) {
    side->trained = trainings->size();
    side->reached =
        static_cast<std::size_t>(std::ranges::count_if(*trainings, [](const Run* run) { return reached_target(*run); }));
  }
  const auto ratio_of = [&](const char* what, const QuantityOf& quantity) {
    const auto seeds = paired_by_seed(theirs, ours, quantity);
    return seeds ? quality_ratio(*seeds) : Estimate{.reason = std::string(what) + " to the target is not known of both sides"};
  };
  pair.ratio = ratio_of("time", training_seconds);
  pair.cost = ratio_of("cost", usd_to_quality);
  pair.energy = ratio_of("energy", joules_to_quality);
  pair.warnings = fairness_warnings(baseline, contender);
  return pair;
}

}  // namespace epochbench
