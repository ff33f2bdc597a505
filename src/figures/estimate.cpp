#include "src/figures/estimate.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "src/base/statistics.h"

namespace epochbench {
namespace {

// Averages ln(value / values[0]), so equal values give exactly 0 whatever their size.
struct LogMoments {
  double mean, variance_of_mean, degrees;
};

LogMoments log_moments(std::span<const double> values) {
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value) - std::log(values[0]));
  const auto n = static_cast<double>(values.size());
  return {mean(logs), variance(logs) / n, n - 1};
}

bool all_positive(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value) && value > 0; });
}

// Half of Welch's interval for the difference of the means, with Satterthwaite's degrees of freedom.
double half_width(const LogMoments& a, const LogMoments& b, double error) {
  const double variance = a.variance_of_mean + b.variance_of_mean;
  if (variance == 0) return 0;
  const double share_a = a.variance_of_mean / variance, share_b = b.variance_of_mean / variance;
  return student_t_bound(1 / (share_a * share_a / a.degrees + share_b * share_b / b.degrees), error) * std::sqrt(variance);
}

// With an interval if it is in range, otherwise the reason.
Estimate with_interval(double value, double low, double high, bool in_range) {
  if (in_range && std::isfinite(low) && std::isfinite(high)) return {value, {{low, high}}, ""};
  return {value, std::nullopt, "the interval is beyond the range of numbers"};
}

// The interval of a logarithm, from its half width.
Estimate with_log_interval(double value, double half) {
  const double factor = std::exp(half);
  return with_interval(value, value / factor, value * factor, value / factor > 0);
}

std::string how_many(std::size_t fewest, const char* unit) {
  return "an interval takes " + std::to_string(fewest) + " " + unit + " (--repetitions " + std::to_string(fewest) + ")";
}

}  // namespace

std::string too_few_per_point(std::size_t repetitions) {
  return how_many(kMinRepetitions, "repetitions per point") + "; there " + (repetitions == 1 ? "is " : "are ") +
         std::to_string(repetitions);
}

namespace {

std::pair<double, double> range_of(const std::vector<double>& values) {
  const auto [low, high] = std::ranges::minmax_element(values);
  return {*low, *high};
}

}  // namespace

Estimate ratio_estimate(std::span<const double> baseline, std::span<const double> contender, double error) {
  if (baseline.empty() || contender.empty()) return {.reason = "a side has no repetition"};
  if (!all_positive(baseline) || !all_positive(contender)) return {.reason = "a repetition has no number above 0"};
  const LogMoments below = log_moments(baseline), above = log_moments(contender);
  const double ratio = contender[0] / baseline[0] * std::exp(above.mean - below.mean);
  if (!std::isfinite(ratio) || ratio == 0) return {.reason = "the ratio is beyond the range of numbers"};
  if (std::min(baseline.size(), contender.size()) < kMinRepetitions)
    return {ratio, std::nullopt,
            how_many(kMinRepetitions, "repetitions per side") + "; the baseline has " + std::to_string(baseline.size()) +
                ", the contender " + std::to_string(contender.size())};
  return with_log_interval(ratio, half_width(below, above, error));
}

Estimate geometric_mean_estimate(std::span<const double> values, double error) {
  if (values.empty()) return {.reason = "no repetition was measured"};
  if (!all_positive(values)) return {.reason = "a repetition has no number above 0"};
  const LogMoments moments = log_moments(values);
  const double center = values[0] * std::exp(moments.mean);
  if (!std::isfinite(center) || center == 0) return {.reason = "the mean is beyond the range of numbers"};
  if (values.size() < kMinRepetitions)
    return {center, std::nullopt,
            how_many(kMinRepetitions, "repetitions") + (values.size() == 1 ? "; there is " : "; there are ") +
                std::to_string(values.size())};
  return with_log_interval(center, student_t_bound(moments.degrees, error) * std::sqrt(moments.variance_of_mean));
}

Estimate arithmetic_mean_estimate(std::span<const double> values, std::size_t fewest, const std::string& unit, double error) {
  if (values.empty()) return {.reason = "no " + unit + " has the number"};
  const double center = mean(values);
  if (!std::isfinite(center)) return {center, std::nullopt, "the mean is beyond the range of numbers"};
  const std::size_t needed = std::max<std::size_t>(fewest, 2);
  if (values.size() < needed)
    return {center, std::nullopt,
            "an interval takes " + std::to_string(needed) + " " + unit +
                (values.size() == 1 ? ", and there is " : ", and there are ") + std::to_string(values.size())};
  const auto n = static_cast<double>(values.size());
  const double half = student_t_bound(n - 1, error) * std::sqrt(variance(values) / n);
  return with_interval(center, center - half, center + half, true);
}

GroupEstimate estimate_of_groups(const std::vector<double>& values) {
  if (values.size() == 1) return {values[0], {values[0], values[0]}, Spread::none};
  const Estimate estimate = geometric_mean_estimate(values);
  if (estimate.ci95) return {estimate.value, *estimate.ci95, Spread::ci95, values.size()};
  return {estimate.value, range_of(values), Spread::range, values.size()};
}

GroupEstimate estimate_of_rounds(const std::vector<std::vector<double>>& rounds) {
  if (rounds.empty()) throw std::invalid_argument("an estimate of no rounds");
  std::vector<double> medians;
  for (const std::vector<double>& group : rounds) medians.push_back(median(group));
  if (rounds.size() > 1) return estimate_of_groups(medians);
  return {medians[0], range_of(rounds[0]), Spread::range};
}

}  // namespace epochbench
