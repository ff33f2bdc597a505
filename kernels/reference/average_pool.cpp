// The mean over windows, channels last.
#include <algorithm>
#include <vector>

#include "kernels/reference/kernels.h"

namespace epochbench::reference {
namespace {

// Calls visit(index of the pixel's first channel) for each pixel of window (oy, ox) that is inside image n. Returns the number
// of pixels to divide the sum by.
template <typename Visit>
double for_each_pixel(const PoolShape& s, std::int64_t n, std::int64_t oy, std::int64_t ox, Visit visit) {
  std::int64_t inside = 0;
  for (std::int64_t k = 0; k < s.window * s.window; ++k) {
    const std::int64_t iy = oy * s.stride + k / s.window - s.padding, ix = ox * s.stride + k % s.window - s.padding;
    if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) continue;
    ++inside;
    visit(((n * s.height + iy) * s.width + ix) * s.channels);
  }
  return static_cast<double>(s.zeros ? s.window * s.window : inside);
}

// Calls window(n, oy, ox, index of the output's first channel) for each window.
template <typename Window>
void for_each_window(const PoolShape& s, Window window) {
  std::int64_t out = 0;
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t oy = 0; oy < s.out_height; ++oy)
      for (std::int64_t ox = 0; ox < s.out_width; ++ox, out += s.channels) window(n, oy, ox, out);
}

}  // namespace

// Without PoolShape::zeros every window must overlap the image.
void average_pool(float* y, const float* x, const PoolShape& s) {
  for_each_window(s, [&](std::int64_t n, std::int64_t oy, std::int64_t ox, std::int64_t out) {
    for (std::int64_t c = 0; c < s.channels; ++c) {
      double sum = 0;
      const double count = for_each_pixel(s, n, oy, ox, [&](std::int64_t at) { sum += x[at + c]; });
      y[out + c] = static_cast<float>(sum / count);
    }
  });
}

void average_pool_grad(float* dx, const float* dy, const PoolShape& s) {
  std::vector<double> sums(static_cast<std::size_t>(s.batch * s.height * s.width * s.channels));
  for_each_window(s, [&](std::int64_t n, std::int64_t oy, std::int64_t ox, std::int64_t out) {
    const double count = for_each_pixel(s, n, oy, ox, [](std::int64_t) {});
    for_each_pixel(s, n, oy, ox, [&](std::int64_t at) {
      for (std::int64_t c = 0; c < s.channels; ++c) sums[static_cast<std::size_t>(at + c)] += dy[out + c] / count;
    });
  });
  std::transform(sums.begin(), sums.end(), dx, [](double sum) { return static_cast<float>(sum); });
}

}  // namespace epochbench::reference
