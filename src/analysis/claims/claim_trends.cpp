// Claims that a number grows with a size.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "src/analysis/claims/claim_kinds.h"
#include "src/base/numbers.h"
#include "src/base/statistics.h"
#include "src/base/text.h"

namespace epochbench {

double slope(const std::vector<Point>& points) {
  double x = 0, y = 0, xx = 0, xy = 0;
  const auto n = static_cast<double>(points.size());
  for (const Point& point : points) {
    x += point.x / n;
    y += point.y / n;
  }
  for (const Point& point : points) {
    xx += (point.x - x) * (point.x - x);
    xy += (point.x - x) * (point.y - y);
  }
  return xy / xx;
}

namespace {

// ln(of / to) against ln(parameters), one slope for each repetition, from the pair of each model. Every model contributes as
// many repetitions as the one with the fewest.
Answers answer_growing_ratio(const ClaimQuantity& quantity, const Evidence& evidence) {
  std::vector<std::vector<Point>> by_repetition;
  std::string models, conditions, missing;
  std::vector<Warning> warnings;
  std::size_t count = 0;
  for (const std::string& model : quantity.models) {
    const std::vector<SeriesPair> found = pairs(evidence, quantity, model);
    if (found.empty()) {
      missing = missing.empty() ? why_missing(evidence, quantity.of, model) : missing;
      continue;
    }
    const FastestPair chosen = fastest(found, quantity.pairing == "best");
    const SeriesPair& pair = chosen.pair;
    const std::vector<double> of = metrics(chosen.of, quantity.measure), to = metrics(chosen.to, quantity.measure);
    const std::size_t repetitions = std::min(of.size(), to.size());
    if (repetitions == 0) continue;
    by_repetition.resize(count == 0 ? repetitions : std::min(by_repetition.size(), repetitions));
    for (std::size_t i = 0; i < by_repetition.size(); ++i)
      by_repetition[i].push_back(
          {std::log(static_cast<double>(pair.of->first().workload.parameters)), std::log(of[i] / to[i])});
    if (count++ == 0) conditions = describe(pair);
    append(models, model + " b" + std::to_string(pair.of->first().workload.batch));
    const std::vector<Warning> of_pair = warnings_of(pair);
    warnings.insert(warnings.end(), of_pair.begin(), of_pair.end());
  }
  if (count < kMinSizes)
    return {unanswered(quantity, "a slope takes " + std::to_string(kMinSizes) + " models, and there are " +
                                     std::to_string(count) + (missing.empty() ? "" : ": " + missing))};
  std::vector<double> slopes;
  for (const auto& points : by_repetition) slopes.push_back(slope(points));
  ClaimAnswer answer = answered(quantity, arithmetic_mean_estimate(slopes, kMinRepetitions, "repetitions"),
                                models + "; the first: " + conditions);
  answer.warnings = std::move(warnings);
  return {answer};
}

// Trainings of one model on one data set, device and build for the same number of whole epochs.
struct Trainings {
  const Run* first = nullptr;
  std::map<std::uint64_t, std::map<std::int64_t, std::vector<double>>> by_seed;  // for each batch the measure, by repetition
  std::set<std::int64_t> batches;                                                // of all seeds

  std::size_t whole_seeds() const {  // that have all batches
    return static_cast<std::size_t>(
        std::ranges::count_if(by_seed, [&](const auto& seed) { return seed.second.size() == batches.size(); }));
  }
};

constexpr const char* kSquareRoot = "square_root";

// The learning rate over the square root of the batch, as text; "" if it is not known.
std::string rate_over_root(const Workload& work) {
  constexpr std::string_view kRate = " lr=";
  const auto at = work.optimizer.find(kRate);
  if (at == std::string::npos) return "";
  const double rate = std::strtod(work.optimizer.c_str() + at + kRate.size(), nullptr);
  return short_number(rate / std::sqrt(static_cast<double>(work.batch)), 3);
}

// On one backend, those with the most batches, then the most seeds, then the most epochs. Trainings that stopped at a quality
// (--until) are excluded: they reach it by construction, whatever their batch.
std::optional<Trainings> most_trainings(const ClaimQuantity& quantity, const Evidence& evidence, BackendKind backend) {
  std::map<std::tuple<std::size_t, std::string, std::string, std::string, std::string>, Trainings> all;
  const auto of_model = evidence.by_model.find(quantity.models.front());
  if (of_model == evidence.by_model.end()) return std::nullopt;
  for (const Series* series : of_model->second) {
    const bool by_rule = quantity.learning_rate == kSquareRoot;
    const std::string rate = by_rule ? rate_over_root(series->first().workload) : "";
    const bool suited =
        by_rule ? !rate.empty() && suits_but_for("learning_rate", quantity.of, *series) : suits(quantity.of, *series);
    if (series->first().device.backend != backend || !suited) continue;
    // Trainings of one name may have several lengths, from several files.
    for (const Run* run : series->runs) {
      const std::optional<double> value = metric(*run, quantity.measure);
      const std::size_t epochs = epochs_trained(*run);
      if (!value || epochs == 0 || run->timing->stopped_by == StopReason::until) continue;
      Trainings& trainings = all[{epochs, run->workload.dataset, run->device.name, series->origin, rate}];
      trainings.by_seed[run->workload.seed][run->workload.batch].push_back(*value);
      trainings.batches.insert(run->workload.batch);
      if (!trainings.first) trainings.first = run;
    }
  }
  const auto rank = [](const auto& entry) {
    return std::tuple(entry.second.batches.size(), entry.second.whole_seeds(), std::get<0>(entry.first));
  };
  const auto most = std::ranges::max_element(all, {}, rank);
  return most == all.end() ? std::nullopt : std::optional(most->second);
}

// `measure` against log2(batch), one slope for each seed that has all batches.
Answers answer_growing_with_batch(const ClaimQuantity& quantity, const Evidence& evidence) {
  const std::string& model = quantity.models.front();
  std::optional<Trainings> trainings;
  for (const BackendKind backend : quantity.of.backends)
    if (!trainings) trainings = most_trainings(quantity, evidence, backend);
  if (!trainings) return {unanswered(quantity, "no whole epochs were trained: " + why_missing(evidence, quantity.of, model))};
  const std::set<std::int64_t>& batches = trainings->batches;
  if (batches.size() < kMinSizes)
    return {
        unanswered(quantity, "a slope takes " + std::to_string(kMinSizes) + " batches" +
                                 (quantity.learning_rate.empty() ? "" : ", whose learning rates grow with their square roots") +
                                 ", and there are " + std::to_string(batches.size()))};
  std::vector<double> slopes;
  for (const auto& [seed, values] : trainings->by_seed) {
    if (values.size() != batches.size()) continue;
    std::vector<Point> points;
    for (const auto& [batch, repetitions] : values)
      points.push_back({std::log2(static_cast<double>(batch)), mean(repetitions)});
    slopes.push_back(slope(points));
  }
  const Run& shown = *trainings->first;
  return {answered(quantity, arithmetic_mean_estimate(slopes, static_cast<std::size_t>(quantity.least_seeds), "seeds"),
                   model + " on " + shown.workload.dataset + ", " + name(shown.device.backend) + ", batches " +
                       std::to_string(*batches.begin()) + " to " + std::to_string(*batches.rbegin()) + "; " +
                       std::to_string(epochs_trained(shown)) + " epochs, " + std::to_string(slopes.size()) + " seeds")};
}

}  // namespace

ClaimKinds trend_kinds() {
  static constexpr ClaimKind kKinds[] = {
      {.name = "slope",
       .answers =
           [](const ClaimQuantity& quantity, const Evidence& evidence) {
             return (quantity.to ? answer_growing_ratio : answer_growing_with_batch)(quantity, evidence);
           },
       .needs = "models of.backends to.backends over",
       .measures = metric_names,
       .check =
           [](const ClaimQuantity& quantity, const JsonFields& fields) {
             check_word(fields.path("over"), quantity.over, {quantity.to ? kOverParameters : "batch"});
             if (!quantity.learning_rate.empty())
               check_word(fields.path("learning_rate"), quantity.learning_rate, {kSquareRoot});
           }},
  };
  return kKinds;
}

}  // namespace epochbench
