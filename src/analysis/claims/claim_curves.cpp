// Claims about curves over sizes: where a device overtakes another, where throughput stops growing, how far cores reach.
#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "src/analysis/case_settings.h"
#include "src/analysis/claims/claim_kinds.h"
#include "src/analysis/sweep/curves.h"
#include "src/analysis/sweep/scaling.h"
#include "src/base/lookup.h"
#include "src/base/statistics.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr std::size_t kMinPlateauPoints = 3;  // of a plateau: one point where it rises, two between which it stays

// The curves of a model's runs that the choice selects, on one backend; the longest first. A width is an option of the model,
// so on that axis the model is the family.
std::vector<Curve> curves_for(const Evidence& evidence, const RunChoice& choice, const std::string& model, Axis axis) {
  const auto of_model = [&](const Run& run) { return (axis == Axis::width ? model_family(run) : run.workload.model) == model; };
  const auto chosen = [&](const Run* run) {
    const auto series = evidence.series_of.find(run);
    if (series == evidence.series_of.end()) return false;
    // The size along which a curve runs is not a condition of its points.
    return axis == Axis::samples ? suits_but_for("epoch_samples", choice, *series->second) : suits(choice, *series->second);
  };
  std::vector<Curve> found;
  for (const auto& [path, result] : evidence.results)
    for (Curve& curve : curves_of(result, axis, of_model)) {
      std::erase_if(curve.points, [&](const CurvePoint& point) { return point.rates.empty() || !chosen(point.runs.front()); });
      if (!curve.points.empty()) found.push_back(std::move(curve));
    }
  std::ranges::stable_sort(found, [](const Curve& a, const Curve& b) { return a.points.size() > b.points.size(); });
  return found;
}

std::string range_of(const Curve& curve) {
  return std::to_string(curve.points.front().value) + " to " + std::to_string(curve.points.back().value);
}

// Whether at every value that both curves have it is certain which of the two is ahead.
bool surely_apart(const Curve& a, const Curve& b, bool in_cost) {
  for (const CurvePoint& here : a.points) {
    const CurvePoint* there = b.at(here.value);
    if (!there) continue;
    const Estimate ratio = in_cost ? ratio_estimate(here.usd, there->usd) : ratio_estimate(here.rates, there->rates);
    if (!ratio.ci95 || (ratio.ci95->first <= 1 && ratio.ci95->second >= 1)) return false;
  }
  return true;
}

// The verdict on whether a size exists, if its value is not claimed.
ClaimAnswer existence(const ClaimQuantity& quantity, const std::string& conditions, const Estimate& where, Verdict verdict) {
  ClaimAnswer answer = answered(quantity, where, conditions);
  answer.verdict = verdict;
  answer.reason = where.reason;
  return answer;
}

// The first size above `from` that is surely below kFlatFraction of the best; empty if none.
std::optional<std::int64_t> falls_at(const std::vector<CurvePoint>& points, std::int64_t from) {
  std::vector<const CurvePoint*> candidates;
  for (const CurvePoint& point : points) candidates.push_back(&point);
  const auto [choice, rates] = choose_point(candidates);
  for (const CurvePoint& point : points) {
    if (point.value <= from || &point == candidates[choice.place]) continue;
    const Estimate ratio = ratio_estimate(rates, point.rates, choice.error());
    if (ratio.ci95 && ratio.ci95->second < kFlatFraction) return point.value;
  }
  return std::nullopt;
}

// Precondition: at least two points.
ClaimAnswer plateau_of(const ClaimQuantity& quantity, const Curve& curve) {
  const std::vector<CurvePoint>& points = curve.points;
  const CurveFlattening flat = flattening_of(curve);
  const std::string conditions = curve.name + ", " + quantity.over + " " + range_of(curve);
  Estimate where{.reason = flat.reason.value_or("")};
  const auto verdict = [&](Verdict verdict, const std::string& reason) {
    where.reason = reason;
    return existence(quantity, conditions, where, verdict);
  };
  if (!flat.value) {  // still rising at the largest
    const Estimate last_step = ratio_estimate(points[points.size() - 2].rates, points.back().rates);
    const bool surely = last_step.ci95 && last_step.ci95->first > 1 / kFlatFraction;
    return verdict(surely ? Verdict::not_reproduced : Verdict::undecided, where.reason);
  }
  where.value = static_cast<double>(*flat.value);
  if (!flat.range) return verdict(Verdict::undecided, where.reason);
  where.ci95 = {static_cast<double>(flat.range->first), static_cast<double>(flat.range->second)};
  if (flat.range->second == points.front().value)
    return verdict(Verdict::not_reproduced, "the smallest batch is within 5 % of the best already");
  if (const auto fallen = falls_at(points, flat.range->second))
    return verdict(Verdict::not_reproduced,
                   "it does not stay: at " + std::to_string(*fallen) + " it is below 95 % of the best again");
  if (flat.range->first > points.front().value && flat.range->second < points.back().value)
    return verdict(Verdict::reproduced, where.reason);
  return verdict(Verdict::undecided, "it may be the smallest or the largest batch that was measured");
}

// A sweep over threads: one workload on one CPU and one build, and a GPU that did the same work.
struct ThreadSweep {
  std::tuple<WorkKey, std::string, std::string> key;  // work, origin, device
  const Series* cpu = nullptr;                        // its first series
  const Series* gpu = nullptr;                        // empty: none
  std::map<std::int64_t, std::vector<double>> rates;  // of all repetitions with this many threads
};

// The sweep with the most thread counts; any with a GPU is preferred.
ThreadSweep longest_sweep(const ClaimQuantity& quantity, const Evidence& evidence) {
  const std::string& model = quantity.models.front();
  ListByKey<&ThreadSweep::key> sweeps;
  for (const Series* series : matching(evidence, quantity.of, model, BackendKind::cpu)) {
    const Run& run = series->first();
    const std::vector<double> rates = metrics(*series, quantity.measure);
    if (!run.device.threads || rates.empty()) continue;
    ThreadSweep& sweep = sweeps[{work_key(run.workload), series->origin, run.device.name}];
    if (!sweep.cpu) sweep.cpu = series;
    std::vector<double>& known = sweep.rates[*run.device.threads];
    known.insert(known.end(), rates.begin(), rates.end());
  }
  for (ThreadSweep& sweep : sweeps)
    for (const Series* gpu : matching(evidence, *quantity.to, model, BackendKind::cuda))
      if (!sweep.gpu && same_work(gpu->first().workload, sweep.cpu->first().workload) &&
          !metrics(*gpu, quantity.measure).empty())
        sweep.gpu = gpu;
  const auto rank = [](const ThreadSweep& sweep) { return std::pair(sweep.gpu != nullptr, sweep.rates.size()); };
  const auto longest = std::ranges::max_element(sweeps, {}, rank);
  return longest == sweeps.end() ? ThreadSweep{} : *longest;
}

Answers answer_crossover(const ClaimQuantity& quantity, const Evidence& evidence) {
  const std::string& model = quantity.models.front();
  const Axis axis = *from_name<Axis>(quantity.over);
  const bool in_cost = quantity.measure == "cost";
  const std::vector<Curve> of = curves_for(evidence, quantity.of, model, axis),
                           to = curves_for(evidence, *quantity.to, model, axis);
  if (of.empty() || to.empty())
    return {unanswered(quantity, why_missing(evidence, of.empty() ? quantity.of : *quantity.to, model))};
  const auto found = crossings(to.front(), of.front(), in_cost ? CrossingIn::cost : CrossingIn::time);
  const std::string conditions = of.front().name + " and " + to.front().name + ", " + range_of(of.front());
  const auto overtaking = std::ranges::find_if(
      found, [&](const Crossing& crossing) { return crossing.value && crossing.better_above == of.front().name; });
  if (overtaking != found.end()) {
    const Estimate where{*overtaking->value, overtaking->ci95, overtaking->reason.value_or("")};
    return {existence(quantity, conditions, where, where.ci95 ? Verdict::reproduced : Verdict::undecided)};
  }
  const std::string reason = found.front().reason.value_or("the other device overtakes");
  const auto shared = std::count_if(of.front().points.begin(), of.front().points.end(), [&](const CurvePoint& point) {
    const CurvePoint* other = to.front().at(point.value);
    return other && !other->rates.empty() && !point.rates.empty() && (!in_cost || (!other->usd.empty() && !point.usd.empty()));
  });
  ClaimAnswer answer = unanswered(quantity, reason);
  answer.conditions = conditions;
  if (shared >= 2)
    answer.verdict = surely_apart(of.front(), to.front(), in_cost) ? Verdict::not_reproduced : Verdict::undecided;
  return {answer};
}

Answers answer_plateau(const ClaimQuantity& quantity, const Evidence& evidence) {
  for (const BackendKind backend : quantity.of.backends)
    for (const std::string& model : quantity.models) {
      RunChoice choice = quantity.of;
      choice.backends = {backend};
      const std::vector<Curve> curves = curves_for(evidence, choice, model, *from_name<Axis>(quantity.over));
      if (!curves.empty() && curves.front().points.size() >= kMinPlateauPoints) return {plateau_of(quantity, curves.front())};
    }
  return {unanswered(quantity, "a plateau takes " + std::to_string(kMinPlateauPoints) +
                                   " batches: " + why_missing(evidence, quantity.of, quantity.models.back()))};
}

Answers answer_cores(const ClaimQuantity& quantity, const Evidence& evidence) {
  const std::string& model = quantity.models.front();
  const ThreadSweep sweep = longest_sweep(quantity, evidence);
  std::string obstacle;
  if (sweep.rates.size() < kMinScalingPoints)
    obstacle = "too few points: " + std::to_string(sweep.rates.size()) + " numbers of threads, at least " +
               std::to_string(kMinScalingPoints);
  if (!sweep.gpu) append(obstacle, why_missing(evidence, *quantity.to, model), "; ");
  if (!obstacle.empty()) return {unanswered(quantity, obstacle)};
  std::vector<CoresRate> points;
  for (const auto& [threads, rates] : sweep.rates) points.push_back({static_cast<double>(threads), geometric_mean(rates)});
  const CoresNeeded needed = cores_needed(points, ScalingLaw::usl, sweep.gpu->name(), metrics(*sweep.gpu, quantity.measure));
  Estimate estimate;
  if (needed.cores) estimate.value = *needed.cores;
  if (needed.cores && needed.cores_ci95.first)
    estimate.ci95 = {*needed.cores_ci95.first, needed.cores_ci95.second.value_or(std::numeric_limits<double>::infinity())};
  estimate.reason = needed.reason.value_or("");
  return {answered(quantity, estimate,
                   sweep.cpu->first().device.name + ", " + std::to_string(points.size()) + " numbers of threads up to " +
                       std::to_string(sweep.rates.rbegin()->first) + ", against " + describe(*sweep.gpu))};
}

constexpr const char* kSizes = "batch width samples";

}  // namespace

ClaimKinds curve_kinds() {
  static constexpr ClaimKind kKinds[] = {
      {.name = "crossover",
       .answers = answer_crossover,
       .needs = "models of.backends to to.backends over",
       .measures = "time cost",
       .over = kSizes,
       .by_model = true},
      {.name = "plateau",
       .answers = answer_plateau,
       .needs = "models of.backends over",
       .measures = metric_names,
       .over = kSizes},
      {.name = "cores",  // that equal a GPU, by the fit of a thread sweep
       .answers = answer_cores,
       .needs = "models of.backends to to.backends",
       .measures = metric_names},
  };
  return kKinds;
}

}  // namespace epochbench
