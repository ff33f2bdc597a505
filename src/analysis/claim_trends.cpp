// Claims that a number grows with a size.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "src/analysis/claim_kinds.h"

namespace epochbench {
namespace {

constexpr std::size_t kFewestSizes = 3;  // through two points goes a line, whatever they are

struct Point {
  double x, y;
};

// The slope of the least-squares line. Precondition: two different x.
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

// ln(of / to) against ln(parameters), one slope for each repetition, by the pair of each model. All models have as many
// repetitions as the least of them.
Answers answer_growing_ratio(const ClaimQuantity& quantity, const Evidence& evidence) {
  std::vector<std::vector<Point>> by_repetition;
  std::string models, conditions, missing;
  std::size_t count = 0;
  for (const std::string& model : quantity.models) {
    const std::vector<SeriesPair> found = pairs(evidence, quantity, model);
    if (found.empty()) {
      missing = missing.empty() ? why_missing(evidence, quantity.of, model) : missing;
      continue;
    }
    const SeriesPair pair = fastest(found);
    const std::vector<double> of = metrics(*pair.of, quantity.measure), to = metrics(*pair.to, quantity.measure);
    const std::size_t repetitions = std::min(of.size(), to.size());
    if (repetitions == 0) continue;
    by_repetition.resize(count == 0 ? repetitions : std::min(by_repetition.size(), repetitions));
    for (std::size_t i = 0; i < by_repetition.size(); ++i)
      by_repetition[i].push_back(
          {std::log(static_cast<double>(pair.of->first().workload.parameters)), std::log(of[i] / to[i])});
    if (count++ == 0) conditions = describe(pair);
    models += (models.empty() ? "" : ", ") + model;
  }
  if (count < kFewestSizes)
    return {unanswered(quantity, "",
                       "a slope takes " + std::to_string(kFewestSizes) + " models, and there are " + std::to_string(count) +
                           (missing.empty() ? "" : ": " + missing))};
  std::vector<double> slopes;
  for (const auto& points : by_repetition) slopes.push_back(slope(points));
  return {
      answered(quantity, "", arithmetic_mean_estimate(slopes, kFewestRepetitions, "repetitions"), models + "; " + conditions)};
}

// `measure` against log2(batch), one slope for each seed that has all batches. Runs that trained as many whole epochs as the
// first that trained any.
Answers answer_growing_with_batch(const ClaimQuantity& quantity, const Evidence& evidence) {
  const std::string& model = quantity.models.front();
  std::map<std::uint64_t, std::map<std::int64_t, double>> by_seed;
  std::set<std::int64_t> batches;
  const Series* shown = nullptr;
  for (const std::string& backend : quantity.of.backends) {
    for (const Series* series : matching(evidence, quantity.of, model, backend)) {
      const std::vector<double> values = metrics(*series, quantity.measure);
      const bool as_long = !shown || epochs_trained(*series) == epochs_trained(*shown);
      if (values.empty() || epochs_trained(*series) == 0 || !as_long) continue;
      by_seed[series->first().workload.seed].emplace(series->first().workload.batch, mean(values));
      batches.insert(series->first().workload.batch);
      shown = shown ? shown : series;
    }
    if (shown) break;
  }
  if (!shown) return {unanswered(quantity, "", "no whole epochs were trained: " + why_missing(evidence, quantity.of, model))};
  if (batches.size() < kFewestSizes)
    return {unanswered(
        quantity, "",
        "a slope takes " + std::to_string(kFewestSizes) + " batches, and there are " + std::to_string(batches.size()))};
  std::vector<double> slopes;
  for (const auto& [seed, values] : by_seed) {
    if (values.size() != batches.size()) continue;
    std::vector<Point> points;
    for (const auto& [batch, value] : values) points.push_back({std::log2(static_cast<double>(batch)), value});
    slopes.push_back(slope(points));
  }
  return {answered(quantity, "", arithmetic_mean_estimate(slopes, static_cast<std::size_t>(quantity.least_seeds), "seeds"),
                   model + " on " + shown->first().workload.dataset + ", " + shown->first().device.backend + ", batches " +
                       std::to_string(*batches.begin()) + " to " + std::to_string(*batches.rbegin()) + "; " +
                       std::to_string(slopes.size()) + " seeds")};
}

}  // namespace

Answers answer_slope(const ClaimQuantity& quantity, const Evidence& evidence) {
  return quantity.to ? answer_growing_ratio(quantity, evidence) : answer_growing_with_batch(quantity, evidence);
}

}  // namespace epochbench
