// SGD with momentum and AdamW, in PyTorch's formulation, and the norm of gradients. The parameters are divided among the
// threads as if they were contiguous, so that one parallel region handles many small tensors as well as a few large ones.
#include <omp.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

struct SgdFactors {
  float rate, momentum, decay, clip;
};

// gradient: the tensor's gradient, of either type.
template <typename Gradient>
void update(const SgdTensor& tensor, const Gradient* gradient, Range part, const SgdFactors& f) {
  float *weight = tensor.weight, *velocity = tensor.velocity;
  const SgdFactors factors = f;
#pragma omp simd
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    const float v = factors.momentum * velocity[i] + (factors.clip * widen(gradient[i]) + factors.decay * weight[i]);
    velocity[i] = v;
    weight[i] -= factors.rate * v;
  }
}

struct AdamwFactors {  // computed in double, rounded once
  double rate;
  float part1, part2;             // 1 - beta1, 1 - beta2
  float step_size;                // rate / bias correction 1
  float inverse_root_correction;  // 1 / sqrt(bias correction 2)
  float epsilon, clip;
};

// The moments move toward the gradient by a fraction of the distance, and the decay is subtracted instead of multiplied: 1 -
// beta and rate * weight_decay are small and keep their precision this way; beta and 1 - rate * weight_decay would not.
template <typename Gradient>
void update(const AdamwTensor& tensor, const Gradient* gradient, Range part, const AdamwFactors& f) {
  float *weight = tensor.weight, *moment1 = tensor.moment1, *moment2 = tensor.moment2;
  const float decay = static_cast<float>(f.rate * tensor.weight_decay);
  const AdamwFactors factors = f;
#pragma omp simd
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    const float g = factors.clip * widen(gradient[i]);
    const float m = moment1[i] + factors.part1 * (g - moment1[i]);
    const float v = moment2[i] + factors.part2 * (g * g - moment2[i]);
    moment1[i] = m;
    moment2[i] = v;
    const float denominator = __builtin_sqrtf(v) * factors.inverse_root_correction + factors.epsilon;
    weight[i] -= decay * weight[i] + factors.step_size * (m / denominator);
  }
}

// Calls use(thread, tensor, its gradient of either type, elements) for each thread's part of each tensor.
template <typename Tensor, typename Use>
void divide(const Tensor* tensors, int count, int threads, Use use) {
  std::int64_t total = 0;
  for (int t = 0; t < count; ++t) total += tensors[t].n;
#pragma omp parallel num_threads(threads) if (total > kSerialElements)
  {
    const int thread = omp_get_thread_num();
    const Range part = part_of(total, thread, omp_get_num_threads(), 16);
    std::int64_t at = 0;  // index of the first element of tensor t
    for (int t = 0; t < count && at < part.end; at += tensors[t++].n) {
      const Range overlap = {max_of(part.begin - at, 0), min_of(part.end - at, tensors[t].n)};
      if (overlap.begin >= overlap.end) continue;
      if (tensors[t].gradient_bf16 != nullptr)
        use(thread, tensors[t], tensors[t].gradient_bf16, overlap);
      else
        use(thread, tensors[t], tensors[t].gradient, overlap);
    }
  }
}

template <typename Tensor, typename Factors>
void update_all(const Tensor* tensors, int count, const Factors& factors, int threads) {
  divide(tensors, count, threads,
         [&](int, const Tensor& tensor, const auto* gradient, Range part) { update(tensor, gradient, part, factors); });
}

float clip_or_one(const float* clip) { return clip != nullptr ? *clip : 1; }

// In float for a few elements at a time, in double otherwise.
template <typename Gradient>
double squares_of(const Gradient* gradient, Range part) {
  constexpr std::int64_t kChunk = 1024;  // 64 per lane of the widest vectors
  double total = 0;
  for (std::int64_t begin = part.begin; begin < part.end; begin += kChunk) {
    const std::int64_t end = min_of(begin + kChunk, part.end);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = begin; i < end; ++i) sum += widen(gradient[i]) * widen(gradient[i]);
    total += sum;
  }
  return total;
}

constexpr std::int64_t kLineDoubles = 8;  // each thread's sum has its own cache line

}  // namespace

void sgd(const SgdTensor* tensors, int count, const float* learning_rate, const SgdNumbers& numbers, int threads) {
  const SgdFactors factors = {*learning_rate, static_cast<float>(numbers.momentum), static_cast<float>(numbers.weight_decay),
                              clip_or_one(numbers.clip)};
  update_all(tensors, count, factors, threads);
}

void adamw(const AdamwTensor* tensors, int count, const float* learning_rate, const std::int32_t* step,
           const AdamwNumbers& numbers, int threads) {
  const double rate = *learning_rate, now = static_cast<double>(*step) + 1;
  const double correction1 = 1 - __builtin_pow(numbers.beta1, now), correction2 = 1 - __builtin_pow(numbers.beta2, now);
  const AdamwFactors factors = {rate,
                                static_cast<float>(1 - numbers.beta1),
                                static_cast<float>(1 - numbers.beta2),
                                static_cast<float>(rate / correction1),
                                static_cast<float>(1 / __builtin_sqrt(correction2)),
                                static_cast<float>(numbers.epsilon),
                                clip_or_one(numbers.clip)};
  update_all(tensors, count, factors, threads);
}

std::size_t squares_workspace_bytes(int threads) { return static_cast<std::size_t>(threads * kLineDoubles) * sizeof(double); }

// The sums of the threads are added in thread order, so equal `threads` give equal bits.
void sum_of_squares(double* sum, const GradientTensor* tensors, int count, void* workspace, int threads) {
  auto* const sums = static_cast<double*>(workspace);
  for (int thread = 0; thread < threads; ++thread) sums[thread * kLineDoubles] = 0;
  divide(tensors, count, threads, [&](int thread, const GradientTensor&, const auto* gradient, Range part) {
    sums[thread * kLineDoubles] += squares_of(gradient, part);
  });
  double total = 0;
  for (int thread = 0; thread < threads; ++thread) total += sums[thread * kLineDoubles];
  *sum = total;
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
