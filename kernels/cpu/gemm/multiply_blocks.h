// The loops of the micro-kernel over k for BFMMLA, which multiplies a word of two rows of A by a word of two columns of B. Its
// accumulators are blocks of 2 x 2 numbers, [pair of rows][pair of columns]: the first row's two numbers, then the second
// row's. They take as many registers as the tile has vectors, and are turned into rows after the last word.
#pragma once

#include "kernels/cpu/gemm/multiply_steps.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// sum + a b^T, of two words each. Inline assembly keeps the order of the source, as in multiply_lanes.h.
static inline __attribute__((always_inline)) void multiply_add_block(Vec& sum, uint64x2_t a, uint64x2_t b) {
  asm volatile("bfmmla %0.4s, %1.8h, %2.8h" : "+w"(sum) : "w"(a), "w"(b));
}

static inline uint64x1_t load_word(const Word* p) {
  uint64x1_t word;
  __builtin_memcpy(&word, p, sizeof word);
  return word;
}

// Where the words of A are: at(row) is that of the current word of k. By columns, the rows are adjacent. By rows, two of them
// must be joined, which takes an instruction of the unit that multiplies.
struct ColumnsOfA {
  static constexpr bool kAdjacent = true;
  const Word* a;
  std::int64_t stride;
  const Word* at(int row, int) const { return a + row; }
  void next_word() { a += stride; }
  void next_step(int) {}
};
template <int kRows>
struct RowsOfA {
  static constexpr bool kAdjacent = false;
  const Word* rows[kRows];
  const Word* at(int row, int word) const { return rows[row] + word; }
  void next_word() {}
  void next_step(int count) {
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      rows[row] += count;
      opaque(rows[row]);
    }
  }
};

// A word of two rows of A, or of the last one and zeros.
template <int kRow, int kRows, typename A>
static inline __attribute__((always_inline)) uint64x2_t load_pair(const A& a, int word) {
  if constexpr (kRow + 1 == kRows) {
    return vcombine_u64(load_word(a.at(kRow, word)), vcreate_u64(0));
  } else if constexpr (A::kAdjacent) {
    uint64x2_t pair;
    __builtin_memcpy(&pair, a.at(kRow, word), sizeof pair);
    return pair;
  } else {
    return vcombine_u64(load_word(a.at(kRow, word)), load_word(a.at(kRow + 1, word)));
  }
}

template <int kRow, int kRows, typename A, int kPairs, int kVectors>
static inline __attribute__((always_inline)) void multiply_pairs(Vec (&blocks)[kPairs][2 * kVectors], const A& a, int word,
                                                                 const WordVec (&b)[kVectors]) {
  if constexpr (kRow < kRows) {
    const uint64x2_t pair = load_pair<kRow, kRows>(a, word);
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) {
      multiply_add_block(blocks[kRow / 2][2 * v], pair, b[v].low);
      multiply_add_block(blocks[kRow / 2][2 * v + 1], pair, b[v].high);
    }
    multiply_pairs<kRow + 2, kRows, A, kPairs, kVectors>(blocks, a, word, b);
  }
}

template <int kRows, int kVectors, typename A, typename LayoutB, int kPairs>
static inline __attribute__((always_inline)) void multiply_segment(Vec (&blocks)[kPairs][2 * kVectors], A a, const Word* b,
                                                                   LayoutB layout, const Tile& tile) {
  multiply_in_steps(
      tile.k, tile.prefetcher, [&]<int kWords>(Words<kWords>) __attribute__((always_inline)) {
#pragma GCC unroll 8
        for (int word = 0; word < kWords; ++word) {
          WordVec panel[kVectors];
#pragma GCC unroll 3
          for (int v = 0; v < kVectors; ++v) panel[v] = load(b + layout.vector(v));
          multiply_pairs<0, kRows, A, kPairs, kVectors>(blocks, a, word, panel);
          a.next_word();
          b += layout.step();
        }
        a.next_step(kWords);
      });
}

// accumulators = the products of all segments.
template <AccessA kAccess, int kRows, int kVectors>
static inline __attribute__((always_inline)) void multiply_by_blocks(Vec (&accumulators)[kRows][kVectors], const Tile& tile) {
  constexpr int kPairs = (kRows + 1) / 2;
  Vec blocks[kPairs][2 * kVectors];
#pragma GCC unroll 8
  for (int pair = 0; pair < kPairs; ++pair) {
#pragma GCC unroll 6
    for (int columns = 0; columns < 2 * kVectors; ++columns) blocks[pair][columns] = zero_vector();
  }
  for (std::int64_t s = 0; s < tile.segment_count; ++s) {
    const Word* const a = tile.segments[s].a + tile.a_offset;
    const Word* const b = tile.segments[s].b + tile.b_offset;
    const auto multiply = [&](auto layout) __attribute__((always_inline)) {
      if constexpr (kAccess == AccessA::columns) {
        multiply_segment<kRows, kVectors>(blocks, ColumnsOfA{a, tile.a_stride}, b, layout, tile);
      } else {
        RowsOfA<kRows> rows;
#pragma GCC unroll 16
        for (int row = 0; row < kRows; ++row) rows.rows[row] = a + row * tile.a_stride;
        multiply_segment<kRows, kVectors>(blocks, rows, b, layout, tile);
      }
    };
    if (tile.b_stride == kVectors * kLanes)
      multiply(PackedB<kVectors>{});
    else
      multiply(StridedB{tile.b_stride});
  }
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) {
      const float64x2_t first = vreinterpretq_f64_f32(blocks[row / 2][2 * v]);
      const float64x2_t second = vreinterpretq_f64_f32(blocks[row / 2][2 * v + 1]);
      accumulators[row][v] = vreinterpretq_f32_f64(row % 2 == 0 ? vtrn1q_f64(first, second) : vtrn2q_f64(first, second));
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
