// Multiplies the channels of each image by its own factors.
#include "kernels/reference/kernels.h"

namespace epochbench::reference {

void scale_channels(float* y, const float* x, const float* scale, std::int64_t batch, std::int64_t pixels,
                    std::int64_t channels) {
  for (std::int64_t row = 0; row < batch * pixels; ++row)
    for (std::int64_t c = 0; c < channels; ++c)
      y[row * channels + c] = x[row * channels + c] * scale[row / pixels * channels + c];
}

void scale_channels_grad(float* dscale, const float* dy, const float* x, std::int64_t batch, std::int64_t pixels,
                         std::int64_t channels) {
  for (std::int64_t n = 0; n < batch; ++n)
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (std::int64_t p = 0; p < pixels; ++p) {
        const std::int64_t at = (n * pixels + p) * channels + c;
        sum += static_cast<double>(dy[at]) * x[at];
      }
      dscale[n * channels + c] = static_cast<float>(sum);
    }
}

}  // namespace epochbench::reference
