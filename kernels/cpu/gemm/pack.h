// Copies operands of a matrix product into the order in which the microkernel reads them.
//
// B goes into panels of two vectors' width, k-major, one behind the other; the last one may be one vector wide. Missing
// columns are zero. A stays row by row (its rows are contiguous in k already), or k-major by tiles if it is transposed. An odd
// k of Bf16 ends with half a word, whose other half is zero.
#pragma once

#include "kernels/cpu/gemm/microkernel.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

constexpr int kPanelColumns = 2 * kLanes;

// Words of a row of all panels of n columns.
static inline std::int64_t packed_columns(std::int64_t n) { return round_up(n, kLanes); }

// Packing of n columns, `depth` Reals deep, is shared out in pieces of a panel, so that there is work for all even where there
// is one panel only. 128: a piece takes microseconds.
constexpr std::int64_t kPieceDepth = 128;
struct PackPiece {
  std::int64_t column, columns, k, depth;  // k and depth in Reals
  std::int64_t offset;                     // in the packed panels, in words
};
static inline std::int64_t pack_pieces(std::int64_t n, std::int64_t depth) {
  return divide_up(n, kPanelColumns) * divide_up(depth, kPieceDepth);
}
static inline PackPiece pack_piece(std::int64_t n, std::int64_t depth, std::int64_t index) {
  const std::int64_t along = divide_up(depth, kPieceDepth);
  PackPiece piece{};
  piece.column = index / along * kPanelColumns;
  piece.columns = min_of(kPanelColumns, n - piece.column);
  piece.k = index % along * kPieceDepth;
  piece.depth = min_of(kPieceDepth, depth - piece.k);
  piece.offset = piece.column * words_of(depth) + words_of(piece.k) * panel_vectors(piece.columns) * kLanes;
  return piece;
}

// Whether `rows` rows that lie `stride` words apart crowd into too few sets of a first-level cache of 64 sets of 8 lines of
// 16 words: what today's x86 cores have at least.
static inline bool rows_conflict(std::int64_t stride, std::int64_t rows) {
  if (stride % 16 != 0) return false;
  const std::int64_t lines = stride / 16, sets = 64 / min_of(64, lines & -lines);
  return divide_up(rows, sets) > 4;
}

// Words between rows of an operand that lie an odd number of lines apart, so that rows spread over the sets of a cache.
static inline std::int64_t spread_stride(std::int64_t columns) {
  const std::int64_t lines = divide_up(columns, 16);
  return (lines % 2 == 0 ? lines + 1 : lines) * 16;
}

// Sources below are Reals, and so are k, columns and the strides of sources; packed operands are words, and so are their
// strides.

// One panel of `columns` from b[k * stride + column].
void pack_panel(Word* panel, const Real* b, std::int64_t stride, std::int64_t k, std::int64_t columns);
// The same from the transposed b[column * stride + k].
void pack_panel_transposed(Word* panel, const Real* b, std::int64_t stride, std::int64_t k, std::int64_t columns);
// dst[row * dst_stride + word] of src[row * src_stride + k].
void copy_rows(Word* dst, std::int64_t dst_stride, const Real* src, std::int64_t src_stride, std::int64_t rows, std::int64_t k);
// Transposed A of src[k * src_stride + row], for kPackedTransposedA: dst[word * dst_stride + row] for AccessA::columns,
// dst[row * dst_stride + word] for AccessA::rows.
void pack_transposed(Word* dst, std::int64_t dst_stride, const Real* src, std::int64_t src_stride, std::int64_t k,
                     std::int64_t rows);
// Words of such a row, spread over the sets of a cache, and of all of them.
static inline std::int64_t transposed_stride(std::int64_t k, std::int64_t rows) {
  return spread_stride(kPackedTransposedA == AccessA::columns ? rows : words_of(k));
}
static inline std::int64_t transposed_words(std::int64_t k, std::int64_t rows) {
  return transposed_stride(k, rows) * (kPackedTransposedA == AccessA::columns ? words_of(k) : rows);
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
