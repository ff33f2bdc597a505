// Mean and squared deviations of the columns of a matrix, computed block by block while a kernel writes it: each block is read
// from the cache, so that no later pass over the matrix is needed. This is how a convolution prepares the batch norm after it.
//
// The matrix is divided into parts, which threads write. Every part divides its columns into the same ranges for all its rows.
// Sums are float around a pivot and are merged in double, as batch_norm.cpp does.
#pragma once

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// The moments of one part; [channels] each. Mean and deviations describe `count` rows; the sums are those of d and d * d over
// the rows after these, where d = x - pivot.
struct ColumnMoments {
  double *count, *mean, *deviations;
  float *pivot, *sum, *squares;
};

// The memory of all parts, after a line for their number.
constexpr std::int64_t kMomentFloats = 9;  // of a channel
static inline std::int64_t moment_channels(std::int64_t channels) { return (channels + 15) / 16 * 16; }
static inline std::size_t moment_bytes(std::int64_t channels, int parts) {
  return static_cast<std::size_t>(16 + kMomentFloats * moment_channels(channels) * parts) * sizeof(float);
}
static inline std::int64_t& moment_parts(void* moments) { return *static_cast<std::int64_t*>(moments); }
static inline ColumnMoments column_moments(void* moments, std::int64_t channels, int part) {
  const std::int64_t width = moment_channels(channels);
  float* const base = static_cast<float*>(moments) + 16 + kMomentFloats * width * part;
  double* const doubles = reinterpret_cast<double*>(base);
  return {doubles, doubles + width, doubles + 2 * width, base + 6 * width, base + 7 * width, base + 8 * width};
}

// Forgets all rows of a part, before its first block. moments: null, or as for Epilogue.
void start_moments(void* moments, std::int64_t channels, int part, int parts);

// Adds a block: rows of a range of columns, `stride` Reals apart; x: the first row and the first column of the range.
void add_block(const ColumnMoments& m, const Real* x, std::int64_t stride, std::int64_t rows, Range columns);

// The steps of add_block, for a kernel that adds to the sums by itself. Before the first block of a range: its sums are 0, and
// so is the pivot, until take_pivot makes it the mean of `rows` rows in the sums, which it clears.
void start_range(const ColumnMoments& m, Range columns);
void take_pivot(const ColumnMoments& m, std::int64_t rows, Range columns);
// Moves the sums, which are of `rows` rows, into mean and deviations.
void merge_rows(const ColumnMoments& m, std::int64_t rows, Range columns);

// mean and deviations (sums of squared deviations) of n_a rows become those of n_a + n_b rows. n_b > 0. By Chan, Golub and
// LeVeque (1983).
static inline void merge_moments(double& mean_a, double& deviations_a, double n_a, double mean_b, double deviations_b,
                                 double n_b) {
  const double delta = mean_b - mean_a, share = n_b / (n_a + n_b);
  mean_a += delta * share;
  deviations_a += deviations_b + delta * delta * n_a * share;
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
