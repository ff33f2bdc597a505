// SwiGLU (Shazeer 2020) and its gradient, of separate tensors or of tensors side by side in rows: bound by memory bandwidth, so
// each tensor is read and written once, in packs of 16 bytes where the width allows.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/logistic.cuh"

namespace epochbench::cuda {
namespace {

// In packs: the columns of a row, the gap between rows of gate and up, and the total.
template <typename Index>
struct SwigluPacks {
  Index columns, between, count;
};

// body(index of a pack in y, and in gate and up) for each pack of a thread.
template <typename Index, typename Body>
__device__ inline void for_each_pack(const SwigluPacks<Index>& s, Body body) {
  const Index first = static_cast<Index>(blockIdx.x) * (kThreads * kPacks) + threadIdx.x;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const Index at = first + p * kThreads;
    if (at < s.count) body(p, static_cast<std::int64_t>(at), static_cast<std::int64_t>(at) + at / s.columns * s.between);
  }
}

template <typename T, int kSize, typename Index>
__global__ void __launch_bounds__(kThreads) swiglu_kernel(T* y, const T* gate, const T* up, SwigluPacks<Index> s) {
  constexpr bool kExact = std::is_same_v<T, float>;
  RegisterPack<T, kSize> of_gate[kPacks], of_up[kPacks];
  for_each_pack(s, [&](int p, std::int64_t, std::int64_t from) {
    of_gate[p] = load_registers<kSize>(gate + from * kSize);
    of_up[p] = load_registers<kSize>(up + from * kSize);
  });
  for_each_pack(s, [&](int p, std::int64_t to, std::int64_t) {
    float values[kSize];
    for (int i = 0; i < kSize; ++i) {
      const float x = element(of_gate[p], i);
      values[i] = x * logistic<kExact>(x).value * element(of_up[p], i);
    }
    store_registers(y + to * kSize, to_registers<T>(values));
  });
}

template <typename T, int kSize, typename Index>
__global__ void __launch_bounds__(kThreads)
    swiglu_grad_kernel(T* dgate, T* dup, const T* dy, const T* gate, const T* up, SwigluPacks<Index> s) {
  constexpr bool kExact = std::is_same_v<T, float>;
  RegisterPack<T, kSize> of_dy[kPacks], of_gate[kPacks], of_up[kPacks];
  for_each_pack(s, [&](int p, std::int64_t from, std::int64_t to) {
    of_dy[p] = load_registers<kSize>(dy + from * kSize);
    of_gate[p] = load_registers<kSize>(gate + to * kSize);
    of_up[p] = load_registers<kSize>(up + to * kSize);
  });
  for_each_pack(s, [&](int p, std::int64_t, std::int64_t to) {
    float gates[kSize], ups[kSize];
    for (int i = 0; i < kSize; ++i) {
      const float upstream = element(of_dy[p], i), x = element(of_gate[p], i);
      const Logistic l = logistic<kExact>(x);
      gates[i] = upstream * element(of_up[p], i) * (l.value * (1 + x * l.complement));
      ups[i] = upstream * (x * l.value);
    }
    if (dgate != nullptr) store_registers(dgate + to * kSize, to_registers<T>(gates));
    if (dup != nullptr) store_registers(dup + to * kSize, to_registers<T>(ups));
  });
}

// run(T{}, size, the sizes in packs) with 32-bit indices where they suffice.
template <typename Run>
void with_packs(const SwigluShape& shape, Element element, Run run) {
  with_pack(element, shape.width, [&](auto zero, auto size) {
    const std::int64_t columns = shape.width / size(), between = (input_stride(shape) - shape.width) / size();
    const std::int64_t count = shape.rows * columns;
    if (count == 0) return;
    const dim3 grid(static_cast<unsigned>(ceil_div(count, std::int64_t{kThreads} * kPacks)));
    const auto packs = [=]<typename Index>(Index) {
      return SwigluPacks<Index>{static_cast<Index>(columns), static_cast<Index>(between), static_cast<Index>(count)};
    };
    if (shape.rows * (columns + between) < std::int64_t{1} << 31)
      run(zero, size, packs(std::uint32_t{}), grid);
    else
      run(zero, size, packs(std::int64_t{}), grid);
  });
}

}  // namespace

void swiglu(void* y, const void* gate, const void* up, const SwigluShape& shape, Element element, Stream stream) {
  with_packs(shape, element, [&]<typename T, typename Size, typename Index>(T, Size, SwigluPacks<Index> packs, dim3 grid) {
    launch(swiglu_kernel<T, Size::value, Index>, grid, dim3(kThreads), 0, stream, static_cast<T*>(y),
           static_cast<const T*>(gate), static_cast<const T*>(up), packs);
  });
}

void swiglu_grad(void* dgate, void* dup, const void* dy, const void* gate, const void* up, const SwigluShape& shape,
                 Element element, Stream stream) {
  with_packs(shape, element, [&]<typename T, typename Size, typename Index>(T, Size, SwigluPacks<Index> packs, dim3 grid) {
    launch(swiglu_grad_kernel<T, Size::value, Index>, grid, dim3(kThreads), 0, stream, static_cast<T*>(dgate),
           static_cast<T*>(dup), static_cast<const T*>(dy), static_cast<const T*>(gate), static_cast<const T*>(up), packs);
  });
}

}  // namespace epochbench::cuda
