// Layer normalization (Ba et al. 2016), one row at a time.
#include <cmath>

#include "kernels/reference/kernels.h"

namespace epochbench::reference {

void layer_norm(float* y, float* mean, float* inv_std, const float* x, const float* scale, const float* bias, std::int64_t rows,
                std::int64_t channels, double epsilon) {
  const double n = static_cast<double>(channels);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* row = x + r * channels;
    double sum = 0;
    for (std::int64_t c = 0; c < channels; ++c) sum += row[c];
    const double center = sum / n;
    double squares = 0;
    for (std::int64_t c = 0; c < channels; ++c) squares += (row[c] - center) * (row[c] - center);
    const double inverse = 1 / std::sqrt(squares / n + epsilon);
    for (std::int64_t c = 0; c < channels; ++c)
      y[r * channels + c] = static_cast<float>((row[c] - center) * inverse * scale[c] + bias[c]);
    if (mean != nullptr) mean[r] = static_cast<float>(center);
    if (inv_std != nullptr) inv_std[r] = static_cast<float>(inverse);
  }
}

void layer_norm_grad(float* dx, float* dscale, float* dbias, const float* dy, const float* x, const float* scale,
                     const float* mean, const float* inv_std, std::int64_t rows, std::int64_t channels) {
  const double n = static_cast<double>(channels);
  const auto normalized = [&](std::int64_t r, std::int64_t c) {
    return (static_cast<double>(x[r * channels + c]) - mean[r]) * inv_std[r];
  };
  // Computed before dx, which may be dy.
  for (std::int64_t c = 0; c < channels; ++c) {
    double sum = 0, product = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      sum += dy[r * channels + c];
      product += dy[r * channels + c] * normalized(r, c);
    }
    if (dscale != nullptr) dscale[c] = static_cast<float>(product);
    if (dbias != nullptr) dbias[c] = static_cast<float>(sum);
  }
  if (dx == nullptr) return;
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto upstream = [&](std::int64_t c) { return static_cast<double>(dy[r * channels + c]) * scale[c]; };
    double sum = 0, product = 0;
    for (std::int64_t c = 0; c < channels; ++c) {
      sum += upstream(c);
      product += upstream(c) * normalized(r, c);
    }
    for (std::int64_t c = 0; c < channels; ++c)
      dx[r * channels + c] = static_cast<float>(inv_std[r] * (upstream(c) - sum / n - normalized(r, c) * product / n));
  }
}

}  // namespace epochbench::reference
