// Depthwise convolution and its two gradients by definition: x [batch, height, width, channels], weight [kernel_height,
// kernel_width, channels].
#include <vector>

#include "kernels/reference/kernels.h"

namespace epochbench::reference {
namespace {

// Calls visit(x_offset, weight_offset, y_offset) for every product.
template <typename Visit>
void for_each_product(const Conv2dShape& s, Visit visit) {
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t oy = 0; oy < s.out_height; ++oy)
      for (std::int64_t ox = 0; ox < s.out_width; ++ox)
        for (std::int64_t ky = 0; ky < s.kernel_height; ++ky)
          for (std::int64_t kx = 0; kx < s.kernel_width; ++kx) {
            const std::int64_t iy = oy * s.stride + ky - s.padding, ix = ox * s.stride + kx - s.padding;
            if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) continue;
            for (std::int64_t c = 0; c < s.channels; ++c)
              visit(((n * s.height + iy) * s.width + ix) * s.channels + c, (ky * s.kernel_width + kx) * s.channels + c,
                    ((n * s.out_height + oy) * s.out_width + ox) * s.channels + c);
          }
}

class Sums {
 public:
  explicit Sums(std::int64_t n) : sums_(static_cast<std::size_t>(n)) {}
  void add(std::int64_t at, float a, float b) { sums_[static_cast<std::size_t>(at)] += static_cast<double>(a) * b; }
  void round_to(float* out) const {
    for (double sum : sums_) *out++ = static_cast<float>(sum);
  }

 private:
  std::vector<double> sums_;
};

}  // namespace

void depthwise_conv2d(float* y, const float* x, const float* weight, const Conv2dShape& shape) {
  Sums sums(shape.batch * shape.out_height * shape.out_width * shape.channels);
  for_each_product(
      shape, [&](std::int64_t at_x, std::int64_t at_weight, std::int64_t at_y) { sums.add(at_y, x[at_x], weight[at_weight]); });
  sums.round_to(y);
}

void depthwise_conv2d_grad_input(float* dx, const float* dy, const float* weight, const Conv2dShape& shape) {
  Sums sums(shape.batch * shape.height * shape.width * shape.channels);
  for_each_product(shape, [&](std::int64_t at_x, std::int64_t at_weight, std::int64_t at_y) {
    sums.add(at_x, dy[at_y], weight[at_weight]);
  });
  sums.round_to(dx);
}

void depthwise_conv2d_grad_weight(float* dweight, const float* dy, const float* x, const Conv2dShape& shape) {
  Sums sums(shape.kernel_height * shape.kernel_width * shape.channels);
  for_each_product(
      shape, [&](std::int64_t at_x, std::int64_t at_weight, std::int64_t at_y) { sums.add(at_weight, dy[at_y], x[at_x]); });
  sums.round_to(dweight);
}

}  // namespace epochbench::reference
