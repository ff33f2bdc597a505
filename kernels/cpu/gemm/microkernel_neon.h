// The NEON part of the micro-kernel: its vectors, and the tiles that fit 32 registers. The loops are in multiply_lanes.h, those
// of bf16 in multiply_blocks.h.
#pragma once

#include <arm_neon.h>

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

using Vec = float32x4_t;
constexpr int kLanes = 4;
constexpr int kMaxVectors = 3;
// MR of a tile that is 1, 2 or 3 vectors wide. Neoverse V1 and V2 start 4 multiply-adds per cycle, each ready 4 cycles later:
// 16 accumulators keep them busy, and 24 leave registers for two words of k of B and a row of A.
constexpr int kMr[] = {0, 16, 12, 8};

static inline Vec zero_vector() { return vdupq_n_f32(0); }
static inline Vec load(const float* p) { return vld1q_f32(p); }
static inline void store(float* p, Vec v) { vst1q_f32(p, v); }
static inline Vec broadcast(const float* p) { return vdupq_n_f32(*p); }
static inline Vec multiply_add(Vec a, Vec b, Vec c) { return vfmaq_f32(c, a, b); }
// a > b ? a : b, so a NaN in b propagates, which FMAX does for both.
static inline Vec maximum(Vec a, Vec b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
// The first `count` lanes, 1 to kLanes; the others read as zero, or are not written.
static inline Vec load_partial(const float* p, std::int64_t count) {
  Vec v = zero_vector();
  for (std::int64_t i = 0; i < count; ++i) v[i] = p[i];
  return v;
}
static inline void store_partial(float* p, Vec v, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) p[i] = v[i];
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
