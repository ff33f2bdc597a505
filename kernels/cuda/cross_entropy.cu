// Softmax cross entropy of rows of logits, its gradient, and the number of correctly classified rows. A block reads a row once
// from memory; a final launch of one block adds the results of the rows in a fixed order. Rows need no alignment: a row's
// vectors start at the first multiple of 16 bytes. Elements between the last class of a row and the next row are neither read
// nor written. A single column is class 1 of two, and class 0 has logit 0.
#include <cfloat>

#include "kernels/cuda/exponential.cuh"
#include "kernels/cuda/register_pack.cuh"

namespace epochbench::cuda {
namespace {

constexpr int kShortRow = 512;                            // maximum number of classes for which a warp is enough
constexpr int kShortThreads = kWarp, kLongThreads = 256;  // threads per block; a block has one row
constexpr int kFinalThreads = 512;
constexpr int kVectors = 2;  // in flight per thread

// Over some logits: the largest (at least the lowest float), and the sum of exp(logit - largest).
struct LogSum {
  float largest = -FLT_MAX, sum = 0;
};
template <typename T>
__device__ inline LogSum merged(const LogSum& a, const LogSum& b) {
  const float largest = fmaxf(a.largest, b.largest);
  return {largest, a.sum * exponential<T>(a.largest - largest) + b.sum * exponential<T>(b.largest - largest)};
}

// Calls one(class) for single elements and vectors(first class, ...) for whole vectors, which start at multiples of 16 bytes:
// each thread's share of a row of n elements. Pairs of vectors are adjacent in the code, so that both are in flight.
template <int kThreads, typename T, typename One, typename Vectors>
__device__ inline void for_each_class(const T* row, int n, One one, Vectors vectors) {
  constexpr int kSize = Vector<T>::kSize, kStep = kThreads * kSize;
  const int thread = static_cast<int>(threadIdx.x);
  const auto beyond = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) % 16 / sizeof(T));
  const int before = beyond == 0 ? 0 : kSize - beyond, head = before < n ? before : n;
  if (thread < head) one(thread);
  const int tail = head + (n - head) / kSize * kSize;
  for (int c = head + thread * kSize; c < tail; c += kVectors * kStep) {
    int count = 0;
    for (int v = 0; v < kVectors; ++v) count += c + v * kStep < tail;
    vectors(c, kStep, count);
  }
  if (tail + thread < n) one(tail + thread);
}

template <int kThreads, typename T>
__device__ inline LogSum log_sum_of_block(LogSum mine) {
  SHARED_ARRAY(float, largest_of_warp, kThreads / kWarp);
  SHARED_ARRAY(float, sum_of_warp, kThreads / kWarp);
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    mine = merged<T>(mine, {__shfl_xor_sync(kAllLanes, mine.largest, offset), __shfl_xor_sync(kAllLanes, mine.sum, offset)});
  if constexpr (kThreads == kWarp) return mine;
  if (threadIdx.x % kWarp == 0) {
    largest_of_warp[threadIdx.x / kWarp] = mine.largest;
    sum_of_warp[threadIdx.x / kWarp] = mine.sum;
  }
  __syncthreads();
  mine = {largest_of_warp[0], sum_of_warp[0]};
  for (int w = 1; w < kThreads / kWarp; ++w) mine = merged<T>(mine, {largest_of_warp[w], sum_of_warp[w]});
  return mine;
}

__device__ inline int classes_of(int columns) { return columns == 1 ? 2 : columns; }
// The logit of a class, which may be the one without a column.
template <typename T>
__device__ inline float logit_of(const T* row, int columns, std::int32_t label) {
  if (columns > 1) return to_float(row[label]);
  return label == 0 ? 0 : to_float(row[0]);
}

// The label that gets the rest of a row's share: its neighbor's, or its own if the neighbor's is ignored.
__device__ inline std::int32_t other_label(const std::int32_t* labels, std::int64_t row, std::int64_t rows) {
  const std::int64_t other = row % 2 == 0 ? row + 1 : row - 1;
  const std::int32_t label = labels[other < rows ? other : row];
  return label < 0 ? labels[row] : label;
}

// losses [rows]: 0 for a row whose label is ignored.
template <typename T, int kThreads>
__global__ void __launch_bounds__(kThreads)
    rows_kernel(float* losses, float* log_sum_exp, const T* logits, const std::int32_t* labels, const float* share, int classes,
                float smoothing, std::int64_t row_elements) {
  constexpr int kSize = Vector<T>::kSize;
  const std::int64_t r = blockIdx.x;
  const T* row = logits + r * row_elements;
  LogSum mine;
  if (classes == 1 && threadIdx.x == 0) mine = {0, 1};
  float total = 0;
  for_each_class<kThreads>(
      row, classes,
      [&](int c) {
        mine = merged<T>(mine, {to_float(row[c]), 1});
        total += to_float(row[c]);
      },
      [&](int c, int step, int count) {
        RegisterPack<T, kSize> registers[kVectors];
        for (int v = 0; v < kVectors; ++v)
          if (v < count) registers[v] = load_registers<kSize>(row + c + v * step);
        for (int v = 0; v < kVectors; ++v) {
          if (v >= count) continue;
          LogSum of_vector;
          for (int i = 0; i < kSize; ++i) of_vector.largest = fmaxf(of_vector.largest, element(registers[v], i));
          of_vector.largest = fmaxf(of_vector.largest, mine.largest);
          for (int i = 0; i < kSize; ++i) of_vector.sum += exponential<T>(element(registers[v], i) - of_vector.largest);
          for (int i = 0; i < kSize; ++i) total += element(registers[v], i);
          mine = {of_vector.largest, mine.sum * exponential<T>(mine.largest - of_vector.largest) + of_vector.sum};
        }
      });
  mine = log_sum_of_block<kThreads, T>(mine);
  if (smoothing > 0) total = block_sum<kThreads>(total);
  if (threadIdx.x != 0) return;
  const float log_sum = logf(mine.sum);
  if (log_sum_exp != nullptr) log_sum_exp[r] = mine.largest + log_sum;
  // Subtracts the logits first: rounding a sum as large as the logits would cost a small loss its precision.
  float loss = 0;
  if (labels[r] >= 0) {
    float label_logit = logit_of(row, classes, labels[r]);
    if (share != nullptr)
      label_logit += (1 - share[r]) * (logit_of(row, classes, other_label(labels, r, gridDim.x)) - label_logit);
    loss = mine.largest - label_logit + log_sum;
    if (smoothing > 0) loss += smoothing * (label_logit - total / static_cast<float>(classes_of(classes)));
  }
  losses[r] = loss;
}

__device__ inline double double_block_sum(double value) {  // over kFinalThreads threads, in a fixed order
  SHARED_ARRAY(double, of_warp, kFinalThreads / kWarp);
  for (int offset = kWarp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(kAllLanes, value, offset);
  __syncthreads();  // of_warp of the previous call may still be in use
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = value;
  __syncthreads();
  value = 0;
  for (int w = 0; w < kFinalThreads / kWarp; ++w) value += of_warp[w];
  return value;
}

__device__ inline double counted_labels(const std::int32_t* labels, std::int64_t rows) {
  double count = 0;
  for (std::int64_t r = threadIdx.x; r < rows; r += kFinalThreads) count += labels[r] >= 0;
  count = double_block_sum(count);
  return count < 1 ? 1 : count;
}

// total = sum of values, divided by the number of valid labels if `mean`. Sums in double: sequential rounding would cost more
// accuracy than all errors within the rows.
__global__ void __launch_bounds__(kFinalThreads)
    finish_kernel(float* total, const float* values, const std::int32_t* labels, std::int64_t rows, bool mean) {
  double sum = 0;
  for (std::int64_t r = threadIdx.x; r < rows; r += kFinalThreads) sum += values[r];
  sum = double_block_sum(sum);
  if (mean) sum /= counted_labels(labels, rows);
  if (threadIdx.x == 0) *total = static_cast<float>(sum);
}

// *weight = the factor of each row's gradient.
__global__ void __launch_bounds__(kFinalThreads)
    weight_kernel(float* weight, const std::int32_t* labels, const float* loss_scale, std::int64_t rows, bool mean) {
  const double count = mean ? counted_labels(labels, rows) : 1;
  if (threadIdx.x == 0) *weight = static_cast<float>((loss_scale != nullptr ? *loss_scale : 1) / count);
}

template <typename T, int kThreads>
__global__ void __launch_bounds__(kThreads)
    grad_kernel(T* dlogits, const T* logits, const std::int32_t* labels, const float* shares, const float* log_sum_exp,
                const float* weight, int classes, float smoothing, std::int64_t row_elements) {
  constexpr int kSize = Vector<T>::kSize;
  const std::int64_t r = blockIdx.x;
  const T* row = logits + r * row_elements;
  T* to = dlogits + r * row_elements;
  const std::int32_t label = labels[r], column = label - (classes == 1 ? 1 : 0);
  const float log_sum = log_sum_exp[r], factor = *weight;
  const float of_all = smoothing / static_cast<float>(classes_of(classes)), of_labels = 1 - smoothing;
  std::int32_t other = column;  // the column of the second label if two samples are mixed in a row
  float own_part = of_labels, other_part = 0;
  if (shares != nullptr) {
    other = other_label(labels, r, gridDim.x) - (classes == 1 ? 1 : 0);
    own_part = of_labels * (other == column ? 1 : shares[r]);
    other_part = other == column ? 0 : of_labels * (1 - shares[r]);
  }
  const auto gradient = [&](float logit, int c) {
    if (label < 0) return 0.0f;
    const float target = of_all + (c == column ? own_part : c == other ? other_part : 0);
    return factor * (exponential<T>(logit - log_sum) - target);
  };
  for_each_class<kThreads>(
      row, classes, [&](int c) { to[c] = from_float<T>(gradient(to_float(row[c]), c)); },
      [&](int c, int step, int count) {
        RegisterPack<T, kSize> registers[kVectors];
        for (int v = 0; v < kVectors; ++v)
          if (v < count) registers[v] = load_registers<kSize>(row + c + v * step);
        for (int v = 0; v < kVectors; ++v) {
          if (v >= count) continue;
          float values[kSize];
          for (int i = 0; i < kSize; ++i) values[i] = gradient(element(registers[v], i), c + v * step + i);
          store_registers(to + c + v * step, to_registers<T>(values));
        }
      });
}

// correct [rows]: 1 if the label's logit is the first of the largest. Every comparison with a NaN is false.
template <typename T, int kThreads>
__global__ void __launch_bounds__(kThreads)
    correct_kernel(float* correct, const T* logits, const std::int32_t* labels, int classes, std::int64_t row_elements) {
  constexpr int kSize = Vector<T>::kSize;
  const std::int64_t r = blockIdx.x;
  const T* row = logits + r * row_elements;
  const std::int32_t label = labels[r];
  if (label < 0) {
    if (threadIdx.x == 0) correct[r] = 0;
    return;
  }
  const float chosen = logit_of(row, classes, label);
  float beaten = 0;
  const auto beats = [&](float logit, int c) { return c < label ? !(logit < chosen) : !(logit <= chosen); };
  if (classes == 1 && threadIdx.x == 0) beaten = beats(0, 0);
  for_each_class<kThreads>(
      row, classes, [&](int c) { beaten += beats(to_float(row[c]), classes == 1 ? 1 : c); },
      [&](int c, int step, int count) {
        for (int v = 0; v < kVectors; ++v) {
          if (v >= count) continue;
          const RegisterPack<T, kSize> registers = load_registers<kSize>(row + c + v * step);
          for (int i = 0; i < kSize; ++i) beaten += beats(element(registers, i), c + v * step + i);
        }
      });
  beaten = block_sum<kThreads>(beaten);
  if (threadIdx.x == 0) correct[r] = beaten == 0 ? 1 : 0;
}

// Calls function(T{}, threads per block).
template <typename Function>
void with_row(Element element, std::int64_t classes, Function function) {
  with_type(element, [&](auto zero) {
    if (classes <= kShortRow)
      function(zero, std::integral_constant<int, kShortThreads>{});
    else
      function(zero, std::integral_constant<int, kLongThreads>{});
  });
}

dim3 one_block(int threads) { return dim3(static_cast<unsigned>(threads)); }

}  // namespace

std::size_t cross_entropy_workspace_bytes(std::int64_t rows) { return static_cast<std::size_t>(rows) * sizeof(float); }

void cross_entropy(float* loss, float* log_sum_exp, const void* logits, const std::int32_t* labels, std::int64_t rows,
                   std::int64_t classes, const Targets& targets, std::int64_t row_elements, Element element, void* workspace,
                   Stream stream) {
  float* const losses = static_cast<float*>(workspace);
  with_row(element, classes, [&](auto zero, auto threads) {
    using T = decltype(zero);
    launch(rows_kernel<T, threads()>, dim3(static_cast<unsigned>(rows)), one_block(threads()), 0, stream, losses, log_sum_exp,
           static_cast<const T*>(logits), labels, targets.share, classes, targets.smoothing, row_elements);
  });
  launch(finish_kernel, dim3(1), one_block(kFinalThreads), 0, stream, loss, losses, labels, rows, targets.mean);
}

void cross_entropy_grad(void* dlogits, const void* logits, const std::int32_t* labels, const float* log_sum_exp,
                        const float* loss_scale, std::int64_t rows, std::int64_t classes, const Targets& targets,
                        std::int64_t row_elements, Element element, void* workspace, Stream stream) {
  float* const weight = static_cast<float*>(workspace);
  launch(weight_kernel, dim3(1), one_block(kFinalThreads), 0, stream, weight, labels, loss_scale, rows, targets.mean);
  with_row(element, classes, [&](auto zero, auto threads) {
    using T = decltype(zero);
    launch(grad_kernel<T, threads()>, dim3(static_cast<unsigned>(rows)), one_block(threads()), 0, stream,
           static_cast<T*>(dlogits), static_cast<const T*>(logits), labels, targets.share, log_sum_exp, weight, classes,
           targets.smoothing, row_elements);
  });
}

void count_correct(float* count, const void* logits, const std::int32_t* labels, std::int64_t rows, std::int64_t classes,
                   std::int64_t row_elements, Element element, void* workspace, Stream stream) {
  float* const correct = static_cast<float*>(workspace);
  with_row(element, classes, [&](auto zero, auto threads) {
    using T = decltype(zero);
    launch(correct_kernel<T, threads()>, dim3(static_cast<unsigned>(rows)), one_block(threads()), 0, stream, correct,
           static_cast<const T*>(logits), labels, classes, row_elements);
  });
  launch(finish_kernel, dim3(1), one_block(kFinalThreads), 0, stream, count, correct, labels, rows, false);
}

}  // namespace epochbench::cuda
