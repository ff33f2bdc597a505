// The sum with a bias, as a function of elements for elementwise.cuh.
#pragma once

#include "kernels/cuda/elementwise.cuh"

namespace epochbench::cuda {

template <typename T>
struct BiasAdd {
  static constexpr int kInputs = 1;
  const T* bias;  // [channels]
  std::int64_t channels, row_elements;
  template <int kCount>
  __device__ void operator()(float (&out)[kCount], const float (&x)[kCount], const float (&)[kCount],
                             std::int64_t first) const {
    // A 64-bit remainder costs more than the memory traffic; few tensors need it.
    std::int64_t c = ((first | row_elements) >> 32) == 0
                         ? static_cast<std::uint32_t>(first) % static_cast<std::uint32_t>(row_elements)
                         : first % row_elements;
    if (row_elements % kCount == 0 && c + kCount <= channels) {
      const RegisterPack<T, kCount> of_pack = load_registers<kCount>(bias + c);
      for (int i = 0; i < kCount; ++i) out[i] = x[i] + element(of_pack, i);
      return;
    }
    for (int i = 0; i < kCount; ++i) {
      out[i] = c < channels ? x[i] + to_float(bias[c]) : 0;
      if (++c == row_elements) c = 0;
    }
  }
};

}  // namespace epochbench::cuda
