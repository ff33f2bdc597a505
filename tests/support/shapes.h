// Shapes that several tests of kernels sweep over, and how messages name them.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/shapes.h"

namespace epochbench::test {

struct Matrix {
  std::int64_t rows, channels;
  std::int64_t elements() const { return rows * channels; }
};

inline std::string describe(const Matrix& m) { return std::to_string(m.rows) + "x" + std::to_string(m.channels); }

inline Conv2dShape convolution_shape(std::int64_t batch, std::int64_t height, std::int64_t width, std::int64_t channels,
                                     std::int64_t out_channels, std::int64_t kernel_height, std::int64_t kernel_width,
                                     std::int64_t stride, std::int64_t padding) {
  const auto out = [=](std::int64_t extent, std::int64_t kernel) { return (extent + 2 * padding - kernel) / stride + 1; };
  return {batch,         height,       width,  channels, out(height, kernel_height), out(width, kernel_width), out_channels,
          kernel_height, kernel_width, stride, padding};
}

// A depthwise convolution by a square kernel; extra: padding that the end of an axis has more.
inline Conv2dShape depthwise(std::int64_t batch, std::int64_t height, std::int64_t width, std::int64_t channels,
                             std::int64_t kernel, std::int64_t stride, std::int64_t padding, std::int64_t extra = 0) {
  Conv2dShape s = convolution_shape(batch, height + extra, width + extra, channels, channels, kernel, kernel, stride, padding);
  s.height = height;
  s.width = width;
  return s;
}

inline std::string describe(const Conv2dShape& s) {
  return std::to_string(s.batch) + "x" + std::to_string(s.height) + "x" + std::to_string(s.width) + "x" +
         std::to_string(s.channels) + " to " + std::to_string(s.out_channels) + " kernel " + std::to_string(s.kernel_height) +
         "x" + std::to_string(s.kernel_width) + " stride=" + std::to_string(s.stride) + " padding=" + std::to_string(s.padding);
}

inline PoolShape pool(std::int64_t batch, std::int64_t height, std::int64_t width, std::int64_t channels, std::int64_t window,
                      std::int64_t stride, std::int64_t padding, std::int64_t extra = 0, bool zeros = false) {
  const auto out = [=](std::int64_t extent) { return (extent + 2 * padding + extra - window) / stride + 1; };
  return {batch, height, width, channels, out(height), out(width), window, stride, padding, zeros};
}

// Of means over windows: also with windows outside of the image, or shifted against it.
inline const PoolShape kMeanPools[] = {
    pool(1, 1, 1, 1, 1, 1, 0),              // smallest
    pool(1, 1, 1, 3, 3, 1, 1),              // one pixel inside
    pool(2, 9, 11, 33, 3, 1, 1),            // odd sizes, channels beyond a register
    pool(3, 8, 10, 48, 3, 1, 1, 0, true),   // zeros count
    pool(2, 10, 12, 20, 3, 2, 0, 1, true),  // NASNet's stride 2, even size
    pool(2, 11, 9, 17, 3, 2, 1, 0, true),   // and odd size
    pool(1, 13, 14, 24, 3, 2, 1),           // stride 2 without zeros
    pool(2, 9, 8, 40, 1, 2, -1, 2, true),   // every second pixel, one further, the last of an odd size outside
    pool(1, 2, 3, 5, 3, 1, 1),              // rows shorter than a tile
    pool(2, 7, 6, 8, 3, 1, 0),              // without padding
    pool(1, 7, 8, 12, 3, 1, 2, 1, true),    // windows outside of the image
    pool(1, 5, 9, 7, 3, 1, -1, 3, true),    // and pixels in no window
    pool(2, 8, 9, 65, 2, 3, 0),             // gaps
    pool(1, 20, 20, 8, 16, 2, 8, 0, true),  // the largest window
    pool(1, 3, 70, 40, 3, 1, 1),            // long rows
};

inline std::string describe(const PoolShape& s) {
  return std::to_string(s.batch) + "x" + std::to_string(s.height) + "x" + std::to_string(s.width) + "x" +
         std::to_string(s.channels) + " to " + std::to_string(s.out_height) + "x" + std::to_string(s.out_width) +
         " window=" + std::to_string(s.window) + " stride=" + std::to_string(s.stride) +
         " padding=" + std::to_string(s.padding) + (s.zeros ? " zeros" : "");
}

inline std::string describe(const RotaryShape& s) {
  return std::to_string(s.rows) + "x" + std::to_string(s.columns) + " heads=" + std::to_string(s.heads) + "x" +
         std::to_string(s.width) + (s.inverse ? " inverse" : "");
}
inline std::string describe(const SwigluShape& s) {
  return std::to_string(s.rows) + "x" + std::to_string(s.width) + (s.joint ? " joint" : "");
}

inline std::int64_t inputs(const Conv2dShape& s) { return s.batch * s.height * s.width * s.channels; }
inline std::int64_t outputs(const Conv2dShape& s) { return s.batch * s.out_height * s.out_width * s.out_channels; }
inline std::int64_t inputs(const PoolShape& s) { return s.batch * s.height * s.width * s.channels; }
inline std::int64_t outputs(const PoolShape& s) { return s.batch * s.out_height * s.out_width * s.channels; }

}  // namespace epochbench::test
