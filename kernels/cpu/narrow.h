// Rounds many numbers to Real at once, for long rows and for loops that the compiler does not vectorize with narrow(). For rows
// of 64, narrow() is faster, because these functions write floats before they round them.
#pragma once

#include "kernels/cpu/isa.h"

#if EPOCHBENCH_BF16_LANES
#include "kernels/cpu/lanes.h"
#elif EPOCHBENCH_BFMMLA
#include <arm_neon.h>
#endif

namespace epochbench::cpu::EPOCHBENCH_ISA {

// y [n] = narrow(x). For Bf16 it uses the conversion instruction if there is one; that of AVX-512 treats subnormal numbers as
// zero. For floats y may be x.
static inline void narrow_all(Real* y, const float* x, std::int64_t n) {
#if EPOCHBENCH_BF16_LANES
  across_registers(n, [=](auto part, std::int64_t i) { store(part, y + i, load(part, x + i)); });
#elif EPOCHBENCH_BFMMLA
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const bfloat16x8_t rounded = vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(vld1q_f32(x + i)), vld1q_f32(x + i + 4));
    __builtin_memcpy(y + i, &rounded, sizeof rounded);
  }
  for (; i < n; ++i) y[i] = narrow(x[i]);
#else
  if (static_cast<const void*>(y) == x) return;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = narrow(x[i]);
#endif
}

// y[i] = narrow_all(value(i)) for each i below n. y may be an input of `value` at the same i.
template <typename Value>
static inline void narrow_each(Real* y, std::int64_t n, Value value) {
#if EPOCHBENCH_BF16
  constexpr std::int64_t kBlock = 512;  // 2 KiB of floats stay in the L1 cache
  alignas(64) float block[kBlock];
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const std::int64_t length = min_of(kBlock, n - begin);
#pragma omp simd
    for (std::int64_t i = 0; i < length; ++i) block[i] = value(begin + i);
    narrow_all(y + begin, block, length);
  }
#else
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = value(i);
#endif
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
