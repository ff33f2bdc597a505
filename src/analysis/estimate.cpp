#include "src/analysis/estimate.h"

#include <algorithm>
#include <cmath>

#include "src/base/significance.h"
#include "src/base/statistics.h"

namespace epochbench {
namespace {

// Of ln(value / first value): relative to the first, equal values are exactly 0, however large they are.
struct LogMoments {
  double mean = 0, variance_of_mean = 0, degrees = 0;
};

LogMoments log_moments(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  LogMoments moments;
  for (const double value : values) moments.mean += (std::log(value) - std::log(values[0])) / n;
  double squares = 0;
  for (const double value : values) {
    const double apart = std::log(value) - std::log(values[0]) - moments.mean;
    squares += apart * apart;
  }
  moments.degrees = n - 1;
  if (n > 1) moments.variance_of_mean = squares / (n - 1) / n;
  return moments;
}

bool all_positive(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value) && value > 0; });
}

// Half of Welch's interval of the difference of the means. The degrees of freedom are Satterthwaite's.
double half_width(const LogMoments& a, const LogMoments& b) {
  const double variance = a.variance_of_mean + b.variance_of_mean;
  if (variance == 0) return 0;
  const double share_a = a.variance_of_mean / variance, share_b = b.variance_of_mean / variance;
  return student_t_975(1 / (share_a * share_a / a.degrees + share_b * share_b / b.degrees)) * std::sqrt(variance);
}

Estimate unknown(std::string reason) { return {std::numeric_limits<double>::quiet_NaN(), std::nullopt, std::move(reason)}; }

// From value / factor to value * factor, an interval of logarithms.
Estimate with_interval(Estimate estimate, double factor) {
  const std::pair<double, double> interval{estimate.value / factor, estimate.value * factor};
  if (std::isfinite(interval.second) && interval.first > 0)
    estimate.ci95 = interval;
  else
    estimate.reason = "the interval is beyond the range of numbers";
  return estimate;
}

}  // namespace

Estimate ratio_estimate(std::span<const double> baseline, std::span<const double> contender) {
  if (baseline.empty() || contender.empty()) return unknown("a side has no repetition");
  if (!all_positive(baseline) || !all_positive(contender)) return unknown("a repetition has no number above 0");
  const LogMoments below = log_moments(baseline), above = log_moments(contender);
  Estimate estimate;
  estimate.value = contender[0] / baseline[0] * std::exp(above.mean - below.mean);
  if (!std::isfinite(estimate.value) || estimate.value == 0) return unknown("the ratio is beyond the range of numbers");
  if (std::min(baseline.size(), contender.size()) < kFewestRepetitions) {
    estimate.reason = "an interval takes " + std::to_string(kFewestRepetitions) + " repetitions per side, and there are " +
                      std::to_string(baseline.size()) + " of the baseline and " + std::to_string(contender.size()) +
                      " of the contender";
    return estimate;
  }
  return with_interval(estimate, std::exp(half_width(below, above)));
}

Estimate geometric_mean_estimate(std::span<const double> values) {
  if (values.empty()) return unknown("there is no repetition");
  if (!all_positive(values)) return unknown("a repetition has no number above 0");
  const LogMoments moments = log_moments(values);
  Estimate estimate;
  estimate.value = values[0] * std::exp(moments.mean);
  if (!std::isfinite(estimate.value) || estimate.value == 0) return unknown("the mean is beyond the range of numbers");
  if (values.size() < kFewestRepetitions) {
    estimate.reason = "an interval takes " + std::to_string(kFewestRepetitions) + " repetitions, and there " +
                      (values.size() == 1 ? "is 1" : "are " + std::to_string(values.size()));
    return estimate;
  }
  const double factor =
      moments.variance_of_mean == 0 ? 1 : std::exp(student_t_975(moments.degrees) * std::sqrt(moments.variance_of_mean));
  return with_interval(estimate, factor);
}

Estimate arithmetic_mean_estimate(std::span<const double> values, std::size_t fewest, const std::string& unit) {
  Estimate estimate;
  if (values.empty()) {
    estimate.reason = "no " + unit + " has the number";
    return estimate;
  }
  estimate.value = mean(values);
  if (!std::isfinite(estimate.value)) {
    estimate.reason = "the mean is beyond the range of numbers";
    return estimate;
  }
  const std::size_t needed = std::max<std::size_t>(fewest, 2);
  if (values.size() < needed) {
    estimate.reason =
        "an interval takes " + std::to_string(needed) + " " + unit + ", and there are " + std::to_string(values.size());
    return estimate;
  }
  double squares = 0;
  for (const double value : values) squares += (value - estimate.value) * (value - estimate.value);
  const auto n = static_cast<double>(values.size());
  const double half = student_t_975(n - 1) * std::sqrt(squares / (n - 1) / n);
  if (std::isfinite(half))
    estimate.ci95 = {estimate.value - half, estimate.value + half};
  else
    estimate.reason = "the interval is beyond the range of numbers";
  return estimate;
}

}  // namespace epochbench
