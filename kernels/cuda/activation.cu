// Element-wise kernels and the bias, with their gradients, and casts. They are bound by memory bandwidth, so a thread issues
// several 16-byte loads before it computes.
#include "kernels/cuda/bias_add.cuh"
#include "kernels/cuda/gelu.cuh"
#include "kernels/cuda/philox.cuh"
#include "kernels/cuda/row_strips.cuh"
#include "kernels/cuda/sum_partials.cuh"

namespace epochbench::cuda {
namespace {

constexpr int kRowsAtOnce = 4;  // in the bias gradient, with 768 threads per multiprocessor: 48 KB in flight

// ---- Element by element ----

struct Relu {
  static constexpr int kInputs = 1;
  template <int kCount>
  __device__ void operator()(float (&out)[kCount], const float (&x)[kCount], const float (&)[kCount], std::int64_t) const {
    for (int i = 0; i < kCount; ++i) out[i] = x[i] < 0 ? 0 : x[i];  // a NaN stays NaN
  }
};

struct ReluGrad {
  static constexpr int kInputs = 2;
  template <int kCount>
  __device__ void operator()(float (&out)[kCount], const float (&dy)[kCount], const float (&y)[kCount], std::int64_t) const {
    for (int i = 0; i < kCount; ++i) out[i] = y[i] > 0 ? dy[i] : 0;
  }
};

struct Add {
  static constexpr int kInputs = 2;
  template <int kCount>
  __device__ void operator()(float (&out)[kCount], const float (&a)[kCount], const float (&b)[kCount], std::int64_t) const {
    for (int i = 0; i < kCount; ++i) out[i] = a[i] + b[i];
  }
};

// kAligned: dropout.first is a multiple of 4; otherwise the words of each element are computed separately.
template <bool kAligned>
struct DropOut {
  static constexpr int kInputs = 1;
  Dropout dropout;
  const std::int32_t* step;
  template <int kCount>
  __device__ void operator()(float (&out)[kCount], const float (&x)[kCount], const float (&)[kCount],
                             std::int64_t first) const {
    if constexpr (kAligned) {
      for (int i = 0; i < kCount; ++i) out[i] = x[i];
      drop_out(out, first, *step, dropout);
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        float one[1] = {x[i]};
        drop_out(one, first + i, *step, dropout);
        out[i] = one[0];
      }
    }
  }
};

// ---- Gradient of the bias ----

// partials [row_blocks, channels]: the sums over the rows of each block.
template <typename T, int kSize>
__global__ void __launch_bounds__(kStripThreads, kStripBlocks) sum_rows_kernel(float* partials, const T* x, Strips strips) {
  const StripPlace<kSize> place = strip_place<kSize>(strips);
  float sum[kSize] = {};
  for_each_chunk<kSize, kRowsAtOnce, false>(strips, place, [&](std::int64_t first, std::int64_t step, int count) {
    RegisterPack<T, kSize> rows[kRowsAtOnce] = {};
    load_rows(rows, x, first, step, count);
    for (int i = 0; i < kSize; ++i) {
      float of_rows = 0;
      for (int r = 0; r < kRowsAtOnce; ++r) of_rows += r < count ? element(rows[r], i) : 0;
      sum[i] += of_rows;
    }
  });
  // Sums the lanes of a strip by repeated halving. [lane, strip, kSize], with a gap to avoid bank conflicts.
  SHARED_ARRAY(float, of_lanes, kStripThreads*(kSize + 1));
  float* const own = of_lanes + threadIdx.x * (kSize + 1);
  for (int i = 0; i < kSize; ++i) own[i] = sum[i];
  for (int half = kStripThreads / 2; half >= strips.width; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half)
      for (int i = 0; i < kSize; ++i) own[i] += own[half * (kSize + 1) + i];
  }
  if (place.lane == 0 && place.active)
    for (int i = 0; i < kSize; ++i) partials[blockIdx.y * strips.channels + place.channel + i] = own[i];
}

// ---- Casts ----

constexpr int kCastSize = 8;  // elements per thread and iteration: 16 bytes of 16-bit elements, 32 of floats

template <typename T>
struct CastRegisters {  // kCastSize elements
  static constexpr int kCount = kWide<T>;
  RegisterPack<T, kCount> registers[kCastSize / kCount];
};

template <typename To, typename From>
__device__ void cast_chunk(const CastTensor& tensor, std::int64_t first) {
  To* const y = static_cast<To*>(tensor.y) + first;
  const From* const x = static_cast<const From*>(tensor.x) + first;
  const std::int64_t left = tensor.n - first;
  const int n = static_cast<int>(left < kChunkElements ? left : kChunkElements), packs = n / kCastSize;
  for (int start = static_cast<int>(threadIdx.x); start < packs; start += kThreads * kPacks) {
    CastRegisters<From> in[kPacks];
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int at = start + p * kThreads;
      if (at >= packs) break;
      for (int w = 0; w < kCastSize / kWide<From>; ++w)
        in[p].registers[w] = load_registers<kWide<From>>(x + at * kCastSize + w * kWide<From>);
    }
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int at = start + p * kThreads;
      if (at >= packs) break;
      for (int w = 0; w < kCastSize / kWide<To>; ++w) {
        float values[kWide<To>];
        for (int i = 0; i < kWide<To>; ++i) {
          const int of_pack = w * kWide<To> + i;
          values[i] = element(in[p].registers[of_pack / kWide<From>], of_pack % kWide<From>);
        }
        store_registers(y + at * kCastSize + w * kWide<To>, to_registers<To>(values));
      }
    }
  }
  const int last = packs * kCastSize + static_cast<int>(threadIdx.x);
  if (last < n) y[last] = from_float<To>(to_float(x[last]));
}

template <typename To>
__device__ void cast_chunk_to(const CastTensor& tensor, std::int64_t first) {
  switch (tensor.from) {
    case Element::f32:
      return cast_chunk<To, float>(tensor, first);
    case Element::bf16:
      return cast_chunk<To, bf16>(tensor, first);
    case Element::f16:
      return cast_chunk<To, f16>(tensor, first);
  }
}

__global__ void __launch_bounds__(kThreads) cast_kernel(const CastTensor* tensors, const Chunk* chunks) {
  const Chunk chunk = chunks[blockIdx.x];
  const CastTensor tensor = tensors[chunk.tensor];
  switch (tensor.to) {
    case Element::f32:
      return cast_chunk_to<float>(tensor, chunk.first);
    case Element::bf16:
      return cast_chunk_to<bf16>(tensor, chunk.first);
    case Element::f16:
      return cast_chunk_to<f16>(tensor, chunk.first);
  }
}

}  // namespace

void bias_add(void* y, const void* x, const void* bias, std::int64_t rows, std::int64_t channels, std::int64_t row_elements,
              Element element, Stream stream) {
  with_type(element, [&](auto zero) {
    using T = decltype(zero);
    const BiasAdd<T> of{static_cast<const T*>(bias), channels, row_elements};
    elementwise<T>(y, x, nullptr, rows * row_elements, of, stream);
  });
}

std::size_t reduction_workspace_bytes(std::int64_t rows, std::int64_t channels) {
  return sizeof(float) * static_cast<std::size_t>(reduction_floats(rows, channels));
}

// Sums what lies between the rows like channels, so that all strips are whole, and drops it at the end.
void bias_add_grad(void* dbias, const void* dy, std::int64_t rows, std::int64_t channels, std::int64_t row_elements,
                   Element element, void* workspace, Stream stream) {
  auto* const partials = static_cast<float*>(workspace);
  with_pack(element, row_elements, [&](auto zero, auto size) {
    using T = decltype(zero);
    const Strips strips = strips_of(rows, row_elements, size(), kRowsAtOnce, reducing_blocks());
    launch(sum_rows_kernel<T, size()>, grid_of(strips), dim3(kStripThreads), 0, stream, partials, static_cast<const T*>(dy),
           strips);
    sum_partials(static_cast<T*>(dbias), partials, channels, row_elements, strips.row_blocks, stream);
  });
}

void relu(void* y, const void* x, std::int64_t n, Element element, Stream stream) {
  with_type(element, [&](auto zero) { elementwise<decltype(zero)>(y, x, nullptr, n, Relu{}, stream); });
}

void relu_grad(void* dx, const void* dy, const void* y, std::int64_t n, Element element, Stream stream) {
  with_type(element, [&](auto zero) { elementwise<decltype(zero)>(dx, dy, y, n, ReluGrad{}, stream); });
}

void add(void* y, const void* a, const void* b, std::int64_t n, Element element, Stream stream) {
  with_type(element, [&](auto zero) { elementwise<decltype(zero)>(y, a, b, n, Add{}, stream); });
}

void gelu(void* y, const void* x, std::int64_t n, Element element, Stream stream) {
  with_type(element, [&](auto zero) {
    using T = decltype(zero);
    elementwise<T>(y, x, nullptr, n, Gelu<std::is_same_v<T, float>>{}, stream);
  });
}

void gelu_grad(void* dx, const void* dy, const void* x, std::int64_t n, Element element, Stream stream) {
  with_type(element, [&](auto zero) {
    using T = decltype(zero);
    elementwise<T>(dx, dy, x, n, GeluGrad<std::is_same_v<T, float>>{}, stream);
  });
}

void gelu_tanh(void* y, const void* x, std::int64_t n, Element element, Stream stream) {
  with_type(element, [&](auto zero) {
    using T = decltype(zero);
    elementwise<T>(y, x, nullptr, n, GeluTanh<std::is_same_v<T, float>>{}, stream);
  });
}

void gelu_tanh_grad(void* dx, const void* dy, const void* x, std::int64_t n, Element element, Stream stream) {
  with_type(element, [&](auto zero) {
    using T = decltype(zero);
    elementwise<T>(dx, dy, x, n, GeluTanhGrad<std::is_same_v<T, float>>{}, stream);
  });
}

void dropout(void* y, const void* x, const std::int32_t* step, const Dropout& dropout, std::int64_t n, Element element,
             Stream stream) {
  with_type(element, [&](auto zero) {
    if (dropout.first % 4 == 0)
      elementwise<decltype(zero)>(y, x, nullptr, n, DropOut<true>{dropout, step}, stream);
    else
      elementwise<decltype(zero)>(y, x, nullptr, n, DropOut<false>{dropout, step}, stream);
  });
}

void cast(const CastTensor* tensors, const Chunk* chunks, std::int64_t chunk_count, Stream stream) {
  if (chunk_count == 0) return;
  launch(cast_kernel, dim3(static_cast<unsigned>(chunk_count)), dim3(kThreads), 0, stream, tensors, chunks);
}

}  // namespace epochbench::cuda
