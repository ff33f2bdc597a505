// How the threads of a launch divide a matrix [rows, channels] whose columns have their own sums or coefficients: each thread
// keeps a strip of kSize channels, so that these stay in registers, and iterates over the rows with several of them in flight.
// The next launch may find in the cache what this launch reads last, so it processes the chunks backward.
#pragma once

#include "kernels/cuda/register_pack.cuh"

namespace epochbench::cuda {

inline constexpr int kStripThreads = 256;
inline constexpr int kStripWidth = 16;  // adjacent strips: 256 bytes of a row, two cache lines
inline constexpr int kStripBlocks = 3;  // per multiprocessor: 80 registers per thread hold strips of 8 channels
// Scratch is planned before the device is known, so this is the largest number of multiprocessors that a reduction occupies.
// The largest GPU has 192.
inline constexpr int kMaxMultiprocessors = 256;
// Blocks of a reduction: as many as the device holds at once, so the order of sums depends on its number of multiprocessors.
// Launches that only write may have more blocks, which evens out their end.
inline std::int64_t reducing_blocks() {
  const int count = multiprocessors();
  return kStripBlocks * (count < kMaxMultiprocessors ? count : kMaxMultiprocessors);
}
inline std::int64_t writing_blocks() { return 4 * reducing_blocks(); }

struct Strips {
  std::int64_t rows, channels;
  std::int64_t chunks;      // of lanes * rows_at_once rows, processed by a block at once; the last may have fewer
  std::int64_t row_blocks;  // they take chunks in turn: gridDim.y
  std::int64_t tiles;       // of width * size channels: gridDim.x
  int width;                // strips per tile: a power of two
  int chunk_rows;
};

constexpr Strips strips_of(std::int64_t rows, std::int64_t channels, int size, int rows_at_once, std::int64_t blocks) {
  const std::int64_t strips = ceil_div(channels, size);
  int width = 1;
  while (width < strips && width < kStripWidth) width *= 2;
  const int chunk_rows = kStripThreads / width * rows_at_once;
  const std::int64_t chunks = ceil_div(rows, chunk_rows), tiles = ceil_div(strips, width);
  const std::int64_t of_tile = blocks / tiles > 1 ? blocks / tiles : 1;
  return {rows, channels, chunks, of_tile < chunks ? of_tile : chunks, tiles, width, chunk_rows};
}

inline dim3 grid_of(const Strips& strips) {
  return dim3(static_cast<unsigned>(strips.tiles), static_cast<unsigned>(strips.row_blocks));
}

// Number of rows that the blocks with one blockIdx.y process in all.
__device__ inline std::int64_t rows_of_block(const Strips& strips, std::int64_t row_block) {
  const std::int64_t chunks = (strips.chunks - row_block + strips.row_blocks - 1) / strips.row_blocks;
  const bool last = (strips.chunks - 1) % strips.row_blocks == row_block;
  return chunks * strips.chunk_rows - (last ? strips.chunks * strips.chunk_rows - strips.rows : 0);
}

// Number of blocks of a reduction over whole rows that store sums for every channel: `reducing`, fewer if rows are long.
constexpr std::int64_t whole_row_blocks(std::int64_t rows, std::int64_t channels, std::int64_t reducing) {
  constexpr std::int64_t kLongRow = 1024;
  const std::int64_t blocks = channels <= kLongRow ? reducing : reducing * kLongRow / channels;
  return blocks < 1 ? 1 : blocks < rows ? blocks : rows;
}

// Floats of scratch that any reduction over rows needs on any device: coefficients per channel, then partial sums.
inline constexpr std::int64_t kCoefficients = 4;
constexpr std::int64_t reduction_floats(std::int64_t rows, std::int64_t channels) {
  constexpr std::int64_t kWidestTile = kStripWidth * 8, kMaxBlocks = kStripBlocks * kMaxMultiprocessors;
  const std::int64_t blocks = rows < kMaxBlocks ? rows : kMaxBlocks;
  const std::int64_t of_strips = 3 * (channels < kWidestTile ? blocks * channels : blocks * kWidestTile + channels);
  const std::int64_t of_rows = 2 * whole_row_blocks(rows, channels, kMaxBlocks) * channels;
  return kCoefficients * channels + (of_strips > of_rows ? of_strips : of_rows);
}

// The position of a thread.
template <int kSize>
struct StripPlace {
  std::int64_t channel;  // the first of its strip
  int lane;              // its row among those that a block processes together
  bool active;           // false: its strip is beyond the last channel
};
template <int kSize>
__device__ inline StripPlace<kSize> strip_place(const Strips& strips) {
  const int thread = static_cast<int>(threadIdx.x), width = strips.width;
  const std::int64_t channel = (static_cast<std::int64_t>(blockIdx.x) * width + thread % width) * kSize;
  return {channel, thread / width, channel < strips.channels};
}

// body(first element of the thread's strip in its first row, elements between its rows, how many of kRows rows exist) for each
// chunk. Every thread of a block makes the same number of calls, so that body may use shuffles; a count may be 0.
template <int kSize, int kRows, bool kBackwards, typename Body>
__device__ inline void for_each_chunk(const Strips& strips, const StripPlace<kSize>& place, Body body) {
  const int lanes = kStripThreads / strips.width;
  const std::int64_t step = lanes * strips.channels;
  for (std::int64_t at = blockIdx.y; at < strips.chunks; at += strips.row_blocks) {
    const std::int64_t chunk = kBackwards ? strips.chunks - 1 - at : at;
    const std::int64_t row = chunk * strips.chunk_rows + place.lane;
    int count = 0;
    for (int r = 0; r < kRows; ++r) count += place.active && row + r * lanes < strips.rows;
    body(row * strips.channels + place.channel, step, count);
  }
}

// strips[r] = row r of `count`; the others are 0.
template <typename T, int kSize, int kRows>
__device__ inline void load_rows(RegisterPack<T, kSize> (&strips)[kRows], const T* from, std::int64_t first, std::int64_t step,
                                 int count) {
  for (int r = 0; r < kRows; ++r)
    strips[r] = r < count ? load_registers<kSize>(from + first + r * step) : RegisterPack<T, kSize>{};
}

}  // namespace epochbench::cuda
