// Tolerances that the tests of matrix products and convolutions share.
#pragma once

#include <cmath>

#include "tests/support/compare.h"

namespace epochbench::test {

// For a float sum of `terms` products of values in (-1, 1): every addition rounds by eps/2 of the partial sum, whose magnitude
// is that of the result or sqrt(terms), and the errors add up like a random walk. Margins of 4 and 8.
inline Tolerance product_tolerance(std::int64_t terms) {
  const double steps = std::sqrt(static_cast<double>(terms));
  return {4 * kEps * steps, 8 * kEps * steps};
}

// For a convolution of `channels` by Winograd's F(4x4, 3x3) with the points of conv2d/winograd.cpp, for independent inputs and
// weights in (-1, 1), whose variance is 1/3. Along one axis position p has |B_p|^2 |G_p|^2 = w_p times their variances'
// product: 8.25, 5.83, 5.83, 0.73, 0.73, 8.25; and output i adds up the errors of the positions by the squares of A: the sum
// over p of A_pi^2 w_p is 21.4, 8.75, 8.75, 21.4, where direct sums have 3.
//   Sums. n additions that round by at most eps/2 of partial sums of variance k/9 err by eps n / 14.7 (root mean
//   square). Over both axes partial sums are up to 21.4 / 3 = 7.1 times as large as those of direct sums, but of `channels`
//   terms instead of 9 times that: 7.1 / 3 = 2.4 times the error of direct sums, 1.5 eps channels. Over all 16 outputs the root
//   mean square is (21.4 + 8.75) / 2 / 9 = 1.67 times.
//   Transforms. About ten roundings by 0.29 eps of a product's two factors: 0.9 eps of 21.4 / 3 sqrt(channels).
// A margin of six such deviations.
constexpr double kWinogradMeanGrowth = 1.67;
inline Tolerance winograd_tolerance(std::int64_t channels) {
  const double sums = 1.5 * static_cast<double>(channels), transforms = 6.4 * std::sqrt(static_cast<double>(channels));
  return {2 * kEps, 6 * kEps * std::hypot(sums, transforms)};
}

}  // namespace epochbench::test
