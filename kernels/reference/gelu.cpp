// The Gaussian error linear unit in its erf form (Hendrycks and Gimpel 2016), using the C library's erfc: accurate in both
// tails.
#include <cmath>
#include <numbers>

#include "kernels/reference/kernels.h"

namespace epochbench::reference {

namespace {

double normal_probability(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

double normal_density(double x) { return std::exp(-0.5 * x * x) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2); }

}  // namespace

void gelu(float* y, const float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i] * normal_probability(x[i]));
}

void gelu_grad(float* dx, const float* dy, const float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    dx[i] = static_cast<float>(dy[i] * (normal_probability(x[i]) + x[i] * normal_density(x[i])));
}

}  // namespace epochbench::reference
