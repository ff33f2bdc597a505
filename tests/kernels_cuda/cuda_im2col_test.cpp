// The windows of images as rows of a matrix: with matrix products they give the reference's convolution and its gradient.
#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

Conv2dShape convolution(std::int64_t batch, std::int64_t height, std::int64_t width, std::int64_t channels,
                        std::int64_t kernel_height, std::int64_t kernel_width, std::int64_t stride, std::int64_t padding) {
  const auto out = [=](std::int64_t extent, std::int64_t kernel) { return (extent + 2 * padding - kernel) / stride + 1; };
  constexpr std::int64_t kOutChannels = 5;
  return {batch,         height,       width,  channels, out(height, kernel_height), out(width, kernel_width), kOutChannels,
          kernel_height, kernel_width, stride, padding};
}

const Conv2dShape kShapes[] = {
    convolution(1, 1, 1, 1, 1, 1, 1, 0),    // smallest
    convolution(3, 9, 7, 3, 7, 7, 2, 3),    // first layer of a ResNet
    convolution(2, 6, 5, 16, 3, 3, 1, 1),   // packs of 4 and of 8
    convolution(3, 7, 8, 12, 3, 3, 2, 1),   // packs of 4, not of 8
    convolution(2, 5, 5, 8, 1, 1, 2, 0),    // pixels in no window
    convolution(4, 8, 8, 2, 2, 3, 3, 0),    // a window that is not square, and gaps
    convolution(2, 3, 4, 70, 3, 3, 1, 2),   // more padding than a pixel; more columns than a block has threads
    convolution(1, 2, 90, 33, 1, 3, 1, 0),  // a row of more items than a block has threads
};

struct Range {
  std::int64_t first, images;
};
std::vector<Range> ranges(std::int64_t batch) {  // all images, the last ones, one
  return {{0, batch}, {batch / 2, batch - batch / 2}, {batch - 1, 1}};
}

// The images of a range as a separate convolution.
Conv2dShape part(Conv2dShape s, const Range& range) {
  s.batch = range.images;
  return s;
}
std::int64_t image_size(const Conv2dShape& s) { return s.height * s.width * s.channels; }
std::int64_t out_pixels(const Conv2dShape& s) { return s.out_height * s.out_width; }
std::int64_t row_length(const Conv2dShape& s) { return s.kernel_height * s.kernel_width * s.channels; }

// The tolerance of a reference product: computed in double, rounded once on either side.
constexpr Tolerance kTwice = {2 * kEps, 2 * kEps};

TEST(CudaIm2col, TimesWeightEqualsTheConvolution) {
  for (const Conv2dShape& s : kShapes)
    for_each_element(describe(s), [&](Element element) {
      const Tensor x = random_tensor(s.batch * image_size(s), element, 1);
      const GuardedBuffer<float> images = x.floats(), weight = random_floats(s.out_channels * row_length(s), 2);
      for (const Range& range : ranges(s.batch)) {
        const std::int64_t rows = range.images * out_pixels(s);
        GuardedBuffer<float> expected(rows * s.out_channels);
        reference::conv2d(expected.data(), images.data() + range.first * image_size(s), weight.data(), part(s, range), {});
        for_each_order(std::to_string(range.first) + "+" + std::to_string(range.images), [&] {
          Tensor columns(rows * row_length(s), element);
          cuda::im2col(columns.data(), x.data(), s, range.first, range.images, element, kNoStream);
          EXPECT_TRUE(columns.guards_intact());
          GuardedBuffer<float> y(rows * s.out_channels);
          reference::gemm(y.data(), columns.floats().data(), weight.data(),
                          {.m = rows, .n = s.out_channels, .k = row_length(s), .transpose_b = true}, {});
          expect_close(y, expected, kTwice);
        });
      }
    });
}

// Small whole numbers: every product of dy and weight is exact in 16 bits, so the gathered sum is rounded once.
GuardedBuffer<float> whole_numbers(std::int64_t n, std::uint64_t seed) {
  GuardedBuffer<float> values = random_floats(n, seed, -2.5, 2.5);
  for (float& value : values) value = std::nearbyint(value);
  return values;
}

TEST(CudaCol2im, GathersTheInputGradient) {
  for (const Conv2dShape& s : kShapes) {
    const GuardedBuffer<float> dy = whole_numbers(s.batch * out_pixels(s) * s.out_channels, 3);
    const GuardedBuffer<float> weight = whole_numbers(s.out_channels * row_length(s), 4);
    for (const Range& range : ranges(s.batch)) {
      const std::int64_t rows = range.images * out_pixels(s), n = range.images * image_size(s);
      const std::int64_t first = range.first * image_size(s);
      const float* of_range = dy.data() + range.first * out_pixels(s) * s.out_channels;
      GuardedBuffer<float> sums(n), products(rows * row_length(s));
      reference::conv2d_grad_input(sums.data(), of_range, weight.data(), part(s, range));
      reference::gemm(products.data(), of_range, weight.data(), {.m = rows, .n = row_length(s), .k = s.out_channels}, {});
      for_each_element(describe(s), [&](Element element) {
        const Tensor columns(products, element), expected(sums, element);
        expect_close(columns.floats(), products, kExact);
        for_each_order(std::to_string(range.first) + "+" + std::to_string(range.images), [&] {
          Tensor dx(s.batch * image_size(s), element);
          cuda::col2im(dx.data(), columns.data(), s, range.first, range.images, element, kNoStream);
          const GuardedBuffer<float> result = dx.floats();
          expect_close({result.data() + first, static_cast<std::size_t>(n)}, expected.floats(), kExact);
          for (std::int64_t i = 0; i < dx.size(); ++i)  // zero for the other images
            ASSERT_TRUE(std::isnan(result[i]) == (i < first || i >= first + n)) << i;
          EXPECT_TRUE(dx.guards_intact());
        });
      });
    }
  }
}

}  // namespace
}  // namespace epochbench
