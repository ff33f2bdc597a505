// Copies operands of a matrix product into the order in which the micro-kernel reads them.
//
// B is packed into contiguous, k-major panels two vectors wide; the last panel may be one vector wide. Missing columns are
// zero. A is packed row by row (its rows are contiguous in k already), or in k-major tiles if it is transposed or BFMMLA
// multiplies it. If k is not a multiple of the numbers of a word, zeros complete the last one.
#pragma once

#include "kernels/cpu/gemm/microkernel.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

constexpr int kNr = 2 * kLanes;

constexpr std::int64_t kLineWords = 64 / sizeof(Word);  // words of a cache line

// What a copy of Reals consists of: Reals, where kWordDepth make a word, or the words that they are widened to.
#if EPOCHBENCH_WIDENED
using Element = Word;
#else
using Element = Real;
#endif

// Words in one row of all panels of n columns.
static inline std::int64_t packed_columns(std::int64_t n) { return round_up(n, kLanes); }

// Packing n columns, `depth` Reals deep, is divided into pieces of a panel, so that all threads have work even if there is only
// one panel. 128: a piece takes microseconds.
constexpr std::int64_t kPieceDepth = 128;
struct PackPiece {
  std::int64_t column, columns, k, depth;  // k and depth in Reals
  std::int64_t offset;                     // in the packed panels, in words
};
static inline std::int64_t pack_pieces(std::int64_t n, std::int64_t depth) {
  return divide_up(n, kNr) * divide_up(depth, kPieceDepth);
}
static inline PackPiece pack_piece(std::int64_t n, std::int64_t depth, std::int64_t index) {
  const std::int64_t along = divide_up(depth, kPieceDepth);
  PackPiece piece{};
  piece.column = index / along * kNr;
  piece.columns = min_of(kNr, n - piece.column);
  piece.k = index % along * kPieceDepth;
  piece.depth = min_of(kPieceDepth, depth - piece.k);
  piece.offset = piece.column * word_count(depth) + word_count(piece.k) * panel_vectors(piece.columns) * kLanes;
  return piece;
}

// The number of `rows` rows, `stride` words apart, that start in the same of the 64 sets of an L1 cache.
static inline std::int64_t rows_per_set(std::int64_t stride, std::int64_t rows) {
  if (stride % kLineWords != 0) return 1;
  const std::int64_t lines = stride / kLineWords, sets = 64 / min_of(64, lines & -lines);
  return divide_up(rows, sets);
}
// Whether they are too many for 8 ways, the minimum on current x86 cores.
static inline bool rows_conflict(std::int64_t stride, std::int64_t rows) { return rows_per_set(stride, rows) > 4; }

// Words between rows of an operand: an odd number of cache lines, so that rows are distributed over the cache sets.
static inline std::int64_t spread_stride(std::int64_t columns) {
  const std::int64_t lines = divide_up(columns, 16);
  return (lines % 2 == 0 ? lines + 1 : lines) * 16;
}

// Below, sources are Reals, and k, columns and source strides count Reals; packed operands and their strides count words.

// Packs one panel of `columns` columns from b[k * stride + column].
void pack_panel(Word* panel, const Real* b, std::int64_t stride, std::int64_t k, std::int64_t columns);
// The same from transposed b[column * stride + k].
void pack_panel_transposed(Word* panel, const Real* b, std::int64_t stride, std::int64_t k, std::int64_t columns);
// dst[row * dst_stride + word] = the words of src[row * src_stride + k].
void copy_rows(Word* dst, std::int64_t dst_stride, const Real* src, std::int64_t src_stride, std::int64_t rows, std::int64_t k);
// Packs A for AccessA::columns: dst[word * dst_stride + row] = the words of src[row * src_stride + k].
void pack_columns(Word* dst, std::int64_t dst_stride, const Real* src, std::int64_t src_stride, std::int64_t rows,
                  std::int64_t k);
// Packs transposed A, src[k * src_stride + row], as kPackedTransposedA requires: dst[word * dst_stride + row] for
// AccessA::columns, where zeros may follow the rows up to dst_stride, dst[row * dst_stride + word] for AccessA::rows.
void pack_transposed(Word* dst, std::int64_t dst_stride, const Real* src, std::int64_t src_stride, std::int64_t k,
                     std::int64_t rows);
// Words of one such row, distributed over the cache sets, and of all rows.
static inline std::int64_t transposed_stride(std::int64_t k, std::int64_t rows) {
  return spread_stride(kPackedTransposedA == AccessA::columns ? rows : word_count(k));
}
static inline std::int64_t transposed_words(std::int64_t k, std::int64_t rows) {
  return transposed_stride(k, rows) * (kPackedTransposedA == AccessA::columns ? word_count(k) : rows);
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
