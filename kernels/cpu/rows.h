// How the kernels of this folder that walk over [rows, channels] do so.
//
// A row of few channels is too short for vector code. Several of them, one behind the other, are one wide row, `lanes` rows
// long: the same memory, read as [rows / lanes, lanes * channels]. Coefficients by channel are repeated for every lane, sums
// by channel are kept for each lane and folded at the end.
#pragma once

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// A team of threads costs about what one thread needs for so many elements; below, it works alone.
constexpr std::int64_t kSerialElements = 16384;

constexpr std::int64_t kWideRow = 256;  // floats: 16 AVX-512 vectors hide the latency of sums that are kept in memory

static inline std::int64_t lanes_of(std::int64_t channels) {
  return channels >= kWideRow ? 1 : (kWideRow + channels - 1) / channels;
}

// wide [lanes * channels] = values [channels] again and again. Writes channels [begin, end) of every lane.
static inline void repeat(float* wide, const float* values, std::int64_t channels, std::int64_t lanes, Range part) {
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
