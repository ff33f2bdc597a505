// What functions over bytes of images need for AVX2, besides their own loops: call them only where has_wide_vectors().
#pragma once

#if defined(__x86_64__)
#include <cstdint>

#include <immintrin.h>

// Without FMA, which would round differently.
#define EPOCHBENCH_WIDE __attribute__((target("avx2")))

namespace epochbench {

EPOCHBENCH_WIDE inline __m256i load_wide(const std::uint8_t* bytes) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
}

}  // namespace epochbench
#endif
