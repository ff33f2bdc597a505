// Element-wise functions with bounds, and their gradients: relu6 (Sandler et al. 2018), the logistic sigmoid, silu = x
// sigmoid(x) (Elfwing et al. 2018), alone and after squeeze-and-excitation, and swiglu, a product with silu (Shazeer 2020). The
// sigmoid follows from exp(-|x|), which does not overflow, and both of its tails keep their relative accuracy.
#include <omp.h>

#include "kernels/cpu/exp.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/narrow.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

#if EPOCHBENCH_BF16_LANES
using Number = Lanes;
inline Lanes all_lanes(float x) { return _mm512_set1_ps(x); }
inline Number one() { return all_lanes(1); }
#else
using Number = float;
inline Number one() { return 1; }
#endif

struct Logistic {
  Number value, complement;  // sigmoid(x) and 1 - sigmoid(x) = sigmoid(-x)
};

#if EPOCHBENCH_BF16_LANES

inline Logistic logistic(Lanes x) {
  const Lanes negative = _mm512_maskz_or_ps(0xffff, x, all_lanes(-0.0f));  // -|x|
  const Lanes decay = exp2_for_bf16(negative * all_lanes(1.44269504f));
  const Lanes above = one() / (decay + one()), below = decay * above;
  const Bits right = positive(x);
  return {_mm512_mask_mov_ps(below, right, above), _mm512_mask_mov_ps(above, right, below)};
}

// y [n] = function(x ...), of registers.
template <typename Function, typename... Inputs>
void map(Real* y, std::int64_t n, Function function, const Inputs*... x) {
  map_registers(y, n, function, x...);
}

#else

inline Logistic logistic(float x) {
  const float decay = exp_of_nonpositive(-__builtin_fabsf(x)), above = 1 / (1 + decay), below = decay * above;
  return {x > 0 ? above : below, x > 0 ? below : above};
}

template <typename Function, typename... Inputs>
void map(Real* y, std::int64_t n, Function function, const Inputs*... x) {
  narrow_each(y, n, [=](std::int64_t i) { return function(widen(x[i])...); });
}

#endif

// function over n numbers, divided among threads. An element costs about as much as eight simple ones.
template <typename Function, typename... Inputs>
void map_all(Real* y, std::int64_t n, int threads, Function function, const Inputs*... x) {
#pragma omp parallel num_threads(threads) if (n > kSerialElements / 8)
  {
    const auto [begin, end] = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 16);
    map(y + begin, end - begin, function, (x + begin)...);
  }
}

inline Number silu_gradient(Number upstream, Number x) {
  const Logistic s = logistic(x);
  return upstream * (s.value * (one() + x * s.complement));
}

void relu6_part(Real* y, const Real* x, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float value = widen(x[i]);
    y[i] = narrow(value < 0 ? 0 : value > kSix ? kSix : value);  // a NaN stays NaN
  }
}

void relu6_grad_part(Real* dx, const Real* dy, const Real* y, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) dx[i] = narrow(widen(y[i]) > 0 && widen(y[i]) < kSix ? widen(dy[i]) : 0);
}

// Calls body(index in y, index in gate and up, n) for each piece of a row in a thread's part.
template <typename Body>
void for_each_piece(const SwigluShape& shape, int threads, Body body) {
  const std::int64_t n = shape.rows * shape.width, between = input_stride(shape) - shape.width;
#pragma omp parallel num_threads(threads) if (n > kSerialElements / 8)
  {
    const auto [begin, end] = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 16);
    for (std::int64_t i = begin, count = 0; i < end; i += count) {
      const std::int64_t row = i / shape.width;
      count = min_of((row + 1) * shape.width, end) - i;
      body(i, i + row * between, count);
    }
  }
}

struct SwigluGradients {
  Number gate, up;
};
inline SwigluGradients swiglu_gradients(Number upstream, Number gate, Number up) {
  const Logistic s = logistic(gate);
  return {upstream * up * (s.value * (one() + gate * s.complement)), upstream * (gate * s.value)};
}

// kGate, kUp: whether dgate and dup are computed.
template <bool kGate, bool kUp>
void swiglu_grad_row(Real* dgate, Real* dup, const Real* dy, const Real* gate, const Real* up, std::int64_t n) {
#if EPOCHBENCH_BF16_LANES
  across_registers(n, [=](auto part, std::int64_t i) {
    const SwigluGradients of = swiglu_gradients(load(part, dy + i), load(part, gate + i), load(part, up + i));
    if constexpr (kGate) store(part, dgate + i, of.gate);
    if constexpr (kUp) store(part, dup + i, of.up);
  });
#else
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const SwigluGradients of = swiglu_gradients(widen(dy[i]), widen(gate[i]), widen(up[i]));
    if constexpr (kGate) dgate[i] = narrow(of.gate);
    if constexpr (kUp) dup[i] = narrow(of.up);
  }
#endif
}

}  // namespace

void relu6(Real* y, const Real* x, std::int64_t n, int threads) {
#pragma omp parallel num_threads(threads) if (n > kSerialElements)
  {
    const auto [begin, end] = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 16);
    relu6_part(y + begin, x + begin, end - begin);
  }
}

void relu6_grad(Real* dx, const Real* dy, const Real* y, std::int64_t n, int threads) {
#pragma omp parallel num_threads(threads) if (n > kSerialElements)
  {
    const auto [begin, end] = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 16);
    relu6_grad_part(dx + begin, dy + begin, y + begin, end - begin);
  }
}

void sigmoid(Real* y, const Real* x, std::int64_t n, int threads) {
  map_all(
      y, n, threads, [](Number value) { return logistic(value).value; }, x);
}

void sigmoid_grad(Real* dx, const Real* dy, const Real* y, std::int64_t n, int threads) {
  map_all(
      dx, n, threads, [](Number upstream, Number value) { return upstream * (value * (one() - value)); }, dy, y);
}

void silu(Real* y, const Real* x, std::int64_t n, int threads) {
  map_all(
      y, n, threads, [](Number value) { return value * logistic(value).value; }, x);
}

void silu_grad(Real* dx, const Real* dy, const Real* x, std::int64_t n, int threads) {
  map_all(
      dx, n, threads, [](Number upstream, Number value) { return silu_gradient(upstream, value); }, dy, x);
}

void squeeze_excite_grad(Real* dx, const Real* dy, const Real* scale, const Real* dmean, const Real* x, std::int64_t batch,
                         std::int64_t pixels, std::int64_t channels, int threads) {
  const Number share = one() * (1 / static_cast<float>(pixels));
  const auto sum = [=](Number upstream, Number factor, Number mean) { return upstream * factor + mean * share; };
#pragma omp parallel num_threads(threads) if (batch * pixels * channels > kSerialElements / 8)
  {
    const Range part = part_of(batch * pixels, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t row = part.begin; row < part.end; ++row) {
      const std::int64_t at = row * channels, of_image = row / pixels * channels;
      if (x == nullptr)
        map(dx + at, channels, sum, dy + at, scale + of_image, dmean + of_image);
      else
        map(
            dx + at, channels,
            [=](Number upstream, Number factor, Number mean, Number value) {
              return silu_gradient(sum(upstream, factor, mean), value);
            },
            dy + at, scale + of_image, dmean + of_image, x + at);
    }
  }
}

void swiglu(Real* y, const Real* gate, const Real* up, const SwigluShape& shape, int threads) {
  const auto function = [](Number x, Number factor) { return x * logistic(x).value * factor; };
  for_each_piece(shape, threads,
                 [=](std::int64_t to, std::int64_t from, std::int64_t n) { map(y + to, n, function, gate + from, up + from); });
}

void swiglu_grad(Real* dgate, Real* dup, const Real* dy, const Real* gate, const Real* up, const SwigluShape& shape,
                 int threads) {
  for_each_piece(shape, threads, [=](std::int64_t from, std::int64_t to, std::int64_t n) {
    if (dup == nullptr)
      swiglu_grad_row<true, false>(dgate + to, nullptr, dy + from, gate + to, up + to, n);
    else if (dgate == nullptr)
      swiglu_grad_row<false, true>(nullptr, dup + to, dy + from, gate + to, up + to, n);
    else
      swiglu_grad_row<true, true>(dgate + to, dup + to, dy + from, gate + to, up + to, n);
  });
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
