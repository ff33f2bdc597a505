// The Gaussian error linear unit in its erf and its tanh form (Hendrycks and Gimpel 2016). Both are accurate in both tails: the
// first uses the C library's erfc, the second is x times the logistic function, since (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)).
#include <cmath>
#include <numbers>

#include "kernels/reference/kernels.h"

namespace epochbench::reference {

namespace {

double normal_probability(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

double normal_density(double x) { return std::exp(-0.5 * x * x) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2); }

constexpr double kCubic = 0.044715;
constexpr double kRootTwoOverPi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;

double logistic(double x) { return 1 / (1 + std::exp(-2 * kRootTwoOverPi * (x + kCubic * x * x * x))); }

}  // namespace

void gelu(float* y, const float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i] * normal_probability(x[i]));
}

void gelu_grad(float* dx, const float* dy, const float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    dx[i] = static_cast<float>(dy[i] * (normal_probability(x[i]) + x[i] * normal_density(x[i])));
}

void gelu_tanh(float* y, const float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i] * logistic(x[i]));
}

void gelu_tanh_grad(float* dx, const float* dy, const float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double at = x[i], right = logistic(at), left = logistic(-at);
    const double slope = 2 * kRootTwoOverPi * (1 + 3 * kCubic * at * at);  // of the logistic function's argument
    dx[i] = static_cast<float>(dy[i] * (right + (right * left == 0 ? 0 : at * right * left * slope)));
  }
}

}  // namespace epochbench::reference
