// How the kernels of this folder that walk over [rows, channels] do so.
//
// A row of few channels is too short for vector code. Several of them, one behind the other, are one wide row, `lanes` rows
// long: the same memory, read as [rows / lanes, lanes * channels]. Coefficients by channel are repeated for every lane, sums
// by channel are kept for each lane and folded at the end.
//
// A core reads one stream of memory at less than half the speed of several, since prefetching ends with a page. So a thread
// walks through its part at four places at once; that also loads each coefficient once for four rows.
#pragma once

#include "kernels/cpu/isa.h"
#include "kernels/cpu/lanes.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// A team of threads costs about what one thread needs for so many elements; below, it works alone.
constexpr std::int64_t kSerialElements = 16384;

constexpr std::int64_t kRealBytes = sizeof(Real);
constexpr std::int64_t kVector = 16;        // floats of the widest vector
constexpr std::int64_t kWideRow = 128;      // floats: 8 such vectors hide the latency of sums that are kept in memory
constexpr std::int64_t kMaxWideRow = 2048;  // of rows with several lanes

// The lanes of a row: enough for kWideRow floats, and for a whole number of vectors.
static inline std::int64_t lanes_of(std::int64_t channels) {
  if (channels >= kWideRow) return 1;
  std::int64_t step = kVector;
  while (step > 1 && channels * (step / 2) % kVector == 0) step /= 2;
  return (kWideRow + step * channels - 1) / (step * channels) * step;
}

// A thread's part of n elements as wide rows: `count` fours of rows `stride` elements apart, and what is left at their end.
struct Fours {
  std::int64_t count, stride, rest;
};

// Rows whose addresses agree in their last 12 bits share one set of the first cache, which holds few of them: where a few rows
// less avoid that, they are left for the end.
static inline Fours fours_of(std::int64_t n, std::int64_t width) {
  std::int64_t count = n / (4 * width);
  for (std::int64_t fewer = 0; fewer < 8 && count >= 32; ++fewer) {
    const std::int64_t low_bits = (count - fewer) * width * kRealBytes % 4096;
    if (low_bits < 512 || low_bits > 4096 - 512) continue;
    count -= fewer;
    break;
  }
  return {count, count * width, 4 * count * width};
}

// Of rows that are all whole pages apart nothing avoids it: they are walked one by one.
static inline Fours fours_to_write(std::int64_t n, std::int64_t width) {
  return width * kRealBytes % 4096 == 0 ? Fours{0, 0, 0} : fours_of(n, width);
}

// element(position, column) for each of the n elements of rows that are `width` wide.
template <typename Element>
static inline void for_each_in_rows(std::int64_t n, std::int64_t width, Element element) {
  const Fours fours = fours_to_write(n, width);
  for (std::int64_t at = 0; at < fours.stride; at += width)
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) {
      element(at + i, i);
      element(at + i + fours.stride, i);
      element(at + i + 2 * fours.stride, i);
      element(at + i + 3 * fours.stride, i);
    }
  for (std::int64_t at = fours.rest; at < n; at += width) {
    const std::int64_t length = min_of(width, n - at);
#pragma omp simd
    for (std::int64_t i = 0; i < length; ++i) element(at + i, i);
  }
}

// column(Whole or One, i) gives what is done with the elements of column i, element(position), for n elements of rows that are
// `width` wide.
template <typename Column>
static inline void for_each_column_in_rows(std::int64_t n, std::int64_t width, Column column) {
  const Fours fours = fours_to_write(n, width);
  for (std::int64_t at = 0; at < fours.stride; at += width)
    across(width, [=](auto part, std::int64_t i) {
      const auto element = column(part, i);
      element(at + i);
      element(at + i + fours.stride);
      element(at + i + 2 * fours.stride);
      element(at + i + 3 * fours.stride);
    });
  for (std::int64_t at = fours.rest; at < n; at += width)
    across(min_of(width, n - at), [=](auto part, std::int64_t i) { column(part, i)(at + i); });
}

// wide [lanes * channels] = values [channels] again and again. Writes channels [begin, end) of every lane.
template <typename Number>
static inline void repeat(Number* wide, const Number* values, std::int64_t channels, std::int64_t lanes, Range part) {
  for (std::int64_t lane = 0; lane < lanes; ++lane)
    for (std::int64_t c = part.begin; c < part.end; ++c) wide[lane * channels + c] = values[c];
}

// Folds sums [lanes, channels] into the first lane.
static inline void sum_lanes(double* sums, std::int64_t channels, std::int64_t lanes) {
  for (std::int64_t lane = 1; lane < lanes; ++lane)
    for (std::int64_t c = 0; c < channels; ++c) sums[c] += sums[lane * channels + c];
}

// Scratch of a reduction. Each thread: two sums in double and three float arrays; all together: four coefficients.
struct ThreadScratch {
  double *first, *second;        // [width]
  float *pivot, *sum, *squares;  // [width]
};
struct SharedScratch {
  float *center, *slope, *offset, *curve;  // [width]
};

static inline std::int64_t padded_width(std::int64_t channels) { return (lanes_of(channels) * channels + 15) / 16 * 16; }

static inline SharedScratch shared_scratch(void* workspace, std::int64_t channels) {
  const std::int64_t width = padded_width(channels);
  float* base = static_cast<float*>(workspace);
  return {base, base + width, base + 2 * width, base + 3 * width};
}

static inline ThreadScratch thread_scratch(void* workspace, std::int64_t channels, int thread) {
  const std::int64_t width = padded_width(channels);
  float* base = static_cast<float*>(workspace) + (4 + 7 * std::int64_t{thread}) * width;
  double* sums = reinterpret_cast<double*>(base);
  return {sums, sums + width, base + 4 * width, base + 5 * width, base + 6 * width};
}

static inline std::size_t scratch_bytes(std::int64_t channels, int threads) {
  return static_cast<std::size_t>((4 + 7 * std::int64_t{threads}) * padded_width(channels)) * sizeof(float);
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
