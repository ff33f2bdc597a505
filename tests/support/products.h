// What the tests of matrix products and convolutions share.
#pragma once

#include <cmath>

#include "tests/support/compare.h"

namespace epochbench::test {

// Of a float sum of `terms` products of values in (-1, 1): every addition rounds by eps/2 of the partial sum, which is of the
// size of the result or of sqrt(terms), and the errors add up like a random walk. Margins of 4 and 8.
inline Tolerance product_tolerance(std::int64_t terms) {
  const double steps = std::sqrt(static_cast<double>(terms));
  return {4 * kEps * steps, 8 * kEps * steps};
}

}  // namespace epochbench::test
