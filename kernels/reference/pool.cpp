// Pooling over windows and over the whole image. Channels last.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/reference/kernels.h"

namespace epochbench::reference {

// A NaN wins over every number, so that divergence is visible. Every window must overlap the image.
void max_pool(float* y, std::uint8_t* index, const float* x, const PoolShape& s) {
  std::int64_t out = 0;
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t oy = 0; oy < s.out_height; ++oy)
      for (std::int64_t ox = 0; ox < s.out_width; ++ox)
        for (std::int64_t c = 0; c < s.channels; ++c, ++out) {
          bool found = false;
          float best = 0;
          std::int64_t position = 0;
          for (std::int64_t k = 0; k < s.window * s.window; ++k) {
            const std::int64_t iy = oy * s.stride + k / s.window - s.padding, ix = ox * s.stride + k % s.window - s.padding;
            if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) continue;
            const float value = x[((n * s.height + iy) * s.width + ix) * s.channels + c];
            if (found && !(value > best) && !std::isnan(value)) continue;
            found = true;
            best = value;
            position = k;
          }
          y[out] = best;
          if (index != nullptr) index[out] = static_cast<std::uint8_t>(position);
        }
}

void max_pool_grad(float* dx, const float* dy, const std::uint8_t* index, const PoolShape& s) {
  std::vector<double> sums(static_cast<std::size_t>(s.batch * s.height * s.width * s.channels));
  std::int64_t out = 0;
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t oy = 0; oy < s.out_height; ++oy)
      for (std::int64_t ox = 0; ox < s.out_width; ++ox)
        for (std::int64_t c = 0; c < s.channels; ++c, ++out) {
          const std::int64_t iy = oy * s.stride + index[out] / s.window - s.padding;
          const std::int64_t ix = ox * s.stride + index[out] % s.window - s.padding;
          sums[static_cast<std::size_t>(((n * s.height + iy) * s.width + ix) * s.channels + c)] += dy[out];
        }
  std::transform(sums.begin(), sums.end(), dx, [](double sum) { return static_cast<float>(sum); });
}

void global_average_pool(float* y, const float* x, std::int64_t batch, std::int64_t pixels, std::int64_t channels) {
  for (std::int64_t n = 0; n < batch; ++n)
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (std::int64_t p = 0; p < pixels; ++p) sum += x[(n * pixels + p) * channels + c];
      y[n * channels + c] = static_cast<float>(sum / static_cast<double>(pixels));
    }
}

void global_average_pool_grad(float* dx, const float* dy, std::int64_t batch, std::int64_t pixels, std::int64_t channels) {
  for (std::int64_t i = 0; i < batch * pixels * channels; ++i) {
    const std::int64_t n = i / (pixels * channels), c = i % channels;
    dx[i] = static_cast<float>(static_cast<double>(dy[n * channels + c]) / static_cast<double>(pixels));
  }
}

}  // namespace epochbench::reference
