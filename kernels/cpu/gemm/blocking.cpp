// Sizes of the caches: leaf 4 of cpuid ("deterministic cache parameters", Intel SDM volume 2A), which other vendors leave
// empty.
#include "kernels/cpu/gemm/blocking.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace epochbench::cpu::EPOCHBENCH_ISA {

Caches read_caches() {
  Caches caches{};
#if defined(__x86_64__)
  constexpr unsigned kEnd = 0, kInstructions = 2;  // types of a cache
  for (unsigned index = 0;; ++index) {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid_count(4, index, &eax, &ebx, &ecx, &edx) == 0 || (eax & 31u) == kEnd) break;
    const unsigned level = eax >> 5 & 7u;
    const std::int64_t ways = (ebx >> 22) + 1, partitions = (ebx >> 12 & 1023u) + 1, line = (ebx & 4095u) + 1;
    const std::int64_t bytes = ways * partitions * line * (std::int64_t{ecx} + 1);
    if (level == 1 && (eax & 31u) != kInstructions) {
      caches.l1_bytes = bytes;
      caches.l1_ways = ways;
    }
    if (level == 2) caches.l2_bytes = bytes;
  }
#endif
  return caches;
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
