// The Gaussian error linear unit in its erf and its tanh form (Hendrycks and Gimpel 2016) and their gradients, written to
// vectorize.
//
// upper_tail.h has the approximations of the first form, one for floats and one for Bf16. The second is x times the logistic
// function of w = 2 sqrt(2 / pi) (x + 0.044715 x^3), since (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)). With t = |x| and e =
// exp(-|w|), e / (1 + e) is its value at -t: relatively exact in the left tail, which 1 + tanh would lose to cancellation.
#include <omp.h>

#include "kernels/cpu/exp.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/narrow.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/upper_tail.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

constexpr float kDensity = 0.398942280f;                        // 1 / sqrt(2 pi)
constexpr float kLinear = 1.595769122f, kCubic = 0.071354816f;  // 2 sqrt(2 / pi), and that times 0.044715

#if EPOCHBENCH_BF16_LANES

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

// e / (1 + e), 1 / (1 + e) and |w|'s slope.
struct LanesLogistic {
  Lanes left, right, slope;
};
LanesLogistic logistic(Lanes t) {
  const Lanes square = t * t;
  const Lanes w = t * _mm512_fmadd_ps(square, all_lanes(kCubic), all_lanes(kLinear));
  const Lanes e = exp2_for_bf16(w * all_lanes(-1.44269504f));
  const Lanes right = _mm512_maskz_rcp14_ps(0xffff, e + all_lanes(1));
  return {e * right, right, _mm512_fmadd_ps(square, all_lanes(3 * kCubic), all_lanes(kLinear))};
}

void gelu_tanh_part(Real* y, const Real* x, std::int64_t n) {
  const auto function = [](Lanes value) {
    const Lanes t = magnitude(value);
    return relu_of(Whole{}, value) - where(counts(t), t * logistic(t).left);
  };
  map_registers(y, n, function, x);
}

void gelu_tanh_grad_part(Real* dx, const Real* dy, const Real* x, std::int64_t n) {
  const auto function = [](Lanes upstream, Lanes value) {
    const Lanes t = magnitude(value);
    const auto f = logistic(t);
    const Lanes left = where(counts(t), f.left * _mm512_fnmadd_ps(t * f.right, f.slope, all_lanes(1)));  // the slope at -t
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

// e / (1 + e), 1 / (1 + e) and |w|'s slope.
struct Logistic {
  float left, right, slope;
};
inline Logistic logistic(float t) {
  const float square = t * t;
  const float e = exp_of_nonpositive(-t * multiply_add(square, kCubic, kLinear));
  const float right = 1 / (1 + e);
  return {e * right, right, multiply_add(square, 3 * kCubic, kLinear)};
}

void gelu_tanh_part(Real* y, const Real* x, std::int64_t n) {
  narrow_each(y, n, [=](std::int64_t i) {
    const float value = widen(x[i]), t = __builtin_fabsf(value);
    const float missing = t > kLast ? 0 : t * logistic(t).left;
    return (value > 0 ? value : 0) - missing;
  });
}

void gelu_tanh_grad_part(Real* dx, const Real* dy, const Real* x, std::int64_t n) {
  narrow_each(dx, n, [=](std::int64_t i) {
    const float value = widen(x[i]), t = __builtin_fabsf(value);
    const Logistic f = logistic(t);
    const float left = t > kLast ? 0 : f.left * multiply_add(-t * f.right, f.slope, 1);  // the slope at -t
    return widen(dy[i]) * (value > 0 ? 1 - left : left);
  });
}

#endif

// An element costs about as much as eight simple ones.
bool worth_a_team(std::int64_t n) { return n > kSerialElements / 8; }

// Calls part(begin, elements) for the part of each thread.
template <typename Part>
void divide(std::int64_t n, int threads, Part part) {
#pragma omp parallel num_threads(threads) if (worth_a_team(n))
  {
    const auto [begin, end] = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 16);
    part(begin, end - begin);
  }
}

}  // namespace

void gelu(Real* y, const Real* x, std::int64_t n, int threads) {
  divide(n, threads, [=](std::int64_t begin, std::int64_t part) { gelu_part(y + begin, x + begin, part); });
}

void gelu_grad(Real* dx, const Real* dy, const Real* x, std::int64_t n, int threads) {
  divide(n, threads, [=](std::int64_t begin, std::int64_t part) { gelu_grad_part(dx + begin, dy + begin, x + begin, part); });
}

void gelu_tanh(Real* y, const Real* x, std::int64_t n, int threads) {
  divide(n, threads, [=](std::int64_t begin, std::int64_t part) { gelu_tanh_part(y + begin, x + begin, part); });
}

void gelu_tanh_grad(Real* dx, const Real* dy, const Real* x, std::int64_t n, int threads) {
  divide(n, threads,
         [=](std::int64_t begin, std::int64_t part) { gelu_tanh_grad_part(dx + begin, dy + begin, x + begin, part); });
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
