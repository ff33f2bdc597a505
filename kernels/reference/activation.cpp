// Element-wise kernels and the bias, with their gradients.
#include <cmath>

#include "kernels/reference/kernels.h"

namespace epochbench::reference {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

void bias_add(float* y, const float* x, const float* bias, std::int64_t rows, std::int64_t channels) {
  for (std::int64_t i = 0; i < rows * channels; ++i) y[i] = x[i] + bias[i % channels];
}

void bias_add_grad(float* dbias, const float* dy, std::int64_t rows, std::int64_t channels) {
  for (std::int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (std::int64_t r = 0; r < rows; ++r) sum += dy[r * channels + c];
    dbias[c] = static_cast<float>(sum);
  }
}

void relu(float* y, const float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0 : x[i];  // a NaN stays NaN, so that divergence is visible
}

void relu_grad(float* dx, const float* dy, const float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) dx[i] = y[i] > 0 ? dy[i] : 0;
}

void relu6(float* y, const float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0 : x[i] > kSix ? kSix : x[i];
}

void relu6_grad(float* dx, const float* dy, const float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) dx[i] = y[i] > 0 && y[i] < kSix ? dy[i] : 0;
}

void sigmoid(float* y, const float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(logistic(x[i]));
}

void sigmoid_grad(float* dx, const float* dy, const float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) dx[i] = static_cast<float>(dy[i] * double{y[i]} * (1 - double{y[i]}));
}

void silu(float* y, const float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i] * logistic(x[i]));
}

void silu_grad(float* dx, const float* dy, const float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double s = logistic(x[i]);
    dx[i] = static_cast<float>(dy[i] * s * (1 + x[i] * (1 - s)));
  }
}

void add(float* y, const float* a, const float* b, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}

void accumulate(float* sum, const float* x, float factor, bool first, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) sum[i] = static_cast<float>((first ? 0.0 : sum[i]) + static_cast<double>(factor) * x[i]);
}

}  // namespace epochbench::reference
