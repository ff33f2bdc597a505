// Packing for AMX tiles: copies, interleaved pairs of rows, and transposes in registers. Loops run along the rows of the
// operand, so that the CPU prefetches them.
#include "kernels/cpu/gemm/pack_tiles_amx.h"

#include "kernels/cpu/gemm/transpose.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

constexpr std::int64_t kPairRow = kTilePair * kWordDepth;  // Reals of a pair of k in a panel of B

// The first `count` of 32 Reals; the others are zero.
__m512i load_reals_512(const Real* p, std::int64_t count) { return (__m512i)load_along_partial(p, count); }

// Rows of 16 words, `stride` Reals apart.
void store_square(Real* to, std::int64_t stride, const WordVec (&square)[kLanes]) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) store(reinterpret_cast<Word*>(to + i * stride), square[i]);
}

// 16 rows of A in one step, from rows of k: `rows` and `k` are what is left of the operand.
void transpose_half(Real* to, const Real* a, std::int64_t stride, std::int64_t rows, std::int64_t k) {
  WordVec square[kLanes];
  if (rows >= kTileRows && k >= kStepDepth) {
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) square[i] = load_across(a + i * kWordDepth * stride, stride);
  } else {
    for (std::int64_t i = 0; i < kLanes; ++i) {
      const std::int64_t at = i * kWordDepth;
      square[i] = at < k ? load_across_partial(a + at * stride, stride, rows, k - at) : zero_word_vec();
    }
  }
  transpose<kLanes / 2>(square);
  store_square(to, kStepDepth, square);
}

// The same for B: one tile of a panel in one step, from columns that are rows in memory.
void transpose_columns(Real* to, const Real* b, std::int64_t stride, std::int64_t half, std::int64_t columns, std::int64_t k) {
  WordVec square[kLanes];
  if (columns >= kTilePair && k >= kStepDepth) {
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) square[i] = load_along(b + interleaved_column(half * kTileRows + i) * stride);
  } else {
    for (std::int64_t i = 0; i < kLanes; ++i) {
      const std::int64_t column = interleaved_column(half * kTileRows + i);
      square[i] = column < columns ? load_along_partial(b + column * stride, k) : zero_word_vec();
    }
  }
  transpose<kLanes / 2>(square);
  store_square(to, kPairRow, square);
}

void store_pairs(Real* to, __m512i even, __m512i odd) {
  _mm512_storeu_si512(to, _mm512_unpacklo_epi16(even, odd));
  _mm512_storeu_si512(to + kPairRow / 2, _mm512_unpackhi_epi16(even, odd));
}

void interleave_rows(Real* to, const Operand& b) {
  const std::int64_t steps = steps_of(b.k), panel = steps * kStepReals, whole = b.count / kTilePair * kTilePair;
  for (std::int64_t k = 0; k < steps * kStepDepth; k += kWordDepth) {
    Real* row = to + k / kStepDepth * kStepReals + k % kStepDepth / kWordDepth * kPairRow;
    const Real* even = b.data + k * b.stride;
    if (k + 1 < b.k) {
      const Real* odd = even + b.stride;
      std::int64_t column = 0;
      for (; column < whole; column += kTilePair, row += panel)
        store_pairs(row, _mm512_loadu_si512(even + column), _mm512_loadu_si512(odd + column));
      if (column < b.count)
        store_pairs(row, load_reals_512(even + column, b.count - column), load_reals_512(odd + column, b.count - column));
    } else {  // the last row has no partner, or the step is not complete
      for (std::int64_t column = 0; column < b.count; column += kTilePair, row += panel)
        store_pairs(row, k < b.k ? load_reals_512(even + column, b.count - column) : _mm512_setzero_si512(),
                    _mm512_setzero_si512());
    }
  }
}

}  // namespace

void pack_tile_a(Real* to, const Operand& a) {
  const std::int64_t steps = steps_of(a.k);
  for (std::int64_t step = 0; step < steps; ++step, to += kStepReals) {
    const std::int64_t k = step * kStepDepth;
    if (a.transposed) {
      for (std::int64_t row = 0; row < kTilePair; row += kTileRows)
        transpose_half(to + row * kStepDepth, a.data + k * a.stride + row, a.stride, a.count - row, a.k - k);
    } else {
      for (std::int64_t row = 0; row < kTilePair; ++row)
        _mm512_storeu_si512(to + row * kStepDepth,
                            row < a.count ? load_reals_512(a.data + row * a.stride + k, a.k - k) : _mm512_setzero_si512());
    }
  }
}

void pack_block_b(Real* to, const Operand& b) {
  if (!b.transposed) {
    interleave_rows(to, b);
    return;
  }
  const std::int64_t steps = steps_of(b.k);
  for (std::int64_t column = 0; column < b.count; column += kTilePair) {
    for (std::int64_t step = 0; step < steps; ++step, to += kStepReals) {
      const Real* const from = b.data + column * b.stride + step * kStepDepth;
      for (std::int64_t half = 0; half < 2; ++half)
        transpose_columns(to + half * kPairRow / 2, from, b.stride, half, b.count - column, b.k - step * kStepDepth);
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
