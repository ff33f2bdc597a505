// Statistics of plain numbers: pure functions that never drop an outlier. The Hodges-Lehmann estimate: rank_shift.h.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace epochbench {

using Interval = std::pair<double, double>;

inline constexpr int kBootstrapResamples = 1000;
// Above this many samples, the bootstrap interval and that of the order statistics differ by a rank or two in hundreds,
// and the former would take seconds.
inline constexpr std::size_t kBootstrapSamples = 10000;

double mean(std::span<const double> values);      // NaN without values
double variance(std::span<const double> values);  // of a sample: over n - 1; 0 for fewer than two values
// Precondition: at least one value, all positive. The mean of equal values is exactly that value.
double geometric_mean(std::span<const double> values);

// The median; empty without samples.
std::optional<double> median_if_any(std::vector<double> samples);

// Errors of all that follow: std::invalid_argument without samples.
double median(std::vector<double> samples);                    // for an even number, the mean of the middle two
double quantile(const std::vector<double>& sorted, double q);  // linear between neighbors; q from 0 to 1

// 95 % percentile bootstrap interval of the median (Efron, "Bootstrap methods: another look at the jackknife", 1979).
// Resample r draws its element i by Philox, key 0, counter (i / 4, r, 0, RandomStream::bootstrap), as
// floor(word * n / 2^32) into the sorted samples: anyone can recompute it from a file's raw numbers.
Interval median_interval(const std::vector<double>& samples);

// 95 % interval of the median between two order statistics (the inverted sign test); no distribution is assumed.
// Cheap, and never narrower than 95 % allows; below 6 samples it is the whole range.
Interval median_interval_by_rank(std::vector<double> samples);

// Half the width of median_interval_by_rank over the median; infinite if the median is not positive.
double relative_noise(const std::vector<double>& samples);

// Which samples of a long series a chart shows: extremes are kept, so that the chart loses no spike.
struct Downsampled {
  std::size_t every = 1;             // 1: all are kept; k: the minimum and the maximum of each k in a row
  std::vector<std::size_t> indices;  // of the kept samples, ascending
};

// Keeps at most `most` of the values, an even number of at least 2; k is the smallest that fits. A value that is not finite is
// kept only if none of its k is finite.
Downsampled downsample(std::span<const double> values, std::size_t most);

// Student's t distribution, as far as intervals and tests of two means need it.
//
// Half of an interval that misses with probability `error`, above 0 and at most 0.05, in standard errors: at 0.05, 12.706 for
// 1 degree of freedom, 1.960 for infinitely many. Degrees need not be whole; it is within 1e-6 for more than 1e7. Precondition:
// at least 1.
double student_t_bound(double degrees_of_freedom, double error);

// The probability of a t at least this far from 0, to either side; exact to a relative 1e-5, however small it is.
// Precondition: at least 1 degree of freedom.
double student_t_two_sided_p(double t, double degrees_of_freedom);

struct Rejections {
  std::vector<bool> rejected;  // one per p-value
  double level = 0;            // the level that the smallest p-value not rejected had to reach; if all were, that of the last
};

// Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979: the smallest
// p-value is compared with error / n, the next with error / (n - 1), and so on until one is above. Whatever the dependence
// between the tests, the probability of rejecting any true hypothesis is at most `error`.
Rejections holm(std::span<const double> p_values, double error);

}  // namespace epochbench
