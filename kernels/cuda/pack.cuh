// A few elements that a thread loads and stores together, so that one kernel serves both the vector path and the scalar path.
#pragma once

#include "kernels/cuda/device_code.cuh"

namespace epochbench::cuda {

// kSize elements, a power of two with at most 16 bytes in total; the address must be a multiple of their size.
template <typename T, int kSize>
struct alignas(sizeof(T) * kSize) Pack {
  T value[kSize];
};
template <int kSize, typename T>
__device__ inline Pack<T, kSize> load_pack(const T* address) {
  return *reinterpret_cast<const Pack<T, kSize>*>(address);
}
template <int kSize, typename T>
__device__ inline void store_pack(T* address, const Pack<T, kSize>& pack) {
  *reinterpret_cast<Pack<T, kSize>*>(address) = pack;
}

// Calls function(T{}, std::integral_constant<int, kSize>{}) with the largest number of elements of type `element` that fit 16
// bytes and divide `extent`, the distance between rows (the first row is aligned to 16 bytes); otherwise with 1.
template <typename Function>
void with_pack(Element element, std::int64_t extent, Function&& function) {
  with_type(element, [&](auto zero) {
    constexpr int kSize = Vector<decltype(zero)>::kSize;
    if (extent % kSize == 0)
      function(zero, std::integral_constant<int, kSize>{});
    else
      function(zero, std::integral_constant<int, 1>{});
  });
}

}  // namespace epochbench::cuda
