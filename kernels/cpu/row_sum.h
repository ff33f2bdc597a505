// The sum of a row.
#pragma once

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/narrow.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

constexpr std::int64_t kSumChunk =
    512;  // elements summed in float before the sum is added in double; a multiple of every vector width
#if EPOCHBENCH_BF16_LANES
static inline double sum_of(const Real* x, std::int64_t n) {
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += kSumChunk) {
    Lanes sums[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    for_each_register(x + begin, min_of(kSumChunk, n - begin), [&](int which, auto, Lanes value) { sums[which] += value; });
    total += sum_in(sums[0] + sums[1]);
  }
  return total;
}
#else
static inline double sum_of(const Real* x, std::int64_t n) {
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += kSumChunk) {
    const std::int64_t end = min_of(begin + kSumChunk, n);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = begin; i < end; ++i) sum += widen(x[i]);
    total += sum;
  }
  return total;
}
#endif

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
