// Root mean square normalization (Zhang and Sennrich 2019), one row at a time.
#include <cmath>

#include "kernels/reference/kernels.h"

namespace epochbench::reference {

void rms_norm(float* y, float* inv_rms, const float* x, const float* scale, std::int64_t rows, std::int64_t channels,
              double epsilon) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* row = x + r * channels;
    double squares = 0;
    for (std::int64_t c = 0; c < channels; ++c) squares += double{row[c]} * row[c];
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(channels) + epsilon);
    for (std::int64_t c = 0; c < channels; ++c) y[r * channels + c] = static_cast<float>(row[c] * inverse * scale[c]);
    if (inv_rms != nullptr) inv_rms[r] = static_cast<float>(inverse);
  }
}

void rms_norm_grad(float* dx, float* dscale, const float* dy, const float* x, const float* scale, const float* inv_rms,
                   std::int64_t rows, std::int64_t channels) {
  const auto normalized = [&](std::int64_t i) { return double{x[i]} * inv_rms[i / channels]; };
  // Computed before dx, which may be dy.
  for (std::int64_t c = 0; c < channels && dscale != nullptr; ++c) {
    double product = 0;
    for (std::int64_t i = c; i < rows * channels; i += channels) product += dy[i] * normalized(i);
    dscale[c] = static_cast<float>(product);
  }
  for (std::int64_t r = 0; r < rows && dx != nullptr; ++r) {
    const std::int64_t first = r * channels;
    double product = 0;
    for (std::int64_t c = 0; c < channels; ++c) product += double{dy[first + c]} * scale[c] * normalized(first + c);
    product /= static_cast<double>(channels);
    for (std::int64_t c = 0; c < channels; ++c)
      dx[first + c] = static_cast<float>(inv_rms[r] * (double{dy[first + c]} * scale[c] - normalized(first + c) * product));
  }
}

}  // namespace epochbench::reference
