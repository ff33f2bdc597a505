// Int8 inference: exact sums, and one rounding per step of the epilogue, as in kernels with fused multiply-adds.
#include <algorithm>
#include <cmath>

#include "kernels/reference/kernels.h"

namespace epochbench::reference {
namespace {

// The code of x at a pixel that may be padding.
std::int32_t code_at(const std::uint8_t* x, const Conv2dShape& s, std::int64_t n, std::int64_t iy, std::int64_t ix,
                     std::int64_t c, std::int32_t padding) {
  if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) return padding;
  return x[((n * s.height + iy) * s.width + ix) * s.channels + c];
}

float activated(float x, Int8Activation activation) {
  switch (activation) {
    case Int8Activation::none:
      return x;
    case Int8Activation::relu:
      return x < 0 ? 0 : x;
    case Int8Activation::gelu:
      return static_cast<float>(0.5 * static_cast<double>(x) * std::erfc(-static_cast<double>(x) * std::sqrt(0.5)));
  }
  return x;
}

// Writes element i of y, in `channel`, from its sum.
void finish(void* y, std::int64_t i, std::int64_t channel, std::int32_t sum, const Int8Epilogue& e) {
  float value = std::fma(e.multiplier[channel], static_cast<float>(sum), e.offset[channel]);
  if (e.shortcut != nullptr && e.shortcut_range != nullptr) {
    const ByteCode code = byte_code(e.shortcut_range);
    const std::int32_t steps = static_cast<const std::uint8_t*>(e.shortcut)[i] - code.zero;
    value = std::fma(code.scale, static_cast<float>(steps), value);
  } else if (e.shortcut != nullptr) {
    value += static_cast<const float*>(e.shortcut)[i];
  }
  value = activated(value, e.activation);
  if (e.y_range != nullptr)
    static_cast<std::uint8_t*>(y)[i] = encode(value, byte_code(e.y_range));
  else
    static_cast<float*>(y)[i] = value;
}

}  // namespace

void quantize(std::uint8_t* y, const float* x, const float* range, std::int64_t n) {
  const ByteCode code = byte_code(range);
  for (std::int64_t i = 0; i < n; ++i) y[i] = encode(x[i], code);
}

void observe_range(float* range, const float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (x[i] < range[0]) range[0] = x[i];
    if (x[i] > range[1]) range[1] = x[i];
  }
}

void int8_product(void* y, const std::uint8_t* x, const std::int8_t* weights, const float* x_range, const Conv2dShape& s,
                  const Int8Epilogue& epilogue) {
  const std::int32_t padding = byte_code(x_range).zero;
  const std::int64_t row_words = int8_row_words(s), panel_words = int8_words(s);
  std::int64_t out = 0;
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t oy = 0; oy < s.out_height; ++oy)
      for (std::int64_t ox = 0; ox < s.out_width; ++ox)
        for (std::int64_t channel = 0; channel < s.out_channels; ++channel, ++out) {
          const std::int8_t* const panel = weights + (channel / 16 * panel_words * 16 + channel % 16) * 4;
          std::int32_t sum = 0;
          for (std::int64_t ky = 0; ky < s.kernel_height; ++ky)
            for (std::int64_t i = 0; i < s.kernel_width * s.channels; ++i) {
              const std::int64_t iy = oy * s.stride + ky - s.padding, ix = ox * s.stride + i / s.channels - s.padding;
              sum += code_at(x, s, n, iy, ix, i % s.channels, padding) * panel[(ky * row_words + i / 4) * 64 + i % 4];
            }
          finish(y, out, channel, sum, epilogue);
        }
}

void int8_max_pool(std::uint8_t* y, const std::uint8_t* x, const PoolShape& s) {
  std::int64_t out = 0;
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t oy = 0; oy < s.out_height; ++oy)
      for (std::int64_t ox = 0; ox < s.out_width; ++ox)
        for (std::int64_t c = 0; c < s.channels; ++c, ++out) {
          std::uint8_t best = 0;
          for (std::int64_t k = 0; k < s.window * s.window; ++k) {
            const std::int64_t iy = oy * s.stride + k / s.window - s.padding, ix = ox * s.stride + k % s.window - s.padding;
            if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) continue;
            best = std::max(best, x[((n * s.height + iy) * s.width + ix) * s.channels + c]);
          }
          y[out] = best;
        }
}

}  // namespace epochbench::reference
