// SGD with momentum and AdamW (Loshchilov and Hutter 2019) for all parameters in one launch, the norm of all gradients, dynamic
// loss scaling, and the scalars that a step reports. Nothing here waits for the host: the device decides whether a step counts.
#include <cfloat>
#include <cmath>

#include "kernels/cuda/exchange.h"
#include "kernels/cuda/pack.cuh"

namespace epochbench::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kAdamwBlocks = 4;  // per multiprocessor: enough loads in flight
constexpr int kParts = 4;        // blocks per chunk, so that small models occupy the whole device and large ones finish evenly
constexpr std::int64_t kPartElements = kChunkElements / kParts;

// The work of a block: elements [first, last) of a tensor; empty if the tensor ends before.
struct Part {
  OptimizerTensor tensor;
  std::int64_t first, last;
};
__device__ Part part_of_block(const OptimizerTensor* tensors, const Chunk* chunks) {
  const Chunk chunk = chunks[blockIdx.x / kParts];
  const OptimizerTensor tensor = tensors[chunk.tensor];
  const std::int64_t first = chunk.first + blockIdx.x % kParts * kPartElements, last = first + kPartElements;
  return {tensor, first, last < tensor.n ? last : tensor.n};
}

template <typename T, int kSize>
__device__ void store_rounded(void* copy, std::int64_t at, const Pack<float, kSize>& weight) {
  Pack<T, kSize> rounded;
  for (int e = 0; e < kSize; ++e) rounded.value[e] = from_float<T>(weight.value[e]);
  store_pack(static_cast<T*>(copy) + at, rounded);
}

// Updates elements [first, last) of the tensor by update(weight, state1, state2, gradient), kSize elements at once.
template <int kSize, typename G, typename Update>
__device__ void update_elements(const OptimizerTensor& tensor, std::int64_t first, std::int64_t last, const Update& update) {
  constexpr int kStep = kThreads * kSize, kBatch = kSize > 1 ? 2 : 1;  // packs of each array in flight per thread
  const G* gradients = static_cast<const G*>(tensor.gradient);
  for (std::int64_t i = first + threadIdx.x * kSize; i < last; i += kBatch * kStep) {
    Pack<float, kSize> weight[kBatch], state1[kBatch], state2[kBatch];
    Pack<G, kSize> gradient[kBatch];
    for (int b = 0; b < kBatch; ++b) {
      const std::int64_t at = i + b * kStep;
      if (at >= last) break;
      gradient[b] = load_pack<kSize>(gradients + at);
      weight[b] = load_pack<kSize>(tensor.weight + at);
      state1[b] = load_pack<kSize>(tensor.state1 + at);
      if constexpr (Update::kTwoStates) state2[b] = load_pack<kSize>(tensor.state2 + at);
    }
    for (int b = 0; b < kBatch; ++b) {
      const std::int64_t at = i + b * kStep;
      if (at >= last) break;
      for (int e = 0; e < kSize; ++e)
        update(weight[b].value[e], state1[b].value[e], state2[b].value[e], to_float(gradient[b].value[e]));
      store_pack(tensor.weight + at, weight[b]);
      store_pack(tensor.state1 + at, state1[b]);
      if constexpr (Update::kTwoStates) store_pack(tensor.state2 + at, state2[b]);
      if (!Update::kCopies || tensor.copy == nullptr) continue;
      if (tensor.copy_element == Element::bf16)
        store_rounded<bf16>(tensor.copy, at, weight[b]);
      else
        store_rounded<f16>(tensor.copy, at, weight[b]);
    }
  }
}

template <typename G, typename Update>
__device__ void update_part(const Part& part, const Update& update) {
  constexpr int kSize = 4;  // 16 bytes of float
  const std::int64_t vectors_end = part.last - part.last % kSize;
  update_elements<kSize, G>(part.tensor, part.first, vectors_end, update);
  update_elements<1, G>(part.tensor, part.first < vectors_end ? vectors_end : part.first, part.last, update);
}

template <typename Update>
__device__ void update_part(const Part& part, const Update& update) {
  switch (part.tensor.gradient_element) {
    case Element::f32:
      return update_part<float>(part, update);
    case Element::bf16:
      return update_part<bf16>(part, update);
    case Element::f16:
      return update_part<f16>(part, update);
  }
}

__device__ bool counts(const LossScale& loss_scale) { return loss_scale.finite == nullptr || *loss_scale.finite != 0; }
// The factor that gradients are multiplied by.
__device__ float unscaling(const LossScale& loss_scale, const float* clip) {
  return (loss_scale.scale == nullptr ? 1 : 1 / *loss_scale.scale) * (clip == nullptr ? 1 : *clip);
}

struct SgdUpdate {
  static constexpr bool kTwoStates = false, kCopies = false;
  float rate, momentum, weight_decay, unscale;
  __device__ void operator()(float& weight, float& velocity, float&, float gradient) const {
    velocity = momentum * velocity + (gradient * unscale + weight_decay * weight);
    weight -= rate * velocity;
  }
};

__global__ void __launch_bounds__(kThreads) sgd_kernel(const OptimizerTensor* tensors, const Chunk* chunks,
                                                       const float* learning_rate, SgdNumbers numbers, LossScale loss_scale) {
  if (!counts(loss_scale)) return;
  const SgdUpdate update = {*learning_rate, static_cast<float>(numbers.momentum), static_cast<float>(numbers.weight_decay),
                            unscaling(loss_scale, numbers.clip)};
  update_part(part_of_block(tensors, chunks), update);
}

// The moments move toward the gradient by a fraction of the distance, and the decay is subtracted instead of multiplied: 1 -
// beta and rate * weight_decay are small and keep their precision this way; beta and 1 - rate * weight_decay would not.
struct AdamwUpdate {
  static constexpr bool kTwoStates = true, kCopies = true;
  float decay, step_size, unbias2, epsilon, part1, part2, unscale;
  __device__ void operator()(float& weight, float& moment1, float& moment2, float gradient) const {
    gradient *= unscale;
    moment1 += part1 * (gradient - moment1);
    moment2 += part2 * (gradient * gradient - moment2);
    const float denominator = sqrtf(moment2) * unbias2 + epsilon;
    weight -= decay * weight + step_size * (moment1 / denominator);
  }
};

// AdamwNumbers as the device uses them: GPUs compute in double at 1/2 to 1/64 of the speed of float.
struct AdamwFloats {
  float log_beta1, log_beta2, epsilon, part1, part2;
  const float* clip;
};

// 1 - beta^updates with a relative error of at most 2^-22: the logarithm and its product with up to 2^24 updates round by 2^-24
// each, which 1 - exp(x) does not amplify for x < 0, and expm1f by 2^-23.
__device__ inline float bias_correction(float log_beta, float updates) { return -expm1f(log_beta * updates); }

__global__ void __launch_bounds__(kThreads, kAdamwBlocks)
    adamw_kernel(const OptimizerTensor* tensors, const Chunk* chunks, const float* learning_rate, const std::int32_t* step,
                 AdamwFloats numbers, LossScale loss_scale) {
  if (!counts(loss_scale)) return;
  const float rate = *learning_rate;
  const auto updates = static_cast<float>(*step + 1 - (loss_scale.skipped == nullptr ? 0 : *loss_scale.skipped));
  const Part part = part_of_block(tensors, chunks);
  const AdamwUpdate update = {rate * part.tensor.weight_decay,
                              rate / bias_correction(numbers.log_beta1, updates),
                              1 / sqrtf(bias_correction(numbers.log_beta2, updates)),
                              numbers.epsilon,
                              numbers.part1,
                              numbers.part2,
                              unscaling(loss_scale, numbers.clip)};
  update_part(part, update);
}

struct NotFinite {  // 1 for infinity and NaN
  __device__ float operator()(float value) const { return fabsf(value) <= FLT_MAX ? 0 : 1; }
};
struct Square {
  float scale;
  __device__ float operator()(float value) const { return value * scale * (value * scale); }
};

// The sum of `of` over a thread's elements of [first, last).
template <int kSize, typename G, typename Of>
__device__ float sum_elements(const G* gradient, std::int64_t first, std::int64_t last, const Of& of) {
  constexpr int kStep = kThreads * kSize, kBatch = 4;
  float sum = 0;
  for (std::int64_t i = first + threadIdx.x * kSize; i < last; i += kBatch * kStep) {
    Pack<G, kSize> packs[kBatch];
    for (int b = 0; b < kBatch; ++b)
      if (i + b * kStep < last) packs[b] = load_pack<kSize>(gradient + i + b * kStep);
    for (int b = 0; b < kBatch; ++b)
      if (i + b * kStep < last)
        for (int e = 0; e < kSize; ++e) sum += of(to_float(packs[b].value[e]));
  }
  return sum;
}

template <typename G, typename Of>
__device__ float sum_part(const Part& part, const Of& of) {
  constexpr int kSize = Vector<G>::kSize;
  const G* gradient = static_cast<const G*>(part.tensor.gradient);
  const std::int64_t vectors_end = part.last - part.last % kSize;
  return sum_elements<kSize>(gradient, part.first, vectors_end, of) +
         sum_elements<1>(gradient, part.first < vectors_end ? vectors_end : part.first, part.last, of);
}

template <typename Of>
__device__ float sum_part(const Part& part, const Of& of) {
  switch (part.tensor.gradient_element) {
    case Element::f32:
      return sum_part<float>(part, of);
    case Element::bf16:
      return sum_part<bf16>(part, of);
    case Element::f16:
      return sum_part<f16>(part, of);
  }
  return 0;
}

__global__ void __launch_bounds__(1) set_kernel(std::int32_t* value, std::int32_t to) { *value = to; }

// Several blocks may find a gradient that is not finite.
__global__ void __launch_bounds__(kThreads)
    all_finite_kernel(std::int32_t* finite, const OptimizerTensor* tensors, const Chunk* chunks) {
  const float count = block_sum<kThreads>(sum_part(part_of_block(tensors, chunks), NotFinite{}));
  if (threadIdx.x == 0 && count > 0) atomicExch(finite, 0);
}

// sums [blocks]. Each gradient is unscaled before it is squared, so that no square overflows where the norm does not.
__global__ void __launch_bounds__(kThreads)
    sum_squares_kernel(float* sums, const OptimizerTensor* tensors, const Chunk* chunks, const float* loss_scale) {
  const Square square = {loss_scale == nullptr ? 1 : 1 / *loss_scale};
  const float sum = block_sum<kThreads>(sum_part(part_of_block(tensors, chunks), square));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// In one block, so that the sums are added in one order.
__device__ float sum_of_blocks(const float* sums, int count) {
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) sum += sums[i];
  return block_sum<kThreads>(sum);
}

__global__ void __launch_bounds__(kThreads) sum_kernel(float* total, const float* sums, int count) {
  if (const float sum = sum_of_blocks(sums, count); threadIdx.x == 0) *total = sum;
}

__global__ void __launch_bounds__(kThreads)
    clip_factor_kernel(float* factor, const float* sums, int count, float largest_norm) {
  const float sum = sum_of_blocks(sums, count);
  if (threadIdx.x != 0) return;
  const float clip = largest_norm / (sqrtf(sum) + 1e-6f);
  *factor = clip > 1 ? 1 : clip;
}

__global__ void __launch_bounds__(1) update_loss_scale_kernel(float* scale, std::int32_t* finite_steps, std::int32_t* skipped,
                                                              const std::int32_t* finite, LossScaleNumbers numbers) {
  if (*finite == 0) {
    *scale = fmaxf(*scale * numbers.backoff, numbers.smallest);
    *finite_steps = 0;
    ++*skipped;
  } else if (++*finite_steps >= numbers.growth_interval) {
    *scale = fminf(*scale * numbers.growth, numbers.largest);
    *finite_steps = 0;
  }
}

__global__ void __launch_bounds__(1) increment_kernel(std::int32_t* counter) { ++*counter; }

constexpr int kSumPack = 4;  // 16 bytes of float per thread

template <typename T>
__global__ void __launch_bounds__(kThreads)
    accumulate_kernel(float* sum, const T* x, float factor, bool first, std::int64_t n) {
  const std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kSumPack;
  if (at + kSumPack > n) {
    for (std::int64_t i = at; i < n; ++i) sum[i] = (first ? 0 : sum[i]) + factor * to_float(x[i]);
    return;
  }
  const Pack<T, kSumPack> of_x = load_pack<kSumPack>(x + at);
  Pack<float, kSumPack> total{};
  if (!first) total = load_pack<kSumPack>(sum + at);
  for (int e = 0; e < kSumPack; ++e) total.value[e] += factor * to_float(of_x.value[e]);
  store_pack(sum + at, total);
}

__global__ void __launch_bounds__(1) record_step_kernel(StepScalars* ring, std::uint32_t* cursor, std::uint32_t capacity,
                                                        const float* loss, const float* correct) {
  ring[*cursor % capacity] = {loss == nullptr ? 0 : *loss, correct == nullptr ? 0 : *correct};
  ++*cursor;
}

template <typename... Parameters, typename... Arguments>
void launch_parts(void (*kernel)(Parameters...), std::int64_t chunk_count, Stream stream, Arguments... arguments) {
  if (chunk_count == 0) return;
  launch(kernel, dim3(static_cast<unsigned>(chunk_count * kParts)), dim3(kThreads), 0, stream, arguments...);
}

template <typename... Parameters, typename... Arguments>
void launch_one(void (*kernel)(Parameters...), Stream stream, Arguments... arguments) {
  launch(kernel, dim3(1), dim3(1), 0, stream, arguments...);
}

}  // namespace

void sgd(const OptimizerTensor* tensors, const Chunk* chunks, std::int64_t chunk_count, const float* learning_rate,
         const SgdNumbers& numbers, const LossScale& loss_scale, Stream stream) {
  launch_parts(sgd_kernel, chunk_count, stream, tensors, chunks, learning_rate, numbers, loss_scale);
}

void adamw(const OptimizerTensor* tensors, const Chunk* chunks, std::int64_t chunk_count, const float* learning_rate,
           const std::int32_t* step, const AdamwNumbers& numbers, const LossScale& loss_scale, Stream stream) {
  const AdamwFloats floats = {static_cast<float>(std::log(numbers.beta1)), static_cast<float>(std::log(numbers.beta2)),
                              static_cast<float>(numbers.epsilon),         static_cast<float>(1 - numbers.beta1),
                              static_cast<float>(1 - numbers.beta2),       numbers.clip};
  launch_parts(adamw_kernel, chunk_count, stream, tensors, chunks, learning_rate, step, floats, loss_scale);
}

void all_finite(std::int32_t* finite, const OptimizerTensor* tensors, const Chunk* chunks, std::int64_t chunk_count,
                Stream stream) {
  launch_one(set_kernel, stream, finite, 1);
  launch_parts(all_finite_kernel, chunk_count, stream, finite, tensors, chunks);
}

std::size_t clip_workspace_bytes(std::int64_t chunk_count) {
  return static_cast<std::size_t>(chunk_count * kParts) * sizeof(float);
}

void clip_factor(float* factor, const OptimizerTensor* tensors, const Chunk* chunks, std::int64_t chunk_count,
                 const float* loss_scale, float largest_norm, void* workspace, Stream stream) {
  auto* const sums = static_cast<float*>(workspace);
  launch_parts(sum_squares_kernel, chunk_count, stream, sums, tensors, chunks, loss_scale);
  launch(clip_factor_kernel, dim3(1), dim3(kThreads), 0, stream, factor, sums, static_cast<int>(chunk_count * kParts),
         largest_norm);
}

void sum_of_squares(float* sum, const OptimizerTensor* tensors, const Chunk* chunks, std::int64_t chunk_count, void* workspace,
                    Stream stream) {
  auto* const sums = static_cast<float*>(workspace);
  launch_parts(sum_squares_kernel, chunk_count, stream, sums, tensors, chunks, static_cast<const float*>(nullptr));
  launch(sum_kernel, dim3(1), dim3(kThreads), 0, stream, sum, sums, static_cast<int>(chunk_count * kParts));
}

void clip_factor(float* factor, const float* sum_of_squares, float largest_norm, Stream stream) {
  launch(clip_factor_kernel, dim3(1), dim3(kThreads), 0, stream, factor, sum_of_squares, 1, largest_norm);
}

void update_loss_scale(float* scale, std::int32_t* finite_steps, std::int32_t* skipped, const std::int32_t* finite,
                       const LossScaleNumbers& numbers, Stream stream) {
  launch_one(update_loss_scale_kernel, stream, scale, finite_steps, skipped, finite, numbers);
}

void increment(std::int32_t* counter, Stream stream) { launch_one(increment_kernel, stream, counter); }

void accumulate(float* sum, const void* x, float factor, bool first, std::int64_t n, Element element, Stream stream) {
  if (n == 0) return;
  const auto blocks = static_cast<unsigned>(ceil_div(n, std::int64_t{kThreads} * kSumPack));
  with_type(element, [&](auto zero) {
    using T = decltype(zero);
    launch(accumulate_kernel<T>, dim3(blocks), dim3(kThreads), 0, stream, sum, static_cast<const T*>(x), factor, first, n);
  });
}

void record_step(StepScalars* ring, std::uint32_t* cursor, std::uint32_t capacity, const float* loss, const float* correct,
                 Stream stream) {
  launch_one(record_step_kernel, stream, ring, cursor, capacity, loss, correct);
}

}  // namespace epochbench::cuda
