// Rotary position embedding (Su et al. 2021), one pair of columns at a time.
#include "kernels/reference/kernels.h"

namespace epochbench::reference {

void rotary(float* y, const float* x, const float* table, const RotaryShape& shape) {
  const std::int64_t half = shape.width / 2;
  for (std::int64_t r = 0; r < shape.rows; ++r) {
    const float* angles = table + r % shape.sequence * shape.width;
    const float* from = x + r * shape.columns;
    float* to = y + r * shape.columns;
    for (std::int64_t first = 0; first < shape.heads * shape.width; first += shape.width)
      for (std::int64_t i = 0; i < half; ++i) {
        const double cosine = angles[i], sine = shape.inverse ? -angles[half + i] : angles[half + i];
        const double a = from[first + i], b = from[first + half + i];
        to[first + i] = static_cast<float>(a * cosine - b * sine);
        to[first + half + i] = static_cast<float>(b * cosine + a * sine);
      }
    for (std::int64_t c = shape.heads * shape.width; c < shape.columns; ++c) to[c] = from[c];
  }
}

}  // namespace epochbench::reference
