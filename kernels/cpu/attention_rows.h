// What attention and its gradient compute from a row of scores: plain loops, or one pass in registers for Bf16 with AVX-512.
#pragma once

#include "kernels/cpu/dropout_rows.h"
#include "kernels/cpu/exp.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

struct GradRow {
  float scale, log_sum_exp, delta;  // delta: dy . y
};

#if EPOCHBENCH_BF16_LANES

constexpr float kLog2OfE = 1.44269504f;

// The value to subtract from the exponents of a row of scores [n] so that the largest is 0, in the unit that softmax_row takes.
static inline float row_shift(const float* scores, float scale, std::int64_t n) {
  Lanes largest = _mm512_set1_ps(-__builtin_inff());
  across_registers(n, [&](auto part, std::int64_t i) { largest = larger(part, load(part, scores + i), largest); });
  return scale * kLog2OfE * largest_in(largest);
}

// weights [n] = exp(scale * score - shift), 0 where dropped. Returns the sum of the exponentials, dropped ones included.
template <bool kMasked>
static inline float softmax_row(Bf16* weights, const float* scores, float scale, float shift, const RowMask& mask,
                                std::int64_t n) {
  const Lanes factor = _mm512_set1_ps(scale * kLog2OfE), subtrahend = _mm512_set1_ps(shift);
  Lanes sum = _mm512_setzero_ps();
  across_registers(n, [&](auto part, std::int64_t i) {
    const Lanes value = only(part, exp2_of_nonpositive(_mm512_fmsub_ps(load(part, scores + i), factor, subtrahend)));
    sum += value;
    store(part, weights + i, kMasked ? where(kept_bits(mask.bits, mask.skipped + i), value) : value);
  });
  return sum_in(sum);
}

static inline float log_sum_exp_of(float shift, float sum) { return shift * 0.693147181f + log_of_normal(sum); }

// p = exp(scale * qk - log_sum_exp), m: 0 where dropped, else the mask's scale. weights [n] = p m, dscores [n] = scale p (m dyv
// - delta).
template <bool kMasked>
static inline void grad_row(Bf16* weights, Bf16* dscores, const float* qk, const float* dyv, const GradRow& row,
                            const RowMask& mask, std::int64_t n) {
  const Lanes factor = _mm512_set1_ps(row.scale * kLog2OfE), shift = _mm512_set1_ps(row.log_sum_exp * kLog2OfE);
  const Lanes delta = _mm512_set1_ps(row.delta), scale = _mm512_set1_ps(row.scale), kept_scale = _mm512_set1_ps(mask.scale);
  across_registers(n, [&](auto part, std::int64_t i) {
    const Lanes p = exp2_of_nonpositive(_mm512_fmsub_ps(load(part, qk + i), factor, shift));
    Lanes upstream = load(part, dyv + i), weight = p;
    if constexpr (kMasked) {
      const Lanes m = where(kept_bits(mask.bits, mask.skipped + i), kept_scale);
      upstream = upstream * m;
      weight = weight * m;
    }
    store(part, weights + i, weight);
    store(part, dscores + i, scale * p * (upstream - delta));
  });
}

#else

// The same.
static inline float row_shift(const float* scores, float scale, std::int64_t n) {
  float largest = scores[0];
#pragma omp simd reduction(max : largest)
  for (std::int64_t j = 0; j < n; ++j) largest = scores[j] > largest ? scores[j] : largest;
  return scale * largest;
}

// The same; weights may be scores.
template <bool kMasked>
static inline float softmax_row(Real* weights, const float* scores, float scale, float shift, const RowMask& mask,
                                std::int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < n; ++j) {
    const float value = exp_of_nonpositive(scale * scores[j] - shift);
    weights[j] = narrow(value);
    sum += value;
  }
  if constexpr (kMasked) {
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) weights[j] = mask.random[j] >= mask.threshold ? weights[j] : Real{};
  }
  return sum;
}

static inline float log_sum_exp_of(float shift, float sum) {
  return static_cast<float>(shift + __builtin_log(static_cast<double>(sum)));
}

// The same; weights may be qk, dscores may be dyv.
template <bool kMasked>
static inline void grad_row(Real* weights, Real* dscores, const float* qk, const float* dyv, const GradRow& row,
                            const RowMask& mask, std::int64_t n) {
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) {
    const float p = exp_of_nonpositive(row.scale * qk[j] - row.log_sum_exp);
    const float m = !kMasked ? 1 : mask.random[j] >= mask.threshold ? mask.scale : 0;
    weights[j] = narrow(kMasked ? p * m : p);
    dscores[j] = narrow(row.scale * p * (kMasked ? m * dyv[j] - row.delta : dyv[j] - row.delta));
  }
}

#endif

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
