// Packs for kernels that hold many elements at once: pairs of 16-bit elements stay in one register, as in memory, until they
// are converted. (In a Pack, the compiler uses one register per 16-bit element.)
#pragma once

#include "kernels/cuda/pack.cuh"

namespace epochbench::cuda {

template <typename T, int kSize>
struct RegisterPack {
  static_assert(sizeof(T) == 2 && kSize % 2 == 0);
  Pack<std::uint32_t, kSize / 2> pairs;  // the first element of a pair is the low half
};
template <typename T>
struct RegisterPack<T, 1> {
  T value;
};
template <int kSize>
requires(kSize > 1) struct RegisterPack<float, kSize> {
  Pack<float, kSize> values;
};

template <int kSize, typename T>
__device__ inline RegisterPack<T, kSize> load_registers(const T* address) {
  return *reinterpret_cast<const RegisterPack<T, kSize>*>(address);
}
template <int kSize, typename T>
__device__ inline void store_registers(T* address, const RegisterPack<T, kSize>& registers) {
  *reinterpret_cast<RegisterPack<T, kSize>*>(address) = registers;
}

template <typename T, int kSize>
__device__ inline float element(const RegisterPack<T, kSize>& registers, int i) {
  if constexpr (kSize == 1) {
    return to_float(registers.value);
  } else if constexpr (std::is_same_v<T, float>) {
    return registers.values.value[i];
  } else {
    const std::uint32_t pair = registers.pairs.value[i / 2];
    return to_float(__builtin_bit_cast(T, static_cast<std::uint16_t>(i % 2 == 0 ? pair : pair >> 16)));
  }
}

__device__ inline __nv_bfloat162 rounded_pair(bf16, float a, float b) { return __floats2bfloat162_rn(a, b); }
__device__ inline __half2 rounded_pair(f16, float a, float b) { return __floats2half2_rn(a, b); }

template <typename T, int kSize>
__device__ inline RegisterPack<T, kSize> to_registers(const float (&values)[kSize]) {  // each rounded to nearest even
  RegisterPack<T, kSize> registers;
  if constexpr (kSize == 1)
    registers.value = from_float<T>(values[0]);
  else if constexpr (std::is_same_v<T, float>)
    for (int i = 0; i < kSize; ++i) registers.values.value[i] = values[i];
  else
    for (int i = 0; i < kSize; i += 2) {
      const auto pair = rounded_pair(T{}, values[i], values[i + 1]);
      __builtin_memcpy(&registers.pairs.value[i / 2], &pair, sizeof pair);
    }
  return registers;
}

// values = kSize floats from `address` on, which is a multiple of 16 bytes if kSize is a multiple of 4.
template <int kSize>
__device__ inline void load_floats(float (&values)[kSize], const float* address) {
  constexpr int kPack = kSize % 4 == 0 ? 4 : 1;
  for (int i = 0; i < kSize; i += kPack) {
    const RegisterPack<float, kPack> registers = load_registers<kPack>(address + i);
    for (int j = 0; j < kPack; ++j) values[i + j] = element(registers, j);
  }
}

template <int kSize>
__device__ inline void store_floats(float* address, const float (&values)[kSize]) {
  constexpr int kPack = kSize % 4 == 0 ? 4 : 1;
  for (int i = 0; i < kSize; i += kPack) {
    float pack[kPack];
    for (int j = 0; j < kPack; ++j) pack[j] = values[i + j];
    store_registers(address + i, to_registers<float>(pack));
  }
}

}  // namespace epochbench::cuda
