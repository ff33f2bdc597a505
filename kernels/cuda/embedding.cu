// Lookup of table rows by id or by position, repeated addition of table rows, and their gradients. A warp copies a row, so that
// its id is read once and no thread divides; the widths of the models fill whole warps of 16-byte vectors.
#include "kernels/cuda/row_strips.cuh"

namespace epochbench::cuda {
namespace {

constexpr int kRowsPerBlock = 8;  // one per warp
constexpr int kRowThreads = kRowsPerBlock * kWarp;
constexpr int kBatch = 4;  // packs in flight per thread

// y [width] = make(column) of each pack of columns, computed by one warp.
template <int kSize, typename T, typename Make>
__device__ void write_row(T* y, std::int64_t width, Make make) {
  constexpr int kStep = kWarp * kSize;
  for (std::int64_t first = threadIdx.x % kWarp * kSize; first < width; first += kBatch * kStep) {
    Pack<T, kSize> packs[kBatch];
    for (int i = 0; i < kBatch; ++i)
      if (first + i * kStep < width) packs[i] = make(first + i * kStep);
    for (int i = 0; i < kBatch; ++i)
      if (first + i * kStep < width) store_pack(y + first + i * kStep, packs[i]);
  }
}

__device__ std::int64_t row_of_warp() { return static_cast<std::int64_t>(blockIdx.x) * kRowsPerBlock + threadIdx.x / kWarp; }

template <typename... Parameters, typename... Arguments>
void launch_rows(void (*kernel)(Parameters...), std::int64_t rows, Stream stream, Arguments... arguments) {
  if (rows == 0) return;
  const dim3 grid(static_cast<unsigned>(ceil_div(rows, kRowsPerBlock)));
  launch(kernel, grid, dim3(kRowThreads), 0, stream, arguments...);
}

template <typename T, int kSize>
__global__ void __launch_bounds__(kRowThreads)
    embedding_kernel(T* y, const T* table, const std::int32_t* ids, std::int64_t rows, std::int64_t width) {
  const std::int64_t row = row_of_warp();
  if (row >= rows) return;
  const T* from = table + ids[row] * width;
  write_row<kSize>(y + row * width, width, [=](std::int64_t column) { return load_pack<kSize>(from + column); });
}

template <typename T, int kSize>
__global__ void __launch_bounds__(kRowThreads)
    add_rows_kernel(T* y, const T* x, const T* table, std::int64_t rows, std::int64_t width, std::int64_t period) {
  const std::int64_t row = row_of_warp();
  if (row >= rows) return;
  x += row * width;
  table += row % period * width;
  write_row<kSize>(y + row * width, width, [=](std::int64_t column) {
    Pack<T, kSize> sum = load_pack<kSize>(x + column);
    const Pack<T, kSize> other = load_pack<kSize>(table + column);
    for (int i = 0; i < kSize; ++i) sum.value[i] = from_float<T>(to_float(sum.value[i]) + to_float(other.value[i]));
    return sum;
  });
}

template <typename T, int kSize>
__global__ void __launch_bounds__(kRowThreads)
    gather_rows_kernel(T* y, const T* x, const std::int32_t* positions, std::int64_t rows, std::int64_t sequence,
                       std::int64_t count, std::int64_t width) {
  const std::int64_t row = row_of_warp();
  if (row >= rows) return;
  const T* from = x + (row / count * sequence + positions[row]) * width;
  write_row<kSize>(y + row * width, width, [=](std::int64_t column) { return load_pack<kSize>(from + column); });
}

// Each row of dx searches the positions of its sequence, so that each row is written once and none is cleared first.
template <typename T, int kSize>
__global__ void __launch_bounds__(kRowThreads)
    gather_rows_grad_kernel(T* dx, const T* dy, const std::int32_t* positions, std::int64_t rows, std::int64_t sequence,
                            std::int64_t count, std::int64_t width) {
  const std::int64_t row = row_of_warp();
  if (row >= rows) return;
  const std::int64_t batch = row / sequence;
  const auto position = static_cast<std::int32_t>(row - batch * sequence);
  const T* from = nullptr;
  for (std::int64_t first = 0; first < count && from == nullptr; first += kWarp) {
    const std::int64_t at = first + threadIdx.x % kWarp;
    const bool matches = at < count && positions[batch * count + at] == position;
    const unsigned match_lanes = __ballot_sync(kAllLanes, matches);
    if (match_lanes != 0) from = dy + (batch * count + first + __ffs(static_cast<int>(match_lanes)) - 1) * width;
  }
  write_row<kSize>(dx + row * width, width, [=](std::int64_t column) {
    if (from != nullptr) return load_pack<kSize>(from + column);
    Pack<T, kSize> zeros;
    for (int i = 0; i < kSize; ++i) zeros.value[i] = from_float<T>(0);
    return zeros;
  });
}

// dtable = base, or 0 where it is null.
constexpr int kFillThreads = 256;
template <typename T, int kSize>
__global__ void __launch_bounds__(kFillThreads) fill_kernel(float* dtable, const T* base, std::int64_t n) {
  constexpr int kStep = kFillThreads * kSize;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kBatch * kStep + threadIdx.x * kSize;
  Pack<float, kSize> packs[kBatch];
  for (int b = 0; b < kBatch; ++b) {
    Pack<T, kSize> from;
    const bool read = base != nullptr && first + b * kStep < n;
    if (read) from = load_pack<kSize>(base + first + b * kStep);
    for (int i = 0; i < kSize; ++i) packs[b].value[i] = read ? to_float(from.value[i]) : 0;
  }
  for (int b = 0; b < kBatch; ++b)
    if (first + b * kStep < n) store_pack(dtable + first + b * kStep, packs[b]);
}

__device__ inline void add_atomically(float* address, const float (&values)[1]) { atomicAdd(address, values[0]); }
__device__ inline void add_atomically(float* address, const float (&values)[4]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  atomicAdd(reinterpret_cast<float4*>(address), make_float4(values[0], values[1], values[2], values[3]));
#else
  for (int i = 0; i < 4; ++i) atomicAdd(address + i, values[i]);
#endif
}

// Some ids occur very often ([MASK] is every eighth of BERT's), and atomic additions to one row wait for each other. So a block
// takes kGradRows rows of dy, sorts them by id, and adds one sum for each distinct id. Threads divide the columns.
constexpr int kGradRows = 64, kGradThreads = 64;  // equal, so that a thread sorts one row; 64 x 4 columns divide 768 and 1024
constexpr int kGradBlocks = 12;                   // per multiprocessor: 48 KB of 16-bit elements in flight
constexpr int kGradBatch = 8;                     // rows in flight per thread
template <typename T, int kSize>
__global__ void __launch_bounds__(kGradThreads, kGradBlocks)
    embedding_grad_kernel(float* dtable, const T* dy, const std::int32_t* ids, std::int64_t rows, std::int64_t width,
                          unsigned strips) {
  SHARED_ARRAY(std::int32_t, id, kGradRows);         // in the order of the rows
  SHARED_ARRAY(std::int32_t, sorted_id, kGradRows);  // ascending
  SHARED_ARRAY(std::int32_t, sorted_row, kGradRows);
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x / strips) * kGradRows;
  const int here = static_cast<int>(rows - first_row < kGradRows ? rows - first_row : kGradRows), thread = threadIdx.x;
  if (thread < here) id[thread] = ids[first_row + thread];
  __syncthreads();
  if (thread < here) {
    int rank = 0;
    for (int other = 0; other < here; ++other) rank += id[other] < id[thread] || (id[other] == id[thread] && other < thread);
    sorted_id[rank] = id[thread];
    sorted_row[rank] = thread;
  }
  __syncthreads();
  const std::int64_t column = (static_cast<std::int64_t>(blockIdx.x % strips) * kGradThreads + thread) * kSize;
  if (column >= width) return;
  float sum[kSize] = {};
  for (int first = 0; first < here; first += kGradBatch) {
    Pack<T, kSize> packs[kGradBatch];
    for (int i = 0; i < kGradBatch; ++i)
      if (first + i < here) packs[i] = load_pack<kSize>(dy + (first_row + sorted_row[first + i]) * width + column);
    for (int i = 0; i < kGradBatch; ++i) {
      const int at = first + i;
      if (at >= here) break;
      for (int c = 0; c < kSize; ++c) sum[c] += to_float(packs[i].value[c]);
      if (at + 1 < here && sorted_id[at + 1] == sorted_id[at]) continue;
      add_atomically(dtable + sorted_id[at] * width + column, sum);
      for (int c = 0; c < kSize; ++c) sum[c] = 0;
    }
  }
}

void fill(float* dtable, const void* base, Element base_element, std::int64_t n, Stream stream) {
  if (base == dtable || n == 0) return;
  with_type(base_element, [&](auto zero) {
    using T = decltype(zero);
    const auto run = [&](auto kernel, int size) {
      const dim3 grid(static_cast<unsigned>(ceil_div(n, kFillThreads * kBatch * size)));
      launch(kernel, grid, dim3(kFillThreads), 0, stream, dtable, static_cast<const T*>(base), n);
    };
    n % 4 == 0 ? run(fill_kernel<T, 4>, 4) : run(fill_kernel<T, 1>, 1);
  });
}

// A period is `period` rows of dy. With one matrix row per period, [periods, period * width], the table's gradient is the sum
// of its columns. partial [row blocks, period * width]: sums over the rows of the blocks with one blockIdx.y.
constexpr int kPeriodsInFlight = 4;  // periods in flight per thread
template <typename T, int kSize>
__global__ void __launch_bounds__(kStripThreads) add_rows_grad_kernel(float* partial, const T* dy, Strips strips) {
  constexpr int kSums = kStripThreads * kSize;
  SHARED_ARRAY(float, sums, kSums);  // [element of a strip, lane, strip]
  const StripPlace<kSize> place = strip_place<kSize>(strips);
  float sum[kSize] = {};
  for_each_chunk<kSize, kPeriodsInFlight, false>(strips, place, [&](std::int64_t first, std::int64_t step, int count) {
    RegisterPack<T, kSize> periods[kPeriodsInFlight];
    load_rows(periods, dy, first, step, count);
    for (int t = 0; t < kPeriodsInFlight; ++t)
      if (t < count)
        for (int i = 0; i < kSize; ++i) sum[i] += element(periods[t], i);
  });
  for (int i = 0; i < kSize; ++i) sums[i * kStripThreads + threadIdx.x] = sum[i];
  __syncthreads();
  const int columns = strips.width * kSize;  // columns of the block
  for (int column = threadIdx.x; column < columns; column += kStripThreads) {
    const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * columns + column;
    if (at >= strips.channels) break;
    const float* of_lane = sums + column % kSize * kStripThreads + column / kSize;
    float total = 0;
    for (int lane = 0; lane < kStripThreads; lane += strips.width) total += of_lane[lane];
    partial[blockIdx.y * strips.channels + at] = total;
  }
}

// dtable [table size] = the partial sums of its first `used` elements, plus the incomplete last period in its first `rest`
// elements; 0 elsewhere.
template <typename T>
__global__ void __launch_bounds__(kFillThreads)
    add_rows_grad_end_kernel(float* dtable, const float* partial, const T* last_period, std::int64_t row_blocks,
                             std::int64_t table_size, std::int64_t used, std::int64_t rest) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kFillThreads + threadIdx.x;
  if (i >= table_size) return;
  float total = 0;
  if (i < used)
    for (std::int64_t b = 0; b < row_blocks; ++b) total += partial[b * used + i];
  if (i < rest) total += to_float(last_period[i]);
  dtable[i] = total;
}

}  // namespace

void embedding(void* y, const void* table, const std::int32_t* ids, std::int64_t rows, std::int64_t width, Element element,
               Stream stream) {
  with_pack(element, width, [&](auto zero, auto size) {
    using T = decltype(zero);
    launch_rows(embedding_kernel<T, size()>, rows, stream, static_cast<T*>(y), static_cast<const T*>(table), ids, rows, width);
  });
}

void embedding_grad(float* dtable, const void* dy, const std::int32_t* ids, const void* base, Element base_element,
                    std::int64_t rows, std::int64_t vocabulary, std::int64_t width, Element element, Stream stream) {
  fill(dtable, base, base_element, vocabulary * width, stream);
  if (rows == 0) return;
  with_type(element, [&](auto zero) {
    using T = decltype(zero);
    const auto run = [&](auto kernel, int size) {
      const std::int64_t strips = ceil_div(width, kGradThreads * size);
      const dim3 grid(static_cast<unsigned>(ceil_div(rows, kGradRows) * strips));
      launch(kernel, grid, dim3(kGradThreads), 0, stream, dtable, static_cast<const T*>(dy), ids, rows, width,
             static_cast<unsigned>(strips));
    };
    width % 4 == 0 ? run(embedding_grad_kernel<T, 4>, 4) : run(embedding_grad_kernel<T, 1>, 1);
  });
}

void add_rows(void* y, const void* x, const void* table, std::int64_t rows, std::int64_t width, std::int64_t period,
              Element element, Stream stream) {
  with_pack(element, width, [&](auto zero, auto size) {
    using T = decltype(zero);
    launch_rows(add_rows_kernel<T, size()>, rows, stream, static_cast<T*>(y), static_cast<const T*>(x),
                static_cast<const T*>(table), rows, width, period);
  });
}

void add_rows_grad(float* dtable, const void* dy, std::int64_t rows, std::int64_t width, std::int64_t period,
                   std::int64_t table_rows, Element element, void* workspace, Stream stream) {
  const std::int64_t periods = rows / period, used = period * width, table_size = table_rows * width;
  auto* const partial = static_cast<float*>(workspace);
  with_pack(element, used, [&](auto zero, auto size) {
    using T = decltype(zero);
    const Strips strips = strips_of(periods, used, size(), kPeriodsInFlight, reducing_blocks());
    if (periods > 0)
      launch(add_rows_grad_kernel<T, size()>, grid_of(strips), dim3(kStripThreads), 0, stream, partial,
             static_cast<const T*>(dy), strips);
    launch(add_rows_grad_end_kernel<T>, dim3(static_cast<unsigned>(ceil_div(table_size, kFillThreads))), dim3(kFillThreads), 0,
           stream, dtable, partial, static_cast<const T*>(dy) + periods * used, strips.row_blocks, table_size, used,
           rows * width - periods * used);
  });
}

void gather_rows(void* y, const void* x, const std::int32_t* positions, std::int64_t batch, std::int64_t sequence,
                 std::int64_t count, std::int64_t width, Element element, Stream stream) {
  with_pack(element, width, [&](auto zero, auto size) {
    using T = decltype(zero);
    launch_rows(gather_rows_kernel<T, size()>, batch * count, stream, static_cast<T*>(y), static_cast<const T*>(x), positions,
                batch * count, sequence, count, width);
  });
}

void gather_rows_grad(void* dx, const void* dy, const std::int32_t* positions, std::int64_t batch, std::int64_t sequence,
                      std::int64_t count, std::int64_t width, Element element, Stream stream) {
  with_pack(element, width, [&](auto zero, auto size) {
    using T = decltype(zero);
    launch_rows(gather_rows_grad_kernel<T, size()>, batch * sequence, stream, static_cast<T*>(dx), static_cast<const T*>(dy),
                positions, batch * sequence, sequence, count, width);
  });
}

}  // namespace epochbench::cuda
