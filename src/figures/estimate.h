// A measured quantity with its interval: pure functions over one number per repetition.
//
// The unit is the repetition, a process of its own, never the step. Steps of one process share its offset (where its memory is,
// what else ran meanwhile) and follow each other, so an interval of pooled steps contains the truth far less often than it
// claims: Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace epochbench {

struct Estimate {
  double value = std::numeric_limits<double>::quiet_NaN();  // not finite: not known
  std::optional<std::pair<double, double>> ci95 = {};       // of the value
  std::string reason = {};                                  // why the interval or the value is unknown; empty if both are known
};

// Below this, Student's quantile is so large that the interval says little.
inline constexpr std::size_t kMinRepetitions = 5;

// contender / baseline, of one positive number per repetition on each side; the sides are not paired and may differ in number.
//
// The value is the ratio of the geometric means; the interval is Welch's on the logarithms ("The generalization of 'Student's'
// problem when several different population variances are involved", Biometrika 34, 1947), so swapping the sides gives the
// inverse. docs/statistics.md says why the interval is not one of ranks, and how often it contains the truth.
//
// No interval for fewer than kMinRepetitions per side; no value if a side is empty or has a number that is not positive and
// finite. The reason says which.
//
// `error`: the probability with which the interval misses the truth, at most kError: less where the best of several is chosen.
inline constexpr double kError = 0.05;
Estimate ratio_estimate(std::span<const double> baseline, std::span<const double> contender, double error = kError);

// Why the ratio of two points of a curve has no interval if one of them has this few repetitions.
std::string too_few_per_point(std::size_t repetitions);

// The geometric mean of one positive number per repetition, with Student's interval on the logarithms. No interval for fewer
// than kMinRepetitions; no value if there is none, or one that is not positive and finite.
Estimate geometric_mean_estimate(std::span<const double> values, double error = kError);

// The arithmetic mean and Student's 95 % interval, for at least `fewest` values (repetitions, seeds: `unit` in the reason).
Estimate arithmetic_mean_estimate(std::span<const double> values, std::size_t fewest, const std::string& unit,
                                  double error = kError);

enum class Spread : std::uint8_t {
  none,
  range,  // from the smallest to the largest: rounds of one group, or fewer groups than an interval takes
  ci95    // Student's, on the logarithms of at least kMinRepetitions groups
};

// A positive quantity of processes that were measured repeatedly: repetitions of a case, or interleaved groups of several.
// Rounds of one group share its processes, so they support a range but not an interval.
struct GroupEstimate {
  double value = 0;
  std::pair<double, double> interval;  // of the kind given by `spread`
  Spread spread = Spread::none;
  std::size_t count = 1;  // of repetitions or groups

  std::optional<std::pair<double, double>> ends(Spread wanted) const {
    return spread == wanted ? std::optional(interval) : std::nullopt;
  }
};

// The geometric mean of one positive number per repetition or group; a single one has no spread. Precondition: at least one.
GroupEstimate estimate_of_groups(const std::vector<double>& values);

// rounds[group][round], all positive: a group's number is the median of its rounds. Errors: std::invalid_argument without any.
GroupEstimate estimate_of_rounds(const std::vector<std::vector<double>>& rounds);

}  // namespace epochbench
