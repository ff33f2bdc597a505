// The transformation to normal numbers, which is too large for the header of Philox.
#include <cmath>
#include <numbers>

#include "epochbench/philox.h"

namespace epochbench {

// Box and Muller, "A note on the generation of random normal deviates", 1958. uniform01 is never 0, so the logarithm is
// finite: no number is larger than 6.8 in magnitude.
std::array<double, 2> normal_pair(std::uint32_t a, std::uint32_t b) {
  const double radius = std::sqrt(-2 * std::log(uniform01(a)));
  const double angle = 2 * std::numbers::pi * uniform01(b);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace epochbench
