// Labels and tolerances of cross entropy, for the tests of all devices.
#pragma once

#include <algorithm>

#include "tests/support/op_tensor.h"
#include "tests/support/shapes.h"

namespace epochbench::test {

enum class Ignored { none, every_third, all };

inline DeviceBuffer<std::int32_t> labels_for(const Matrix& m, Ignored ignored) {
  DeviceBuffer<std::int32_t> labels(m.rows);
  for (std::int64_t r = 0; r < m.rows; ++r) {
    const bool skip = ignored == Ignored::all || (ignored == Ignored::every_third && r % 3 == 1);
    labels[r] = skip ? (r % 2 == 0 ? -1 : -100) : static_cast<std::int32_t>(r * 7919 % std::max<std::int64_t>(m.channels, 2));
  }
  return labels;
}

// log_sum_exp is max + log(sum): one rounding of the result, plus those of the terms of the sum. The CPU's float sums have at
// most 1024 terms, spread over the lanes of a vector.
inline constexpr double kLogError = 8 * kEps;

// exp(l - s) with l - s rounded: |l - s| exp(l - s) is at most 1/e for l <= s. CUDA's fast exponential, of 16-bit logits, adds
// 1.2 |l - s| units, and |l - s| matters up to 24, where exp is the smallest number of fp16.
inline Tolerance cross_entropy_gradient_tolerance(Element element, double weight) {
  return stored(element, {(element == Element::f32 ? 2 : 32) * kEps, 4 * kEps * weight});
}

}  // namespace epochbench::test
