#include "bench/standings.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace epochbench::bench {
namespace {

void expect_equal(std::size_t left, std::size_t right) {
  if (left != right)
    throw std::invalid_argument(std::to_string(left) + " rounds cannot be compared with " + std::to_string(right));
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

Rounds geometric_means(const std::vector<Rounds>& problems) {
  if (problems.empty()) return {};
  Rounds result(problems.front().size());
  for (const Rounds& rounds : problems) {
    expect_equal(result.size(), rounds.size());
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += std::log(rounds[i]);
  }
  for (double& value : result) value = std::exp(value / static_cast<double>(problems.size()));
  return result;
}

Rounds totals(const std::vector<Rounds>& problems, const std::vector<double>& counts) {
  expect_equal(problems.size(), counts.size());
  if (problems.empty()) return {};
  Rounds result(problems.front().size());
  for (std::size_t p = 0; p < problems.size(); ++p) {
    expect_equal(result.size(), problems[p].size());
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += counts[p] * problems[p][i];
  }
  return result;
}

Rounds scaling(const Rounds& seconds, const Rounds& seconds_of_one, const Rounds& peaks, const Rounds& peaks_of_one) {
  return quotients(quotients(seconds_of_one, seconds), quotients(peaks, peaks_of_one));
}

double roofline(double flops, double bytes, double peak_flops_per_second, double bytes_per_second) {
  return std::min(peak_flops_per_second, flops / (bytes / bytes_per_second));
}

}  // namespace epochbench::bench
