// The plans that the kernels for AVX-512 make for matrix products of floats, and the caches that they find. To be called on a
// CPU with AVX-512.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/shapes.h"

namespace epochbench::test {

struct Avx512Plan {
  std::int64_t k_blocks, kc, n_blocks, nc, k_blocks_per_stage, mc;
  bool pack_a, b_in_place;

  bool operator==(const Avx512Plan&) const = default;
};
Avx512Plan avx512_plan(const GemmShape& shape, int threads, std::int64_t l1_bytes, std::int64_t l1_ways, std::int64_t l2_bytes);

struct CacheRegisters {  // eax, ebx and ecx of cpuid, which describe one cache
  unsigned eax, ebx, ecx;
};
struct CacheSizes {
  std::int64_t l1_bytes, l1_ways, l2_bytes;

  bool operator==(const CacheSizes&) const = default;
};
CacheSizes described_caches(const std::vector<CacheRegisters>& registers);

}  // namespace epochbench::test
