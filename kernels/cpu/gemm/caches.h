// Sizes of the caches that block sizes depend on. Constants that assume a size without asking name it where they stand.
#pragma once

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

struct Caches {  // of a core; 0: unknown
  std::int64_t l1_bytes, l1_ways, l2_bytes;
};

// The registers of cpuid that describe one cache, as leaf 4 of Intel CPUs ("deterministic cache parameters", SDM volume 2A) and
// leaf 0x8000001D of AMD's ("cache topology information", APM volume 3) have them.
struct CacheRegisters {
  unsigned eax = 0, ebx = 0, ecx = 0;
};

// The caches that the registers describe. cache_registers(index): those of one cache; the list ends with a cache of type 0.
template <typename Registers>
static inline Caches described_caches(const Registers& cache_registers) {
  constexpr unsigned kEnd = 0, kInstructions = 2;  // types of a cache
  Caches caches{};
  for (unsigned index = 0;; ++index) {
    const CacheRegisters r = cache_registers(index);
    if ((r.eax & 31u) == kEnd) return caches;
    const unsigned level = r.eax >> 5 & 7u;
    const std::int64_t ways = (r.ebx >> 22) + 1, partitions = (r.ebx >> 12 & 1023u) + 1, line = (r.ebx & 4095u) + 1;
    const std::int64_t bytes = ways * partitions * line * (std::int64_t{r.ecx} + 1);
    if (level == 1 && (r.eax & 31u) != kInstructions) {
      caches.l1_bytes = bytes;
      caches.l1_ways = ways;
    }
    if (level == 2) caches.l2_bytes = bytes;
  }
}

// The caches of this CPU. Where they are unknown, as on aarch64: 32 KiB of L1 in 8 ways and 512 KiB of L2, as Zen 1 to 3 have.
const Caches& this_cpu_caches();

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
