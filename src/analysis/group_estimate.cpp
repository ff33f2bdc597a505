#include "src/analysis/group_estimate.h"

#include <algorithm>
#include <stdexcept>

#include "src/analysis/estimate.h"
#include "src/base/statistics.h"

namespace epochbench {
namespace {

std::pair<double, double> range_of(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, *high};
}

}  // namespace

GroupEstimate estimate_of_groups(const std::vector<double>& values) {
  if (values.size() == 1) return {values[0], {values[0], values[0]}, Spread::none};
  const Estimate estimate = geometric_mean_estimate(values);
  if (estimate.ci95) return {estimate.value, *estimate.ci95, Spread::ci95};
  return {estimate.value, range_of(values), Spread::range};
}

GroupEstimate estimate_of_rounds(const std::vector<std::vector<double>>& rounds) {
  if (rounds.empty()) throw std::invalid_argument("an estimate of no rounds");
  std::vector<double> medians;
  for (const std::vector<double>& group : rounds) medians.push_back(median(group));
  if (rounds.size() > 1) return estimate_of_groups(medians);
  return {medians[0], range_of(rounds[0]), Spread::range};
}

}  // namespace epochbench
