// Packing: contiguous vector copies, and a transpose in registers if B is stored by columns.
#include "kernels/cpu/gemm/pack.h"

#include "kernels/cpu/gemm/transpose.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

void pack_panel(Word* panel, const Real* b, std::int64_t stride, std::int64_t k, std::int64_t columns) {
  const int vectors = panel_vectors(columns);
  const std::int64_t width = vectors * kLanes, whole = k - k % kWordDepth;
  if (columns == 2 * kLanes) {
    for (std::int64_t i = 0; i < whole; i += kWordDepth, panel += width, b += kWordDepth * stride) {
      store(panel, load_across(b, stride));
      store(panel + kLanes, load_across(b + kLanes, stride));
    }
  } else {
    for (std::int64_t i = 0; i < whole; i += kWordDepth, panel += width, b += kWordDepth * stride)
      for (int v = 0; v < vectors; ++v)
        store(panel + v * kLanes, load_across_partial(b + v * kLanes, stride, columns - v * kLanes, kWordDepth));
  }
  if (whole == k) return;
  for (int v = 0; v < vectors; ++v)
    store(panel + v * kLanes, load_across_partial(b + v * kLanes, stride, columns - v * kLanes, k - whole));
}

void pack_panel_transposed(Word* panel, const Real* b, std::int64_t stride, std::int64_t k, std::int64_t columns) {
  const int vectors = panel_vectors(columns);
  const std::int64_t width = vectors * kLanes, k_words = word_count(k);
  for (std::int64_t i = 0; i < k_words; i += kLanes) {
    const std::int64_t depth = min_of(kLanes, k_words - i), from = i * kWordDepth;
    for (int v = 0; v < vectors; ++v) {
      const Real* source = b + v * kLanes * stride + from;
      const std::int64_t left = columns - v * kLanes;
      WordVec rows[kLanes];
      if (left >= kLanes && from + kLanes * kWordDepth <= k) {
#pragma GCC unroll 16
        for (int lane = 0; lane < kLanes; ++lane) rows[lane] = load_along(source + lane * stride);
      } else {
        for (int lane = 0; lane < kLanes; ++lane)
          rows[lane] = lane < left ? load_along_partial(source + lane * stride, k - from) : zero_word_vec();
      }
      transpose<kLanes / 2>(rows);
      Word* target = panel + i * width + v * kLanes;
      if (depth == kLanes) {
#pragma GCC unroll 16
        for (int lane = 0; lane < kLanes; ++lane) store(target + lane * width, rows[lane]);
      } else {
        for (std::int64_t lane = 0; lane < depth; ++lane) store(target + lane * width, rows[lane]);
      }
    }
  }
}

void copy_rows(Word* dst, std::int64_t dst_stride, const Real* src, std::int64_t src_stride, std::int64_t rows,
               std::int64_t k) {
  constexpr std::int64_t kStep = kLanes * kWordDepth;
  for (std::int64_t row = 0; row < rows; ++row) {
    Word* to = dst + row * dst_stride;
    const Real* from = src + row * src_stride;
    std::int64_t i = 0;
    for (; i + kStep <= k; i += kStep, to += kLanes) store(to, load_along(from + i));
    if (i < k) store_partial(to, load_along_partial(from + i, k - i), word_count(k - i));
  }
}

void pack_columns(Word* dst, std::int64_t dst_stride, const Real* src, std::int64_t src_stride, std::int64_t rows,
                  std::int64_t k) {
  for (std::int64_t i = 0; i < k; i += kLanes * kWordDepth) {
    const std::int64_t depth = min_of(word_count(k - i), kLanes);
    for (std::int64_t row = 0; row < rows; row += kLanes) {
      WordVec square[kLanes];
      for (std::int64_t lane = 0; lane < kLanes; ++lane)
        square[lane] = row + lane < rows ? load_along_partial(src + (row + lane) * src_stride + i, k - i) : zero_word_vec();
      transpose<kLanes / 2>(square);
      for (std::int64_t word = 0; word < depth; ++word)
        store_partial(dst + (i / kWordDepth + word) * dst_stride + row, square[word], min_of(rows - row, kLanes));
    }
  }
}

// If rows are needed, the squares of words that `load_across` returns are transposed.
void pack_transposed(Word* dst, std::int64_t dst_stride, const Real* src, std::int64_t src_stride, std::int64_t k,
                     std::int64_t rows) {
  if constexpr (kPackedTransposedA == AccessA::rows) {
    for (std::int64_t row = 0; row < rows; row += kLanes) {
      for (std::int64_t i = 0; i < k; i += kLanes * kWordDepth) {
        WordVec square[kLanes];
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
          const std::int64_t at = i + lane * kWordDepth;
          square[lane] =
              at < k ? load_across_partial(src + at * src_stride + row, src_stride, rows - row, k - at) : zero_word_vec();
        }
        transpose<kLanes / 2>(square);
        const std::int64_t count = min_of(word_count(k - i), kLanes);
        for (std::int64_t lane = 0; lane < min_of(rows - row, kLanes); ++lane)
          store_partial(dst + (row + lane) * dst_stride + i / kWordDepth, square[lane], count);
      }
    }
    return;
  }
  for (std::int64_t i = 0; i < k; i += kWordDepth, dst += dst_stride, src += kWordDepth * src_stride) {
    const std::int64_t depth = min_of(kWordDepth, k - i);
    std::int64_t row = 0;
    if (depth == kWordDepth)
      for (; row + kLanes <= rows; row += kLanes) store(dst + row, load_across(src + row, src_stride));
    for (; row < rows; row += kLanes) {
      const WordVec last = load_across_partial(src + row, src_stride, rows - row, depth);
      if (row + kLanes <= dst_stride) {  // partial stores take 42 micro-operations with AVX2 on Zen 1 to 4
        store(dst + row, last);
      } else {
        store_partial(dst + row, last, min_of(kLanes, rows - row));
      }
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
