#include "src/data/mixup.h"

#include <cmath>

#include "epochbench/philox.h"

namespace epochbench {
namespace {

// The logarithm of a gamma variate, as a small shape gives values outside the range of double (Marsaglia and Tsang 2000; below
// shape 1 from that of shape + 1 and a uniform number). `which`: 0 or 1, of the two for a share.
double log_gamma_variate(double shape, std::uint32_t which, const SampleDraw& draw) {
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (std::uint32_t attempt = 0;; ++attempt) {
    const PhiloxBlock numbers =
        philox(draw.seed, {2 * attempt + which, static_cast<std::uint32_t>(draw.epoch), static_cast<std::uint32_t>(draw.sample),
                           static_cast<std::uint32_t>(RandomStream::mixup)});
    const double normal = normal_pair(numbers[0], numbers[1])[0], root = 1 + c * normal, v = root * root * root;
    if (v <= 0 || std::log(uniform01(numbers[2])) >= normal * normal / 2 + d - d * v + d * std::log(v)) continue;
    return std::log(d * v) + (shape < 1 ? std::log(uniform01(numbers[3])) / shape : 0);
  }
}

}  // namespace

float mixup_share(double alpha, const SampleDraw& draw) {
  const double one = log_gamma_variate(alpha, 0, draw), other = log_gamma_variate(alpha, 1, draw);
  return static_cast<float>(1 / (1 + std::exp(other - one)));
}

}  // namespace epochbench
