// Element-wise kernels and the bias, with their gradients.
#include "kernels/reference/kernels.h"

namespace epochbench::reference {

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

void add(float* y, const float* a, const float* b, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}

}  // namespace epochbench::reference
