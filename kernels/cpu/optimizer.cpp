// SGD with momentum and AdamW, in PyTorch's formulation. The parameters are divided among the threads as if they were
// contiguous, so that one parallel region handles many small tensors as well as a few large ones.
#include <omp.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

struct SgdFactors {
  float rate, momentum, decay;
};

// gradient: the tensor's gradient, of either type.
template <typename Gradient>
void update(const SgdTensor& tensor, const Gradient* gradient, Range part, const SgdFactors& f) {
  float *weight = tensor.weight, *velocity = tensor.velocity;
  const auto [rate, momentum, decay] = f;
#pragma omp simd
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    const float v = momentum * velocity[i] + (widen(gradient[i]) + decay * weight[i]);
    velocity[i] = v;
    weight[i] -= rate * v;
  }
}

struct AdamwFactors {  // computed in double, rounded once
  double rate;
  float beta1, one_minus_beta1, beta2, one_minus_beta2;
  float step_size;                // rate / bias correction 1
  float inverse_root_correction;  // 1 / sqrt(bias correction 2)
  float epsilon;
};

template <typename Gradient>
void update(const AdamwTensor& tensor, const Gradient* gradient, Range part, const AdamwFactors& f) {
  float *weight = tensor.weight, *moment1 = tensor.moment1, *moment2 = tensor.moment2;
  const float keep = static_cast<float>(1 - f.rate * tensor.weight_decay);
  const AdamwFactors factors = f;
#pragma omp simd
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    const float g = widen(gradient[i]);
    const float m = factors.beta1 * moment1[i] + factors.one_minus_beta1 * g;
    const float v = factors.beta2 * moment2[i] + factors.one_minus_beta2 * g * g;
    moment1[i] = m;
    moment2[i] = v;
    const float denominator = __builtin_sqrtf(v) * factors.inverse_root_correction + factors.epsilon;
    weight[i] = weight[i] * keep - factors.step_size * (m / denominator);
  }
}

template <typename Tensor, typename Factors>
void update_all(const Tensor* tensors, int count, const Factors& factors, int threads) {
  std::int64_t total = 0;
  for (int t = 0; t < count; ++t) total += tensors[t].n;
#pragma omp parallel num_threads(threads) if (total > kSerialElements)
  {
    const Range part = part_of(total, omp_get_thread_num(), omp_get_num_threads(), 16);
    std::int64_t at = 0;  // index of the first element of tensor t
    for (int t = 0; t < count && at < part.end; at += tensors[t++].n) {
      const Range overlap = {max_of(part.begin - at, 0), min_of(part.end - at, tensors[t].n)};
      if (overlap.begin >= overlap.end) continue;
      if (tensors[t].gradient_bf16 != nullptr)
        update(tensors[t], tensors[t].gradient_bf16, overlap, factors);
      else
        update(tensors[t], tensors[t].gradient, overlap, factors);
    }
  }
}

}  // namespace

void sgd(const SgdTensor* tensors, int count, const float* learning_rate, const SgdNumbers& numbers, int threads) {
  const SgdFactors factors = {*learning_rate, static_cast<float>(numbers.momentum), static_cast<float>(numbers.weight_decay)};
  update_all(tensors, count, factors, threads);
}

void adamw(const AdamwTensor* tensors, int count, const float* learning_rate, const std::int32_t* step,
           const AdamwNumbers& numbers, int threads) {
  const double rate = *learning_rate, now = static_cast<double>(*step) + 1;
  const double correction1 = 1 - __builtin_pow(numbers.beta1, now), correction2 = 1 - __builtin_pow(numbers.beta2, now);
  const AdamwFactors factors = {rate,
                                static_cast<float>(numbers.beta1),
                                static_cast<float>(1 - numbers.beta1),
                                static_cast<float>(numbers.beta2),
                                static_cast<float>(1 - numbers.beta2),
                                static_cast<float>(rate / correction1),
                                static_cast<float>(1 / __builtin_sqrt(correction2)),
                                static_cast<float>(numbers.epsilon)};
  update_all(tensors, count, factors, threads);
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
