// The Gaussian error linear unit in its erf form (Hendrycks and Gimpel 2016) and its gradient, written to vectorize.
//
// upper_tail.h has the approximations, one for floats and one for Bf16.
#include <omp.h>

#include "kernels/cpu/exp.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/narrow.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/upper_tail.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

constexpr float kDensity = 0.398942280f;  // 1 / sqrt(2 pi)

#if EPOCHBENCH_BF16

void gelu_part(Real* y, const Real* x, std::int64_t n) {
  map_registers(
      y, n, [](Lanes value) { return gelu_of(value); }, x);
}

void gelu_grad_part(Real* dx, const Real* dy, const Real* x, std::int64_t n) {
  const auto function = [](Lanes upstream, Lanes value) {
    const Lanes t = magnitude(value);
    const auto tail = upper_tail(t);
    const Lanes left = where(counts(t), tail.decay * _mm512_fnmadd_ps(all_lanes(kDensity), t, tail.mills));  // the slope at -t
    return upstream * _mm512_mask_sub_ps(left, positive(value), all_lanes(1), left);
  };
  map_registers(dx, n, function, dy, x);
}

#else

void gelu_part(Real* y, const Real* x, std::int64_t n) {
  narrow_each(y, n, [=](std::int64_t i) { return gelu_of(widen(x[i])); });
}

void gelu_grad_part(Real* dx, const Real* dy, const Real* x, std::int64_t n) {
  narrow_each(dx, n, [=](std::int64_t i) {
    const float value = widen(x[i]), t = __builtin_fabsf(value);
    const auto tail = upper_tail(t);
    const float left = t > kLast ? 0 : tail.decay * multiply_add(-kDensity, t, tail.mills);  // the slope at -t
    return widen(dy[i]) * (value > 0 ? 1 - left : left);
  });
}

#endif

// An element costs about as much as eight simple ones.
bool worth_a_team(std::int64_t n) { return n > kSerialElements / 8; }

}  // namespace

void gelu(Real* y, const Real* x, std::int64_t n, int threads) {
#pragma omp parallel num_threads(threads) if (worth_a_team(n))
  {
    const auto [begin, end] = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 16);
    gelu_part(y + begin, x + begin, end - begin);
  }
}

void gelu_grad(Real* dx, const Real* dy, const Real* x, std::int64_t n, int threads) {
#pragma omp parallel num_threads(threads) if (worth_a_team(n))
  {
    const auto [begin, end] = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 16);
    gelu_grad_part(dx + begin, dy + begin, x + begin, end - begin);
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
