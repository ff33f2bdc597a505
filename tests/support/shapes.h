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

// Depthwise convolutions: kernels of the models and others, with and without padding.
inline const Conv2dShape kDepthwise[] = {
    depthwise(1, 1, 1, 1, 1, 1, 0),                  // smallest
    depthwise(1, 1, 1, 3, 3, 1, 1),                  // only the middle tap is inside
    depthwise(2, 9, 11, 33, 3, 1, 1),                // odd sizes, channels beyond a register
    depthwise(3, 8, 10, 32, 3, 2, 1),                // even size: no pixel below the last window
    depthwise(2, 9, 13, 16, 3, 2, 1),                // odd size
    depthwise(1, 14, 14, 40, 5, 1, 2),               // the kernels of EfficientNet
    depthwise(2, 15, 13, 24, 5, 2, 2),               //
    depthwise(2, 10, 9, 20, 7, 1, 3),                // and of NASNet
    depthwise(1, 12, 21, 17, 7, 2, 3),               //
    depthwise(1, 14, 22, 24, 7, 2, 2, 1),            // with more padding at the end
    depthwise(2, 12, 10, 19, 5, 2, 1, 1),            //
    depthwise(2, 8, 18, 16, 3, 2, 0, 1),             //
    depthwise(1, 6, 7, 9, 3, 1, 0, 3),               //
    depthwise(2, 3, 2, 8, 5, 1, 2),                  // rows shorter than the kernel
    depthwise(2, 6, 7, 10, 3, 1, 0),                 // without padding
    depthwise(1, 6, 9, 8, 3, 2, 0),                  // pixels in no window
    depthwise(2, 5, 6, 12, 3, 1, 2),                 // more padding than half the kernel
    depthwise(2, 7, 8, 9, 2, 1, 0),                  // kernels and strides without code of their own
    depthwise(2, 8, 11, 16, 3, 3, 1),                //
    depthwise(1, 5, 6, 6, 1, 2, 0),                  //
    convolution_shape(2, 6, 7, 14, 14, 2, 3, 2, 1),  // not square
};

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

// Maxima over windows.
inline const PoolShape kMaxPools[] = {
    pool(1, 1, 1, 1, 1, 1, 0),        // smallest
    pool(3, 28, 28, 6, 2, 2, 0),      // first pool of LeNet-5
    pool(2, 10, 10, 16, 2, 2, 0),     // second pool of LeNet-5
    pool(2, 15, 13, 64, 3, 2, 1),     // ResNet, odd size
    pool(2, 12, 10, 16, 3, 2, 1),     // even size: the last pixels are beyond the last window
    pool(1, 9, 7, 132, 3, 2, 1),      // packs of 4, not of 8
    pool(2, 4, 4, 24, 4, 4, 2),       // as much padding as a window allows
    pool(1, 20, 20, 8, 16, 2, 8),     // the largest window: 256 positions
    pool(1, 3, 70, 40, 2, 1, 1),      // a row of more packs than a block has threads
    pool(1, 9, 7, 130, 3, 2, 1),      // one image for several threads, channels in parts
    pool(4, 5, 6, 3, 3, 1, 1),        // overlapping in both directions
    pool(2, 8, 9, 65, 2, 3, 0),       // gaps: pixels in no window
    pool(5, 4, 4, 17, 4, 4, 2),       // as much padding as a window allows
    pool(2, 6, 5, 5, 4, 4, 2),        // the same for few channels
    pool(1, 20, 20, 2, 16, 2, 8),     // the largest window: 256 positions
    pool(1, 18, 17, 21, 16, 3, 8),    // and registers of channels
    pool(2, 9, 80, 15, 3, 2, 1),      // few channels, rows in several pieces
    pool(2, 9, 100, 6, 2, 3, 1),      // the same with gaps
    pool(2, 14, 18, 40, 3, 2, 0, 1),  // more padding at the end
    pool(1, 8, 6, 5, 5, 2, 1, 2),     //
};

// Means over windows: also with windows outside of the image, or shifted against it.
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
