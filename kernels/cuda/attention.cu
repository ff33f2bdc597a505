// Softmax with dropout over rows of attention scores, and its gradient, for unfused attention (in fp32 and tf32, or where cuDNN
// has no plan). A warp holds a row of up to 1024 scores in registers. A block reads longer rows, and rows whose length is not a
// multiple of 4, twice.
#include <cfloat>

#include "kernels/cuda/exponential.cuh"
#include "kernels/cuda/philox.cuh"
#include "kernels/cuda/register_pack.cuh"

namespace epochbench::cuda {
namespace {

constexpr int kWarpThreads = 128, kBlockThreads = 256;  // of the kernels with one row per warp, and with one row per block
constexpr int kWarps = kWarpThreads / kWarp;
constexpr int kFour = 4;  // adjacent scores per lane: a block of Philox
constexpr int kMaxFours = 8;

struct Softmax {             // tensors of one call; rows have [rows, sequence] elements
  std::int64_t rows, first;  // first: the index of their first element in the tensor whose mask is drawn
  int sequence;
  bool causal;
  const std::int32_t* step;  // read only with dropout
  Dropout dropout;
};

// The number of scores of a row that count; those after the position of a causal row are treated as -infinity.
__device__ inline int visible(const Softmax& s, std::int64_t row) {
  return s.causal ? static_cast<int>(row % s.sequence) + 1 : s.sequence;
}

// The random words of the block of four that contains this element; arbitrary without dropout.
__device__ inline DropoutWords random_words(const Softmax& s, std::int64_t element) {
  return s.dropout.threshold != 0 ? dropout_words(s.dropout, *s.step, (s.first + element) / kFour) : DropoutWords{};
}
__device__ inline std::uint32_t word_of(const Softmax& s, std::int64_t element) {
  const DropoutWords random = random_words(s, element);
  std::uint32_t word = random.word[0];
  for (int i = 1; i < kFour; ++i)  // a non-constant index would put the words into local memory
    if ((s.first + element) % kFour == i) word = random.word[i];
  return word;
}

// ---- One row per warp: at most kFours * 128 scores, a multiple of 4 ----

// body(index of a lane's group of four, its first column) for each group that exists.
template <int kFours, typename Body>
__device__ inline void for_each_four(int sequence, Body body) {
#pragma unroll  // otherwise a long body leaves the groups in memory
  for (int f = 0; f < kFours; ++f) {
    const int column = (f * kWarp + static_cast<int>(threadIdx.x) % kWarp) * kFour;
    if (column < sequence) body(f, column);
  }
}

template <bool kCausal>
__device__ inline void load_row(float (&to)[kFour], const float* row, int column, int end, float masked) {
  const RegisterPack<float, kFour> four = load_registers<kFour>(row + column);
  for (int i = 0; i < kFour; ++i) to[i] = !kCausal || column + i < end ? element(four, i) : masked;
}

template <typename T, int kFours, bool kCausal>
__global__ void __launch_bounds__(kWarpThreads)
    warp_softmax_kernel(T* weights, float* log_sum_exp, const float* scores, Softmax s) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (row >= s.rows) return;
  const std::int64_t at = row * s.sequence;
  const int end = visible(s, row);
  float values[kFours][kFour];
  for_each_four<kFours>(s.sequence,
                        [&](int f, int column) { load_row<kCausal>(values[f], scores + at, column, end, -INFINITY); });
  float largest = -FLT_MAX;
  for_each_four<kFours>(s.sequence, [&](int f, int) {
    for (int i = 0; i < kFour; ++i) largest = fmaxf(largest, values[f][i]);
  });
  largest = warp_max(largest);
  float sum = 0;
  for_each_four<kFours>(s.sequence, [&](int f, int) {
    for (int i = 0; i < kFour; ++i) sum += values[f][i] = exponential<T>(values[f][i] - largest);
  });
  sum = warp_sum(sum);
  const float inverse = 1 / sum;
  for_each_four<kFours>(s.sequence, [&](int f, int column) {
    const DropoutWords random = random_words(s, at + column);
    for (int i = 0; i < kFour; ++i) values[f][i] = dropped_out(values[f][i] * inverse, random.word[i], s.dropout);
    store_registers(weights + at + column, to_registers<T>(values[f]));
  });
  if (log_sum_exp != nullptr && threadIdx.x % kWarp == 0) log_sum_exp[row] = largest + logf(sum);
}

template <typename T, int kFours, bool kCausal>
__global__ void __launch_bounds__(kWarpThreads, 4)
    warp_softmax_grad_kernel(T* weights, T* dscores, const float* scores, const float* dweights, const float* log_sum_exp,
                             Softmax s) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (row >= s.rows) return;
  const std::int64_t at = row * s.sequence;
  const int end = visible(s, row);
  const float log_sum = log_sum_exp[row];
  float p[kFours][kFour], gradients[kFours][kFour];  // the softmax, and its incoming gradient through the mask
  for_each_four<kFours>(s.sequence, [&](int f, int column) {
    load_row<kCausal>(p[f], scores + at, column, end, -INFINITY);
    load_row<kCausal>(gradients[f], dweights + at, column, end, 0);
  });
  float sum = 0;
  for_each_four<kFours>(s.sequence, [&](int f, int column) {
    const DropoutWords random = random_words(s, at + column);
    float kept[kFour];
    for (int i = 0; i < kFour; ++i) {
      p[f][i] = exponential<T>(p[f][i] - log_sum);
      kept[i] = dropped_out(p[f][i], random.word[i], s.dropout);
      gradients[f][i] = dropped_out(gradients[f][i], random.word[i], s.dropout);
      sum += p[f][i] * gradients[f][i];
    }
    store_registers(weights + at + column, to_registers<T>(kept));
  });
  sum = warp_sum(sum);
  for_each_four<kFours>(s.sequence, [&](int f, int column) {
    float values[kFour];
    for (int i = 0; i < kFour; ++i) values[i] = p[f][i] * (gradients[f][i] - sum);
    store_registers(dscores + at + column, to_registers<T>(values));
  });
}

// ---- One row per block, of any length ----

template <typename T>
__global__ void __launch_bounds__(kBlockThreads)
    block_softmax_kernel(T* weights, float* log_sum_exp, const float* scores, Softmax s) {
  const std::int64_t row = blockIdx.x, at = row * s.sequence;
  const int thread = static_cast<int>(threadIdx.x), end = visible(s, row);
  SHARED_ARRAY(float, largest_of_warp, kBlockThreads / kWarp);
  float largest = -FLT_MAX;
  for (int j = thread; j < end; j += kBlockThreads) largest = fmaxf(largest, scores[at + j]);
  largest = warp_max(largest);
  if (thread % kWarp == 0) largest_of_warp[thread / kWarp] = largest;
  __syncthreads();
  for (int w = 0; w < kBlockThreads / kWarp; ++w) largest = fmaxf(largest, largest_of_warp[w]);
  float sum = 0;
  for (int j = thread; j < end; j += kBlockThreads) sum += exponential<T>(scores[at + j] - largest);
  sum = block_sum<kBlockThreads>(sum);
  const float inverse = 1 / sum;
  for (int j = thread; j < end; j += kBlockThreads)
    weights[at + j] =
        from_float<T>(dropped_out(exponential<T>(scores[at + j] - largest) * inverse, word_of(s, at + j), s.dropout));
  for (int j = end + thread; j < s.sequence; j += kBlockThreads) weights[at + j] = from_float<T>(0);
  if (log_sum_exp != nullptr && thread == 0) log_sum_exp[row] = largest + logf(sum);
}

template <typename T>
__global__ void __launch_bounds__(kBlockThreads)
    block_softmax_grad_kernel(T* weights, T* dscores, const float* scores, const float* dweights, const float* log_sum_exp,
                              Softmax s) {
  const std::int64_t row = blockIdx.x, at = row * s.sequence;
  const int thread = static_cast<int>(threadIdx.x), end = visible(s, row);
  const float log_sum = log_sum_exp[row];
  float sum = 0;
  for (int j = thread; j < end; j += kBlockThreads)
    sum += exponential<T>(scores[at + j] - log_sum) * dropped_out(dweights[at + j], word_of(s, at + j), s.dropout);
  sum = block_sum<kBlockThreads>(sum);
  for (int j = end + thread; j < s.sequence; j += kBlockThreads) weights[at + j] = dscores[at + j] = from_float<T>(0);
  for (int j = thread; j < end; j += kBlockThreads) {
    const std::uint32_t word = word_of(s, at + j);
    const float p = exponential<T>(scores[at + j] - log_sum), gradient = dropped_out(dweights[at + j], word, s.dropout);
    weights[at + j] = from_float<T>(dropped_out(p, word, s.dropout));
    dscores[at + j] = from_float<T>(p * (gradient - sum));
  }
}

// Calls function(T{}, groups of four per lane). No groups: one row per block, also for causal rows that would need too many
// registers.
constexpr int kMaxCausalFours = 4;
template <typename Function>
void with_fours(Element element, const AttentionShape& s, Function function) {
  with_type(element, [&](auto zero) {
    std::int64_t fours = s.sequence % kFour == 0 ? ceil_div(s.sequence, kWarp * kFour) : kMaxFours + 1;
    if (s.causal && fours > kMaxCausalFours) fours = kMaxFours + 1;
    if (fours <= 1) return function(zero, std::integral_constant<int, 1>{});
    if (fours <= 2) return function(zero, std::integral_constant<int, 2>{});
    if (fours <= 4) return function(zero, std::integral_constant<int, 4>{});
    if (fours <= kMaxFours) return function(zero, std::integral_constant<int, kMaxFours>{});
    function(zero, std::integral_constant<int, 0>{});
  });
}

template <typename... Parameters, typename... Arguments>
void launch_rows(void (*kernel)(Parameters...), bool row_per_warp, const Softmax& s, Stream stream, Arguments... arguments) {
  const dim3 grid(static_cast<unsigned>(row_per_warp ? ceil_div(s.rows, kWarps) : s.rows));
  launch(kernel, grid, dim3(row_per_warp ? kWarpThreads : kBlockThreads), 0, stream, arguments..., s);
}

Softmax softmax_of(const AttentionShape& shape, std::int64_t first_row, const std::int32_t* step, const Dropout& dropout) {
  return {shape.batch * shape.heads * shape.sequence,
          dropout.first + first_row * shape.sequence,
          static_cast<int>(shape.sequence),
          shape.causal,
          step,
          dropout};
}

__device__ inline std::uint64_t hashed(std::uint64_t x) {  // the finalizer of splitmix64 (Steele, Lea and Flood 2014)
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}
__global__ void __launch_bounds__(1) seed_kernel(std::int64_t* seed_offset, const std::int32_t* step, Dropout dropout) {
  constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;
  const std::uint64_t place = std::uint64_t{dropout.ordinal} << 32 | static_cast<std::uint32_t>(*step);
  const std::uint64_t of_part = dropout.first == 0 ? 0 : hashed(static_cast<std::uint64_t>(dropout.first));
  seed_offset[0] = static_cast<std::int64_t>(hashed(hashed(dropout.seed + kGolden) + (place + 1) * kGolden + of_part));
  seed_offset[1] = 0;
}

}  // namespace

void attention_softmax(void* weights, float* log_sum_exp, const float* scores, const std::int32_t* step,
                       const AttentionShape& shape, std::int64_t first_row, const Dropout& dropout, Element element,
                       Stream stream) {
  const Softmax s = softmax_of(shape, first_row, step, dropout);
  with_fours(element, shape, [&](auto zero, auto fours) {
    using T = decltype(zero);
    T* const to = static_cast<T*>(weights);
    if constexpr (fours() > 0)
      launch_rows(shape.causal ? warp_softmax_kernel<T, (fours() < kMaxCausalFours ? fours() : kMaxCausalFours), true>
                               : warp_softmax_kernel<T, fours(), false>,
                  true, s, stream, to, log_sum_exp, scores);
    else
      launch_rows(block_softmax_kernel<T>, false, s, stream, to, log_sum_exp, scores);
  });
}

void attention_softmax_grad(void* weights, void* dscores, const float* scores, const float* dweights, const float* log_sum_exp,
                            const std::int32_t* step, const AttentionShape& shape, std::int64_t first_row,
                            const Dropout& dropout, Element element, Stream stream) {
  const Softmax s = softmax_of(shape, first_row, step, dropout);
  with_fours(element, shape, [&](auto zero, auto fours) {
    using T = decltype(zero);
    T *const to = static_cast<T*>(weights), *const dto = static_cast<T*>(dscores);
    if constexpr (fours() > 0)
      launch_rows(shape.causal ? warp_softmax_grad_kernel<T, (fours() < kMaxCausalFours ? fours() : kMaxCausalFours), true>
                               : warp_softmax_grad_kernel<T, fours(), false>,
                  true, s, stream, to, dto, scores, dweights, log_sum_exp);
    else
      launch_rows(block_softmax_grad_kernel<T>, false, s, stream, to, dto, scores, dweights, log_sum_exp);
  });
}

void attention_seed(std::int64_t* seed_offset, const std::int32_t* step, const Dropout& dropout, Stream stream) {
  launch(seed_kernel, dim3(1), dim3(1), 0, stream, seed_offset, step, dropout);
}

}  // namespace epochbench::cuda
