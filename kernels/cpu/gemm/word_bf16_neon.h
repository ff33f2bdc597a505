// The micro-kernel's words for Bf16 on NEON: the four numbers of a row or column that BFMMLA multiplies and adds to a float.
// That instruction treats subnormal numbers as zero.
#pragma once

#include <arm_neon.h>

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Loaded from Bf16 memory with Bf16 alignment. The first number of a word is its lowest part.
typedef std::uint64_t Word __attribute__((aligned(2), may_alias));
struct WordVec {
  uint64x2_t low, high;  // kLanes words
};
constexpr std::int64_t kWordDepth = 4;  // Reals per word

static inline WordVec load(const Word* p) {
  WordVec v;
  __builtin_memcpy(&v.low, p, sizeof v.low);
  __builtin_memcpy(&v.high, p + 2, sizeof v.high);
  return v;
}
static inline void store(Word* p, WordVec v) {
  __builtin_memcpy(p, &v.low, sizeof v.low);
  __builtin_memcpy(p + 2, &v.high, sizeof v.high);
}
static inline WordVec zero_word_vec() { return {vdupq_n_u64(0), vdupq_n_u64(0)}; }
// The first `bytes` bytes; the others are zero.
static inline WordVec load_bytes(const void* p, std::int64_t bytes) {
  WordVec v = zero_word_vec();
  __builtin_memcpy(&v, p, static_cast<std::size_t>(bytes));
  return v;
}
static inline WordVec load_partial(const Word* p, std::int64_t count) { return load_bytes(p, count * 8); }
static inline void store_partial(Word* p, WordVec v, std::int64_t count) {
  __builtin_memcpy(p, &v, static_cast<std::size_t>(count) * sizeof(Word));
}

static inline uint16x4_t load_halves(const Bf16* p) {
  uint16x4_t halves;
  __builtin_memcpy(&halves, p, sizeof halves);
  return halves;
}
// The first `count` halves; the others are zero.
static inline uint16x4_t load_halves(const Bf16* p, std::int64_t count) {
  uint16x4_t halves = vdup_n_u16(0);
  if (count > 0) __builtin_memcpy(&halves, p, static_cast<std::size_t>(count) * sizeof(Bf16));
  return halves;
}
static inline Vec widen(uint16x4_t halves) { return vreinterpretq_f32_u32(vshll_n_u16(halves, 16)); }

static inline Vec load_reals(const Bf16* p) { return widen(load_halves(p)); }
static inline Vec load_reals_partial(const Bf16* p, std::int64_t count) { return widen(load_halves(p, count)); }
static inline void store_reals_partial(Bf16* p, Vec v, std::int64_t count) {
  const bfloat16x4_t rounded = vcvt_bf16_f32(v);
  __builtin_memcpy(p, &rounded, static_cast<std::size_t>(count) * sizeof(Bf16));
}
static inline void store_reals(Bf16* p, Vec v) { store_reals_partial(p, v, kLanes); }

// kLanes words of one row that has `k` Reals; missing ones are zero.
static inline WordVec load_along(const Bf16* p) { return load(reinterpret_cast<const Word*>(p)); }
static inline WordVec load_along_partial(const Bf16* p, std::int64_t k) {
  return load_bytes(p, 2 * min_of(max_of(k, 0), kLanes * kWordDepth));
}
// One word for each of kLanes columns, from the first `k` of kWordDepth rows that are `stride` apart; missing ones are zero.
static inline WordVec join_rows(uint16x4_t row0, uint16x4_t row1, uint16x4_t row2, uint16x4_t row3) {
  const uint16x8_t none = vdupq_n_u16(0);
  const auto wide = [none](uint16x4_t row) { return vcombine_u16(row, vget_high_u16(none)); };
  const uint32x4_t first = vreinterpretq_u32_u16(vzip1q_u16(wide(row0), wide(row1)));
  const uint32x4_t second = vreinterpretq_u32_u16(vzip1q_u16(wide(row2), wide(row3)));
  return {vreinterpretq_u64_u32(vzip1q_u32(first, second)), vreinterpretq_u64_u32(vzip2q_u32(first, second))};
}
static inline WordVec load_across(const Bf16* p, std::int64_t stride) {
  return join_rows(load_halves(p), load_halves(p + stride), load_halves(p + 2 * stride), load_halves(p + 3 * stride));
}
static inline WordVec load_across_partial(const Bf16* p, std::int64_t stride, std::int64_t columns, std::int64_t k) {
  const std::int64_t count = min_of(columns, kLanes);
  const auto row = [=](std::int64_t i) { return i < k ? load_halves(p + i * stride, count) : vdup_n_u16(0); };
  return join_rows(row(0), row(1), row(2), row(3));
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
