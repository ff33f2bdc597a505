#include "src/base/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "epochbench/philox.h"

namespace epochbench {
namespace {

void require_samples(const std::vector<double>& samples) {
  if (samples.empty()) throw std::invalid_argument("statistics of no samples");
}

double select(std::vector<double>& samples, std::size_t rank) {
  const auto at = samples.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(samples.begin(), at, samples.end());
  return *at;
}

// The median of resample `index` of the sorted samples; `count` is scratch, one entry per sample. Counting how often each
// rank was drawn replaces a selection among the drawn values.
double resampled_median(const std::vector<double>& sorted, std::uint32_t index, std::vector<std::uint32_t>& count) {
  const std::size_t n = sorted.size();
  std::fill(count.begin(), count.end(), 0u);
  for (std::size_t i = 0; i < n; i += 4) {
    const PhiloxBlock block =
        philox(0, {static_cast<std::uint32_t>(i / 4), index, 0, static_cast<std::uint32_t>(RandomStream::bootstrap)});
    for (std::size_t j = 0; j < std::min<std::size_t>(4, n - i); ++j) ++count[(std::uint64_t{block[j]} * n) >> 32];
  }
  const std::size_t lower = (n - 1) / 2, upper = n / 2;
  std::size_t seen = 0, rank = 0;
  while (seen + count[rank] <= lower) seen += count[rank++];
  const double low = sorted[rank];
  while (seen + count[rank] <= upper) seen += count[rank++];
  return low + (sorted[rank] - low) / 2;
}

// The largest number of samples that may lie beyond each end of a 95 % interval of the median of n: the quantile of
// Binomial(n, 1/2) at 2.5 %, exact while 2^-n is a normal double.
std::size_t samples_beyond(std::size_t n) {
  if (n > 1000) return static_cast<std::size_t>((static_cast<double>(n) - 1.96 * std::sqrt(static_cast<double>(n))) / 2 - 1);
  double probability = std::ldexp(1.0, -static_cast<int>(n)), cumulative = probability;
  std::size_t beyond = 0;
  while (cumulative <= 0.025) {
    ++beyond;
    probability *= static_cast<double>(n - beyond + 1) / static_cast<double>(beyond);
    cumulative += probability;
  }
  return beyond == 0 ? 0 : beyond - 1;
}

}  // namespace

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double geometric_mean(std::span<const double> values) {
  double sum = 0;  // relative to the first, so that the mean of equal values is exactly theirs
  for (const double value : values) sum += std::log(value) - std::log(values[0]);
  return values[0] * std::exp(sum / static_cast<double>(values.size()));
}

double median(std::vector<double> samples) {
  require_samples(samples);
  const double upper = select(samples, samples.size() / 2);
  if (samples.size() % 2 == 1) return upper;
  const double lower = *std::max_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2));
  return lower + (upper - lower) / 2;
}

double quantile(const std::vector<double>& sorted, double q) {
  require_samples(sorted);
  const double position = q * static_cast<double>(sorted.size() - 1);
  const std::size_t below = static_cast<std::size_t>(position), above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Interval median_interval(const std::vector<double>& samples) {
  require_samples(samples);
  if (samples.size() > kBootstrapSamples) return median_interval_by_rank(samples);
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::uint32_t> count(sorted.size());
  std::vector<double> medians(kBootstrapResamples);
  for (int r = 0; r < kBootstrapResamples; ++r)
    medians[static_cast<std::size_t>(r)] = resampled_median(sorted, static_cast<std::uint32_t>(r), count);
  std::sort(medians.begin(), medians.end());
  return {quantile(medians, 0.025), quantile(medians, 0.975)};
}

Interval median_interval_by_rank(std::vector<double> samples) {
  require_samples(samples);
  // P(more than `beyond` samples fall on one side) <= 2.5 %: the interval's ends are the next ones.
  const std::size_t n = samples.size(), beyond = samples_beyond(n);
  const double low = select(samples, beyond), high = select(samples, n - 1 - beyond);
  return {low, high};
}

double relative_noise(const std::vector<double>& samples) {
  const double middle = median(samples);
  if (!(middle > 0)) return std::numeric_limits<double>::infinity();
  const Interval interval = median_interval_by_rank(samples);
  return (interval.second - interval.first) / 2 / middle;
}

}  // namespace epochbench
