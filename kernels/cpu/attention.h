// Code shared by attention and its gradient. A pair is one sequence of the batch and one head; the pairs of a group have
// adjacent heads and the same keys and values. Scores are computed for one block of queries at a time, as whole rows: a row's
// softmax needs no later correction, and a block stays in cache.
#pragma once

#include <cstddef>

#include "kernels/cpu/attention_rows.h"
#include "kernels/cpu/gemm/small.h"
#include "kernels/shapes.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Scores are `scale` times the products of q and k. They are stored unscaled; the code that reads them multiplies.
static inline float score_scale(const AttentionShape& shape) {
  return static_cast<float>(1 / __builtin_sqrt(static_cast<double>(shape.width)));
}

static inline std::int64_t pair_count(const AttentionShape& shape) { return shape.batch * shape.heads; }
static inline std::int64_t group_count(const AttentionShape& shape) { return shape.batch * key_heads(shape); }
// Offset of a row of the pair in a tensor whose rows are `stride` apart.
static inline std::int64_t row_offset(const AttentionShape& shape, std::int64_t pair, std::int64_t row, std::int64_t stride) {
  return (pair / shape.heads * shape.sequence + row) * stride + pair % shape.heads * shape.width;
}

// Queries per block: all of them, or as many as `floats` of scores allow, but at least as many as a register tile has rows.
// With AMX, the limit is rounded to whole tiles, since partial ones leave registers idle.
static inline std::int64_t block_rows(const AttentionShape& shape, std::int64_t floats) {
  constexpr std::int64_t kTile = kMr[2];
  const std::int64_t allowed = floats / spread_stride(shape.sequence);
  const std::int64_t most = max_of(EPOCHBENCH_AMX ? (allowed + kTile / 2) / kTile * kTile : allowed, kTile);
  return divide_up(shape.sequence, divide_up(shape.sequence, most));
}

// The number of columns that a product must compute to get the first `needed` of `all`: those of whole panels, or all.
static inline std::int64_t panel_columns(std::int64_t needed, std::int64_t all) { return min_of(round_up(needed, kNr), all); }

// The same in k, v and their gradients, for a group.
static inline std::int64_t key_offset(const AttentionShape& shape, std::int64_t group, std::int64_t row) {
  return (group / key_heads(shape) * shape.sequence + row) * key_stride(shape) + group % key_heads(shape) * shape.width;
}

// Words of scratch that row_mask needs for `keys` keys, and the mask of a row of weights from key `keys.begin` on.
static inline std::int64_t mask_words(std::int64_t keys) { return round_up(row_mask_words(keys), 16); }
static inline RowMask row_mask(std::uint32_t* random, const AttentionShape& shape, std::int64_t pair, std::int64_t row,
                               Range keys, const Dropout& dropout, const PhiloxKeys& philox) {
  const std::int64_t first = (pair * shape.sequence + row) * shape.sequence + keys.begin;
  return draw_row(random, first, keys.end - keys.begin, dropout, philox);
}

// Prefetches row `row` of the next pair in q or y, or in k or v; the same thread most likely processes that pair next. Rows of
// a pair are pages apart, so the hardware prefetcher does not find them.
static inline void prefetch_row(const Real* row, std::int64_t width) {
  constexpr std::int64_t kLine = 64 / sizeof(Real);
  for (std::int64_t i = 0; i < width; i += kLine) __builtin_prefetch(row + i, 0, 2);
}
static inline void prefetch_next(const Real* x, const AttentionShape& shape, std::int64_t pair, std::int64_t row,
                                 std::int64_t stride) {
  if (pair + 1 < pair_count(shape)) prefetch_row(x + row_offset(shape, pair + 1, row, stride), shape.width);
}
static inline void prefetch_next_keys(const Real* x, const AttentionShape& shape, std::int64_t pair, std::int64_t row) {
  if (pair + 1 >= pair_count(shape) || (pair + 1) % group_size(shape) != 0) return;
  prefetch_row(x + key_offset(shape, (pair + 1) / group_size(shape), row), shape.width);
}

// The Reals of the words of a row after the n-th are set to zero.
static inline void finish_words(Real* row, std::int64_t n) {
  for (std::int64_t i = n; i < word_count(n) * kWordDepth; ++i) row[i] = Real{};
}
// The same for a row of n Reals that is multiplied as a row of `all`.
static inline void finish_row(Real* row, std::int64_t n, std::int64_t all) {
  if (n < all) __builtin_memset(row + n, 0, static_cast<std::size_t>(all - n) * sizeof(Real));
  finish_words(row, all);
}

// Where weights are rounded that become the words of a row: in their place, or in `rounded` [row_reals(n)] if words are wider.
static inline std::int64_t row_reals(std::int64_t n) { return kWidens ? round_up(n, 32) : 0; }
static inline Real* rounded_row(Word* operand, Real* rounded) { return kWidens ? rounded : reals(operand); }
// Completes a row of `all` words, of whose Reals the first n have been computed.
static inline void finish_weights(Word* operand, Real* row, std::int64_t n, std::int64_t all) {
  finish_row(row, n, all);
  if (kWidens) copy_rows(operand, 0, row, 0, 1, all);
}

// Operations of one product of whole sequences, in the forward pass or the gradient, without those that causality masks.
static inline double product_flops(const AttentionShape& shape) {
  const auto sequence = static_cast<double>(shape.sequence);
  return (shape.causal ? 1 : 2) * static_cast<double>(pair_count(shape)) * sequence * sequence *
         static_cast<double>(shape.width);
}

std::size_t attention_grad_workspace_bytes(const AttentionShape& shape, int threads);

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
