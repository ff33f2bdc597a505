// Packs for kernels that hold many elements at once: pairs of 16-bit elements stay together in one register, as they lie in
// memory, until each is converted. (Of a Pack, the compiler gives every 16-bit element a register of its own.)
#pragma once

#include "kernels/cuda/pack.cuh"

namespace epochbench::cuda {

template <typename T, int kSize>
struct Words {
  static_assert(sizeof(T) == 2 && kSize % 2 == 0);
  Pack<std::uint32_t, kSize / 2> pairs;  // the first element of a pair is the low half
};
template <typename T>
struct Words<T, 1> {
  T value;
};
template <int kSize>
requires(kSize > 1) struct Words<float, kSize> {
  Pack<float, kSize> values;
};

template <int kSize, typename T>
__device__ inline Words<T, kSize> load_words(const T* address) {
  return *reinterpret_cast<const Words<T, kSize>*>(address);
}
template <int kSize, typename T>
__device__ inline void store_words(T* address, const Words<T, kSize>& words) {
  *reinterpret_cast<Words<T, kSize>*>(address) = words;
}

template <typename T, int kSize>
__device__ inline float element(const Words<T, kSize>& words, int i) {
  if constexpr (kSize == 1) {
    return to_float(words.value);
  } else if constexpr (std::is_same_v<T, float>) {
    return words.values.value[i];
  } else {
    const std::uint32_t pair = words.pairs.value[i / 2];
    return to_float(__builtin_bit_cast(T, static_cast<std::uint16_t>(i % 2 == 0 ? pair : pair >> 16)));
  }
}

__device__ inline __nv_bfloat162 rounded_pair(bf16, float a, float b) { return __floats2bfloat162_rn(a, b); }
__device__ inline __half2 rounded_pair(f16, float a, float b) { return __floats2half2_rn(a, b); }

template <typename T, int kSize>
__device__ inline Words<T, kSize> to_words(const float (&values)[kSize]) {  // each rounded to nearest even
  Words<T, kSize> words;
  if constexpr (kSize == 1)
    words.value = from_float<T>(values[0]);
  else if constexpr (std::is_same_v<T, float>)
    for (int i = 0; i < kSize; ++i) words.values.value[i] = values[i];
  else
    for (int i = 0; i < kSize; i += 2) {
      const auto pair = rounded_pair(T{}, values[i], values[i + 1]);
      __builtin_memcpy(&words.pairs.value[i / 2], &pair, sizeof pair);
    }
  return words;
}

// values = kSize floats from `address` on, a multiple of 16 bytes where kSize is one of 4.
template <int kSize>
__device__ inline void load_floats(float (&values)[kSize], const float* address) {
  constexpr int kPack = kSize % 4 == 0 ? 4 : 1;
  for (int i = 0; i < kSize; i += kPack) {
    const Words<float, kPack> words = load_words<kPack>(address + i);
    for (int j = 0; j < kPack; ++j) values[i + j] = element(words, j);
  }
}

template <int kSize>
__device__ inline void store_floats(float* address, const float (&values)[kSize]) {
  constexpr int kPack = kSize % 4 == 0 ? 4 : 1;
  for (int i = 0; i < kSize; i += kPack) {
    float pack[kPack];
    for (int j = 0; j < kPack; ++j) pack[j] = values[i + j];
    store_words(address + i, to_words<float>(pack));
  }
}

}  // namespace epochbench::cuda
