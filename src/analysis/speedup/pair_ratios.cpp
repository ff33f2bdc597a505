#include "src/analysis/speedup/pair_ratios.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "src/analysis/speedup/trainings.h"
#include "src/base/lookup.h"

namespace epochbench {
namespace {

SpeedupSide side_of(const Series& series) {
  const Run& run = series.first();
  const bool loaded =
      std::ranges::any_of(doubts_of(series), [](const Warning& doubt) { return doubt.code == WarningCode::foreign_load; });
  SpeedupSide side{series.name(),   series.source->path, run.workload, run.device,     run.precision,
                   series.settings, series.on_gpu(),     loaded,       series.rates(), series.rate()};
  if (run.efficiency && run.efficiency->roofline_seconds) {
    const auto batch = static_cast<double>(run.workload.batch);
    side.roofline_rate = batch / *run.efficiency->roofline_seconds;
    side.launched_rate = batch / run.efficiency->launched_roofline_seconds.value();
  }
  return side;
}

// baseline / contender of what `get` returns for each repetition; the reason for no interval is that of throughput's ratio.
template <typename Get>
Estimate per_epoch(const Series& baseline, const Series& contender, const char* what, const Get& get) {
  const auto unknown = [&](const std::string& reason) { return Estimate{.reason = what + reason}; };
  std::vector<double> ours, theirs;
  for (const auto& [series, values] : {std::pair(&contender, &ours), std::pair(&baseline, &theirs)})
    for (const Run* run : series->runs) {
      const std::optional<double> value = get(*run);
      if (!value || !std::isfinite(*value)) return unknown(" is not known of both sides");
      if (!(*value > 0)) return unknown(" of " + run->name + " is 0 or less, and a ratio needs more");
      values->push_back(*value);
    }
  Estimate estimate = ratio_estimate(ours, theirs);
  if (std::isfinite(estimate.value) && !estimate.ci95)
    estimate.reason = ratio_estimate(baseline.rates(), contender.rates()).reason;
  return estimate;
}

Estimate cost_ratio(const Series& baseline, const Series& contender) {
  std::set<std::string> currencies;
  for (const Series* side : {&baseline, &contender})
    for (const Run* run : side->runs)
      if (run->cost) currencies.insert(run->cost->currency.value_or("USD"));
  if (currencies.size() > 1)
    return {.reason = "costs in " + *currencies.begin() + " and " + *currencies.rbegin() + " are not compared"};
  return per_epoch(baseline, contender, "cost per epoch",
                   [](const Run& run) { return member_of(run.cost, &Cost::usd_per_epoch); });
}

}  // namespace

SpeedupPair speed_pair(const Series& baseline, const Series& contender) {
  SpeedupPair pair{.baseline = side_of(baseline),
                   .contender = side_of(contender),
                   .ratio = ratio_estimate(baseline.rates(), contender.rates()),
                   .cost = cost_ratio(baseline, contender),
                   .energy = per_epoch(baseline, contender, "energy per epoch",
                                       [](const Run& run) { return member_of(run.energy, &Energy::joules_per_epoch); }),
                   .warnings = fairness_warnings(baseline, contender)};
  pair.parts = explain(pair.baseline, pair.contender, pair.ratio);
  return pair;
}

SpeedupPair quality_pair(const Series& baseline, const Series& contender, const AllSeries& all) {
  SpeedupPair pair{side_of(baseline), side_of(contender), false, false, target_of(contender.first()), {}, {}, {}, {}};
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
