// What attention and its gradient share. A pair is a sequence of the batch and a head; its scores exist a block of queries at
// a time, whole rows of them, so a row's softmax needs no correction afterwards and a block stays in cache.
#pragma once

#include <cstddef>

#include "kernels/cpu/gemm/small.h"
#include "kernels/cpu/philox.h"
#include "kernels/shapes.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Scores are `scale` times the products of q and k, and are never stored so: who reads them multiplies.
static inline float score_scale(const AttentionShape& shape) {
  return static_cast<float>(1 / __builtin_sqrt(static_cast<double>(shape.width)));
}

static inline std::int64_t pair_count(const AttentionShape& shape) { return shape.batch * shape.heads; }
static inline std::int64_t row_stride(const AttentionShape& shape) { return shape.heads * shape.width; }
// Of a row of the pair in q, k, v and y.
static inline std::int64_t row_offset(const AttentionShape& shape, std::int64_t pair, std::int64_t row) {
  return ((pair / shape.heads * shape.sequence + row) * shape.heads + pair % shape.heads) * shape.width;
}

// Queries of a block: all, or as many as `floats` of scores allow, but at least a register tile's.
static inline std::int64_t block_rows(const AttentionShape& shape, std::int64_t floats) {
  const std::int64_t most = max_of(floats / spread_stride(shape.sequence), kMaxRows[2]);
  return divide_up(shape.sequence, divide_up(shape.sequence, most));
}

// Random words of a row of weights, from key `first` on; at most `keys` of them, behind up to 3 of the keys before.
static inline std::int64_t mask_words(std::int64_t keys) { return round_up(keys + 6 + 4 * kPhiloxBlocks, 16); }
static inline const std::uint32_t* draw_mask(std::uint32_t* words, const AttentionShape& shape, std::int64_t pair,
                                             std::int64_t row, Range keys, std::int32_t step, const Dropout& dropout) {
  const std::int64_t element = (pair * shape.sequence + row) * shape.sequence + keys.begin, skipped = element % 4;
  philox_words(words, element / 4, divide_up(skipped + keys.end - keys.begin, 4), step, dropout);
  return words + skipped;
}

// Asks for row `row` of the pair after this one, which the same thread most likely does next: rows of a pair lie pages apart,
// where no hardware expects them.
static inline void prefetch_next(const Real* x, const AttentionShape& shape, std::int64_t pair, std::int64_t row) {
  if (pair + 1 >= pair_count(shape)) return;
  const Real* const next = x + row_offset(shape, pair + 1, row);
  constexpr std::int64_t kLine = 64 / sizeof(Real);
  for (std::int64_t i = 0; i < shape.width; i += kLine) __builtin_prefetch(next + i, 0, 2);
}

// Rows of Reals that are operands of a product lie in words, and end with whole ones: what is behind n Reals is zero.
static inline Real* reals(Word* words) { return reinterpret_cast<Real*>(words); }
static inline void finish_words(Real* row, std::int64_t n) {
  for (std::int64_t i = n; i < words_of(n) * kWordDepth; ++i) row[i] = Real{};
}

std::size_t attention_grad_workspace_bytes(const AttentionShape& shape, int threads);

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
