// How the kernels in this folder iterate over [rows, channels].
//
// A row of few channels is too short for vector code. Several contiguous rows are therefore treated as one wide row of `lanes`
// rows: the same memory, read as [rows / lanes, lanes * channels]. Coefficients per channel are repeated for every lane; sums
// per channel are kept separately for each lane and added at the end.
//
// A core reads one sequential stream at less than half the speed of several, because hardware prefetching stops at a page
// boundary. So a thread processes its part at four places at once, which also loads each coefficient once per four rows.
#pragma once

#include "kernels/cpu/isa.h"
#include "kernels/cpu/lanes.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Starting a team of threads costs about as much as one thread needs for this many elements; below, one thread does the work.
constexpr std::int64_t kSerialElements = 16384;

constexpr std::int64_t kRealBytes = sizeof(Real);
constexpr std::int64_t kVector = 16;        // floats in the widest vector
constexpr std::int64_t kWideRow = 128;      // floats: 8 such vectors hide the latency of sums that are kept in memory
constexpr std::int64_t kMaxWideRow = 2048;  // if rows have several lanes

// Lanes per row: enough for kWideRow floats and for a whole number of vectors.
static inline std::int64_t lanes_of(std::int64_t channels) {
  if (channels >= kWideRow) return 1;
  std::int64_t step = kVector;
  while (step > 1 && channels * (step / 2) % kVector == 0) step /= 2;
  return (kWideRow + step * channels - 1) / (step * channels) * step;
}

// A thread's part of n elements as wide rows: `count` groups of four rows, `stride` elements apart, and the elements after
// them.
struct Fours {
  std::int64_t count, stride, rest;
};

// Rows whose addresses have the same last 12 bits share one set of the L1 cache, which holds only a few of them. If leaving a
// few rows for the end avoids that, they are left.
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

// If all rows are whole pages apart, nothing avoids it: they are processed one by one.
static inline Fours fours_to_write(std::int64_t n, std::int64_t width) {
  return width * kRealBytes % 4096 == 0 ? Fours{0, 0, 0} : fours_of(n, width);
}

// element(position, column) for each of the n elements of rows of `width` elements.
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

// column(Whole or One, i) returns the function that is applied to the elements of column i, element(position), for n elements
// of rows of `width` elements.
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

// wide [lanes * channels] = values [channels], repeated. Writes channels [begin, end) of every lane.
template <typename Number>
static inline void repeat(Number* wide, const Number* values, std::int64_t channels, std::int64_t lanes, Range part) {
  for (std::int64_t lane = 0; lane < lanes; ++lane)
    for (std::int64_t c = part.begin; c < part.end; ++c) wide[lane * channels + c] = values[c];
}

// Adds all lanes of sums [lanes, channels] into the first lane.
static inline void sum_lanes(double* sums, std::int64_t channels, std::int64_t lanes) {
  for (std::int64_t lane = 1; lane < lanes; ++lane)
    for (std::int64_t c = 0; c < channels; ++c) sums[c] += sums[lane * channels + c];
}

// Scratch of a reduction. Each thread has two sums in double and three float arrays; all threads share four coefficients.
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
