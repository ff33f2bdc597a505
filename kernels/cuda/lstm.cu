// A step of long short-term memory and of its gradient, after the product with the recurrent weights. A thread computes one
// unit of one sequence: a step has too few elements for more per thread to be faster, and everything it reads was just written.
#include "kernels/cuda/exponential.cuh"

namespace epochbench::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kGates = 4;  // i, f, g, o

struct Step {
  std::int64_t sequence, step;
  int units;
};

// A thread's unit: its row among the dense rows (one per sequence), its row among the positions, and whether it exists.
struct Place {
  std::int64_t state, position;
  int unit;
  bool active;
};
__device__ inline Place place_of(const Step& s) {
  const std::int64_t row = blockIdx.x;
  const int unit = static_cast<int>(blockIdx.y) * kThreads + static_cast<int>(threadIdx.x);
  return {row, row * s.sequence + s.step, unit, unit < s.units};
}

template <typename T>
__device__ inline float sigmoid(float x) {
  return 1 / (1 + exponential<T>(-x));
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    step_kernel(T* gates, float* cells, T* h, T* previous, T* state, float* cell, const T* x, const float* sums, Step s) {
  const Place p = place_of(s);
  if (!p.active) return;
  const std::int64_t units = s.units, at = p.position * units + p.unit, own = p.state * units + p.unit;
  float gate[kGates];
  for (int g = 0; g < kGates; ++g) {
    gate[g] = to_float(x[(p.position * kGates + g) * units + p.unit]);
    if (sums != nullptr) gate[g] += sums[(p.state * kGates + g) * units + p.unit];
    gate[g] = g == 2 ? tanhf(gate[g]) : sigmoid<T>(gate[g]);
  }
  const float value = gate[0] * gate[2] + (s.step == 0 ? 0 : gate[1] * cell[own]);
  const T out = from_float<T>(gate[3] * tanhf(value));
  if (gates != nullptr)
    for (int g = 0; g < kGates; ++g) gates[(p.position * kGates + g) * units + p.unit] = from_float<T>(gate[g]);
  if (cells != nullptr) cells[at] = value;
  if (previous != nullptr) {
    if (s.step == 0) previous[at] = from_float<T>(0);
    if (s.step + 1 < s.sequence) previous[at + units] = out;
  }
  h[at] = out;
  state[own] = out;
  cell[own] = value;
}

template <typename T>
__global__ void __launch_bounds__(kThreads) step_grad_kernel(T* dx, T* state, float* dcell, const T* dh, const float* sums,
                                                             const T* gates, const float* cells, Step s) {
  const Place p = place_of(s);
  if (!p.active) return;
  const std::int64_t units = s.units, at = p.position * units + p.unit, own = p.state * units + p.unit;
  float gate[kGates];
  for (int g = 0; g < kGates; ++g) gate[g] = to_float(gates[(p.position * kGates + g) * units + p.unit]);
  const auto [i, f, g, o] = gate;
  const float squashed = tanhf(cells[at]), before = s.step == 0 ? 0 : cells[at - units];
  const float upstream = to_float(dh[at]) + (sums == nullptr ? 0 : sums[own]);
  const float through = (s.step + 1 == s.sequence ? 0 : dcell[own]) + upstream * o * (1 - squashed * squashed);
  const float gradient[kGates] = {through * g * i * (1 - i), through * before * f * (1 - f), through * i * (1 - g * g),
                                  upstream * squashed * o * (1 - o)};
  for (int k = 0; k < kGates; ++k) {
    const T rounded = from_float<T>(gradient[k]);
    dx[(p.position * kGates + k) * units + p.unit] = rounded;
    state[(p.state * kGates + k) * units + p.unit] = rounded;
  }
  dcell[own] = through * f;
}

dim3 grid_of(const LstmShape& shape) {
  return dim3(static_cast<unsigned>(shape.batch), static_cast<unsigned>(ceil_div(shape.units, kThreads)));
}

}  // namespace

void lstm_step(void* gates, float* cells, void* h, void* previous, void* state, float* cell, const void* x, const float* sums,
               const LstmShape& shape, std::int64_t step, Element element, Stream stream) {
  with_type(element, [&](auto zero) {
    using T = decltype(zero);
    launch(step_kernel<T>, grid_of(shape), dim3(kThreads), 0, stream, static_cast<T*>(gates), cells, static_cast<T*>(h),
           static_cast<T*>(previous), static_cast<T*>(state), cell, static_cast<const T*>(x), sums,
           Step{shape.sequence, step, static_cast<int>(shape.units)});
  });
}

void lstm_step_grad(void* dx, void* state, float* dcell, const void* dh, const float* sums, const void* gates,
                    const float* cells, const LstmShape& shape, std::int64_t step, Element element, Stream stream) {
  with_type(element, [&](auto zero) {
    using T = decltype(zero);
    launch(step_grad_kernel<T>, grid_of(shape), dim3(kThreads), 0, stream, static_cast<T*>(dx), static_cast<T*>(state), dcell,
           static_cast<const T*>(dh), sums, static_cast<const T*>(gates), cells,
           Step{shape.sequence, step, static_cast<int>(shape.units)});
  });
}

}  // namespace epochbench::cuda
