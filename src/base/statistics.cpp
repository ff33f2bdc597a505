#include "src/base/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

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

constexpr double kPi = 3.14159265358979323846;
constexpr double kNormal975 = 1.959963984540054;  // the limit for infinitely many degrees, below every other quantile

// The integral of cos^power between two angles by Simpson's rule; exact to a relative 1e-8 for the angles that occur here.
double cosine_power_integral(double power, double from, double to) {
  constexpr int kPanels = 128;
  const double width = (to - from) / kPanels;
  double sum = std::pow(std::cos(from), power) + std::pow(std::cos(to), power);
  for (int i = 1; i < kPanels; ++i) sum += (i % 2 == 1 ? 4 : 2) * std::pow(std::cos(from + width * i), power);
  return sum * width / 3;
}

// The scale of t's density in terms of an angle, with t = sqrt(degrees) tan(angle).
double density_scale(double degrees) {
  return std::exp(std::lgamma((degrees + 1) / 2) - std::lgamma(degrees / 2)) / std::sqrt(kPi);
}

}  // namespace

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variance(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double center = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - center) * (value - center);
  return squares / static_cast<double>(values.size() - 1);
}

double geometric_mean(std::span<const double> values) {
  double sum = 0;  // relative to the first, so that the mean of equal values is exactly that value
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

std::optional<double> median_if_any(std::vector<double> samples) {
  return samples.empty() ? std::nullopt : std::optional(median(std::move(samples)));
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

Downsampled downsample(std::span<const double> values, std::size_t most) {
  Downsampled kept;
  if (values.size() <= most) {
    kept.indices.resize(values.size());
    std::iota(kept.indices.begin(), kept.indices.end(), std::size_t{0});
    return kept;
  }
  const std::size_t blocks = most / 2;
  kept.every = (values.size() + blocks - 1) / blocks;
  for (std::size_t begin = 0; begin < values.size(); begin += kept.every) {
    const std::size_t end = std::min(begin + kept.every, values.size());
    std::size_t least = begin, greatest = begin;
    for (std::size_t i = begin + 1; i < end; ++i) {
      if (!std::isfinite(values[i])) continue;
      if (!std::isfinite(values[least]) || values[i] < values[least]) least = i;
      if (!std::isfinite(values[greatest]) || values[i] > values[greatest]) greatest = i;
    }
    kept.indices.push_back(std::min(least, greatest));
    if (least != greatest) kept.indices.push_back(std::max(least, greatest));
  }
  return kept;
}

// With t = sqrt(degrees) tan(angle), t's density becomes scale * cos(angle)^(degrees - 1): bounded, and decreasing from 0 on.
// So the distribution function is concave, and Newton's method, started below the quantile, climbs to it without overshooting.
double student_t_bound(double degrees, double error) {
  degrees = std::min(degrees, 1e7);
  const double scale = density_scale(degrees);
  double angle = std::atan(kNormal975 / std::sqrt(degrees));
  for (int i = 0; i < 50; ++i) {
    const double missing = (1 - error) / 2 - scale * cosine_power_integral(degrees - 1, 0, angle);
    const double step = missing / (scale * std::pow(std::cos(angle), degrees - 1));
    angle += step;
    if (std::fabs(step) < 1e-12 * angle) break;
  }
  return std::sqrt(degrees) * std::tan(angle);
}

// The tail from t's angle to the right angle. Beyond t's angle the exponent falls at least linearly with its initial slope, and
// at least like its quadratic approximation at 0: the integral ends where e^-20 is left, so no panel is wasted beyond it.
double student_t_two_sided_p(double t, double degrees) {
  const double angle = std::atan(std::fabs(t) / std::sqrt(degrees));
  double width = kPi / 2 - angle;
  if (degrees > 1) width = std::min(width, std::sqrt(40 / (degrees - 1)));
  if (const double slope = (degrees - 1) * std::tan(angle); slope > 0) width = std::min(width, 20 / slope);
  return std::min(1.0, 2 * density_scale(degrees) * cosine_power_integral(degrees - 1, angle, angle + width));
}

Rejections holm(std::span<const double> p_values, double error) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  Rejections rejections{std::vector<bool>(p_values.size()), error};
  for (std::size_t place = 0; place < order.size(); ++place) {
    rejections.level = error / static_cast<double>(order.size() - place);
    if (p_values[order[place]] > rejections.level) break;
    rejections.rejected[order[place]] = true;
  }
  return rejections;
}

}  // namespace epochbench
