// Statistics of plain numbers: pure functions, by which nothing is ever dropped. Tests and their errors: significance.h;
// Hodges and Lehmann's estimate: rank_shift.h.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace epochbench {

using Interval = std::pair<double, double>;

inline constexpr int kBootstrapResamples = 1000;
// Above this many samples the bootstrap's interval and that of the order statistics lie within a rank or two in hundreds,
// and the former would take seconds.
inline constexpr std::size_t kBootstrapSamples = 10000;

double mean(std::span<const double> values);  // NaN without values
// Of positive values; precondition: at least one. The mean of equal values is exactly theirs.
double geometric_mean(std::span<const double> values);

// Errors of all that follow: std::invalid_argument without samples.
double median(std::vector<double> samples);                    // of an even number, the mean of the middle two
double quantile(const std::vector<double>& sorted, double q);  // linear between neighbors; q from 0 to 1

// 95 % percentile bootstrap interval of the median (Efron, "Bootstrap methods: another look at the jackknife", 1979).
// Resample r draws its element i by Philox, key 0, counter (i / 4, r, 0, RandomStream::bootstrap), as
// floor(word * n / 2^32) into the sorted samples: anyone can compute it again from a file's raw numbers.
Interval median_interval(const std::vector<double>& samples);

// 95 % interval of the median between two order statistics (the sign test turned around); no distribution is assumed.
// Cheap, and never narrower than 95 % allows; below 6 samples it is the whole range.
Interval median_interval_by_rank(std::vector<double> samples);

// Half the width of median_interval_by_rank over the median; infinite if the median is not positive.
double relative_noise(const std::vector<double>& samples);

}  // namespace epochbench
