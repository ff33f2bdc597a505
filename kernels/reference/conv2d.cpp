// Convolution (cross-correlation, as in every framework) and its two gradients by definition. Channels last: x [batch, height,
// width, channels], weight [out_channels, kernel_height, kernel_width, channels].
#include <vector>

#include "kernels/reference/kernels.h"

namespace epochbench::reference {
namespace {

// Calls visit(x_offset, weight_offset, y_offset) for every product of the convolution: each y element is the sum of
// x * weight over its visits, in ascending order of the weight's offset.
template <typename Visit>
void for_each_product(const Conv2dShape& s, Visit visit) {
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t oy = 0; oy < s.out_height; ++oy)
      for (std::int64_t ox = 0; ox < s.out_width; ++ox)
        for (std::int64_t o = 0; o < s.out_channels; ++o)
          for (std::int64_t ky = 0; ky < s.kernel_height; ++ky)
            for (std::int64_t kx = 0; kx < s.kernel_width; ++kx) {
              const std::int64_t iy = oy * s.stride + ky - s.padding, ix = ox * s.stride + kx - s.padding;
              if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) continue;
              for (std::int64_t c = 0; c < s.channels; ++c)
                visit(((n * s.height + iy) * s.width + ix) * s.channels + c,
                      ((o * s.kernel_height + ky) * s.kernel_width + kx) * s.channels + c,
                      ((n * s.out_height + oy) * s.out_width + ox) * s.out_channels + o);
            }
}

std::vector<double> zeros(std::int64_t n) { return std::vector<double>(static_cast<std::size_t>(n)); }

void round_to(float* out, const std::vector<double>& sums) {
  for (double sum : sums) *out++ = static_cast<float>(sum);
}

}  // namespace

void conv2d(float* y, const float* x, const float* weight, const Conv2dShape& shape, const Epilogue<float>& epilogue) {
  const std::int64_t pixels = shape.batch * shape.out_height * shape.out_width, channels = shape.out_channels;
  std::vector<double> sums = zeros(pixels * channels);
  double* sum = sums.data();
  for_each_product(shape, [=](std::int64_t at_x, std::int64_t at_weight, std::int64_t at_y) {
    sum[at_y] += static_cast<double>(x[at_x]) * weight[at_weight];
  });
  for (std::int64_t i = 0; i < pixels * channels; ++i) {
    if (epilogue.bias != nullptr) sum[i] += epilogue.bias[i % channels];
    if (epilogue.relu && sum[i] < 0) sum[i] = 0;
  }
  round_to(y, sums);
}

void conv2d_grad_input(float* dx, const float* dy, const float* weight, const Conv2dShape& shape) {
  std::vector<double> sums = zeros(shape.batch * shape.height * shape.width * shape.channels);
  double* sum = sums.data();
  for_each_product(shape, [=](std::int64_t at_x, std::int64_t at_weight, std::int64_t at_y) {
    sum[at_x] += static_cast<double>(dy[at_y]) * weight[at_weight];
  });
  round_to(dx, sums);
}

void conv2d_grad_weight(float* dweight, const float* dy, const float* x, const Conv2dShape& shape) {
  std::vector<double> sums = zeros(shape.out_channels * shape.kernel_height * shape.kernel_width * shape.channels);
  double* sum = sums.data();
  for_each_product(shape, [=](std::int64_t at_x, std::int64_t at_weight, std::int64_t at_y) {
    sum[at_weight] += static_cast<double>(dy[at_y]) * x[at_x];
  });
  round_to(dweight, sums);
}

}  // namespace epochbench::reference
