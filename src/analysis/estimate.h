// A measured quantity with its interval: pure functions over one number per repetition.
//
// The unit is the repetition, a process of its own, never the step. Steps of one process share its offset (where its memory
// lies, what else ran meanwhile) and follow each other, so an interval of pooled steps holds the truth far less often than it
// says: Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace epochbench {

struct Estimate {
  double value = std::numeric_limits<double>::quiet_NaN();  // not finite: not known
  std::optional<std::pair<double, double>> ci95;            // of the value
  std::string reason;                                       // why there is no interval, or no value; empty where both are
};

// Below, a t quantile is so large (4 per side: 2.4 to 3.2, and the deviation of 3 values is a guess) that the interval says
// little.
inline constexpr std::size_t kFewestRepetitions = 5;

// contender / baseline, of one positive number per repetition on each side; the sides are not paired and may differ in number.
//
// The value is the ratio of the geometric means; the interval is Welch's on the logarithms ("The generalization of 'Student's'
// problem when several different population variances are involved", Biometrika 34, 1947). Logarithms make it an interval of
// the ratio, and symmetric: swapped sides give the inverse. Welch's rather than one of ranks (Hodges and Lehmann's shift
// between the bounds of Mann and Whitney's test), which assumes that both sides vary alike, as a GPU and a CPU do not. Of 1,000
// pairs simulated in tests/analysis/estimate_test.cpp, where processes differ by Student's t noise with spikes among their
// steps, Welch's held the truth in 972 and 961 (5 and 10 repetitions; ranks 978 and 956), with a mean width of 14 and 9 % (16
// and 9 %); with one side quiet in 948 to 962 (ranks 883 to 950).
//
// No interval of fewer than kFewestRepetitions per side; no value where a side is empty or has a number that is not positive
// and finite. The reason says which.
Estimate ratio_estimate(std::span<const double> baseline, std::span<const double> contender);

// The geometric mean of one positive number per repetition, with Student's interval on the logarithms. No interval of fewer
// than kFewestRepetitions; no value where there is none, or one that is not positive and finite.
Estimate geometric_mean_estimate(std::span<const double> values);

// The arithmetic mean and Student's 95 % interval, of at least `fewest` values (repetitions, seeds: `unit` in the reason).
Estimate arithmetic_mean_estimate(std::span<const double> values, std::size_t fewest, const std::string& unit);

}  // namespace epochbench
