#include "bench/standings.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "epochbench/philox.h"

namespace epochbench::bench {
namespace {

void expect_equal(std::size_t left, std::size_t right) {
  if (left != right)
    throw std::invalid_argument(std::to_string(left) + " figures cannot be compared with " + std::to_string(right));
}

// As many of `count` rounds, with repetitions.
std::vector<std::size_t> draw(std::size_t count, int resample, std::size_t problem) {
  std::vector<std::size_t> drawn(count);
  for (std::size_t i = 0; i < count; ++i) {
    const PhiloxBlock words =
        philox(0, {static_cast<std::uint32_t>(i / 4), static_cast<std::uint32_t>(resample), static_cast<std::uint32_t>(problem),
                   static_cast<std::uint32_t>(RandomStream::bootstrap)});
    drawn[i] = static_cast<std::size_t>((std::uint64_t{words[i % 4]} * count) >> 32);
  }
  return drawn;
}

}  // namespace

Estimate estimate(const Rounds& rounds) { return {median(rounds), median_interval(rounds)}; }

Rounds quotients(const Rounds& left, const Rounds& right) {
  expect_equal(left.size(), right.size());
  Rounds result(left.size());
  std::transform(left.begin(), left.end(), right.begin(), result.begin(), [](double l, double r) { return l / r; });
  return result;
}

Rounds rates(double work, const Rounds& seconds) {
  Rounds result(seconds.size());
  std::transform(seconds.begin(), seconds.end(), result.begin(), [work](double s) { return work / s; });
  return result;
}

Estimate summarize(const std::vector<std::vector<Rounds>>& problems, const Summary& summary) {
  Medians medians;
  for (const std::vector<Rounds>& figures : problems) {
    medians.emplace_back();
    for (const Rounds& rounds : figures) {
      expect_equal(figures.front().size(), rounds.size());
      medians.back().push_back(median(rounds));
    }
  }
  const double of_all = summary(medians);
  std::vector<double> resampled;
  for (int r = 0; r < kBootstrapResamples; ++r) {
    for (std::size_t p = 0; p < problems.size(); ++p) {
      const std::vector<std::size_t> drawn = draw(problems[p].front().size(), r, p);
      for (std::size_t f = 0; f < problems[p].size(); ++f) {
        Rounds rounds;
        for (const std::size_t i : drawn) rounds.push_back(problems[p][f][i]);
        medians[p][f] = median(std::move(rounds));
      }
    }
    resampled.push_back(summary(medians));
  }
  std::sort(resampled.begin(), resampled.end());
  constexpr std::size_t kTail = kBootstrapResamples / 40;  // 2.5 % on either side
  return {of_all, {resampled[kTail], resampled[kBootstrapResamples - 1 - kTail]}};
}

double geometric_mean(const Medians& medians) {
  double sum = 0;
  for (const std::vector<double>& figures : medians) sum += std::log(figures[0]);
  return std::exp(sum / static_cast<double>(medians.size()));
}

double total(const Medians& medians, const std::vector<double>& counts, std::size_t figure) {
  expect_equal(medians.size(), counts.size());
  double sum = 0;
  for (std::size_t p = 0; p < medians.size(); ++p) sum += counts[p] * medians[p][figure];
  return sum;
}

double ratio_of_totals(const Medians& medians, const std::vector<double>& counts) {
  return total(medians, counts, 1) / total(medians, counts, 0);
}

Rounds scaling(const Rounds& seconds, const Rounds& seconds_of_one, const Rounds& peaks, const Rounds& peaks_of_one) {
  return quotients(quotients(seconds_of_one, seconds), quotients(peaks, peaks_of_one));
}

double roofline(double flops, double bytes, double peak_flops_per_second, double bytes_per_second) {
  return std::min(peak_flops_per_second, flops / (bytes / bytes_per_second));
}

}  // namespace epochbench::bench
