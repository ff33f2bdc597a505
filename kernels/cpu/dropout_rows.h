// Dropout of consecutive elements, such as a row: the mask and its uses.
#pragma once

#include "kernels/cpu/narrow.h"
#include "kernels/cpu/philox.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

#if EPOCHBENCH_BF16_LANES
// The dropout mask of consecutive elements: bit `skipped` + i of `bits` belongs to element i.
struct RowMask {
  const std::uint32_t* bits;
  std::int64_t skipped;
  float scale;  // of kept elements
};
static inline std::int64_t row_mask_words(std::int64_t n) { return (n + 3) / (4 * kPhiloxBlocks) + 2; }
// For the elements [first, first + n).
static inline RowMask draw_row(std::uint32_t* random, std::int64_t first, std::int64_t n, const Dropout& dropout,
                               const PhiloxKeys& keys) {
  first += dropout.first;
  philox_bits(random, first / 4, (first % 4 + n + 3) / 4, dropout.threshold, keys);
  return {random, first % 4, dropout.scale};
}
#else
// The same with a word per element.
struct RowMask {
  const std::uint32_t* random;
  std::uint32_t threshold;
  float scale;
};
static inline std::int64_t row_mask_words(std::int64_t n) { return n + 6 + 4 * kPhiloxBlocks; }
static inline RowMask draw_row(std::uint32_t* random, std::int64_t first, std::int64_t n, const Dropout& dropout,
                               const PhiloxKeys& keys) {
  first += dropout.first;
  philox_words(random, first / 4, (first % 4 + n + 3) / 4, keys);
  return {random + first % 4, dropout.threshold, dropout.scale};
}
#endif

constexpr std::int64_t kDrawn = 1024;  // elements whose mask is drawn together: 4 KiB of words stay in the L1 cache
static_assert(kDrawn % (4 * kPhiloxBlocks) == 0);

// use(mask, i, count) for parts of n elements: the part begins with element i, which is element first + i of the tensor.
template <typename Use>
static inline void for_each_drawn(std::int64_t first, std::int64_t n, const Dropout& dropout, const PhiloxKeys& keys, Use use) {
  alignas(64) std::uint32_t random[kDrawn + 64];
  for (std::int64_t i = 0; i < n; i += kDrawn) {
    const std::int64_t count = min_of(kDrawn, n - i);
    use(draw_row(random, first + i, count, dropout, keys), i, count);
  }
}

#if EPOCHBENCH_BF16_LANES

// y [n] = function(x * scale where kept, else 0, more ...), of registers.
template <typename Function, typename... Inputs>
static inline void map_kept(Real* y, const Real* x, const RowMask& mask, std::int64_t n, Function function,
                            const Inputs*... more) {
  const Lanes factor = _mm512_set1_ps(mask.scale);
  across_registers(n, [=](auto part, std::int64_t i) {
    const Lanes value = where(kept_bits(mask.bits, mask.skipped + i), load(part, x + i) * factor);
    store(part, y + i, function(value, load(part, more + i)...));
  });
}

static inline void keep(Real* y, const Real* x, const RowMask& mask, std::int64_t n) {
  const Lanes factor = _mm512_set1_ps(mask.scale);
  const std::int64_t pairs = n / (2 * kWhole) * (2 * kWhole);
  for (std::int64_t i = 0; i < pairs; i += 2 * kWhole) {
    const LanePair pair = load_pair(x + i);
    store_pair_where(kept_pair(mask.bits, mask.skipped + i), y + i, {pair.first * factor, pair.second * factor});
  }
  const RowMask rest{mask.bits, mask.skipped + pairs, mask.scale};
  map_kept(y + pairs, x + pairs, rest, n - pairs, [](Lanes value) { return value; });
}

static inline void keep_and_add(Real* y, const Real* x, const Real* shortcut, const RowMask& mask, std::int64_t n) {
  map_kept(
      y, x, mask, n, [](Lanes value, Lanes other) { return value + other; }, shortcut);
}

#else

static inline void keep(Real* y, const Real* x, const RowMask& mask, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = narrow(mask.random[i] >= mask.threshold ? widen(x[i]) * mask.scale : 0);
}

static inline void keep_and_add(Real* y, const Real* x, const Real* shortcut, const RowMask& mask, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    y[i] = narrow((mask.random[i] >= mask.threshold ? widen(x[i]) * mask.scale : 0) + widen(shortcut[i]));
}

#endif

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
