// Reads the sizes of the caches from cpuid.
#include "kernels/cpu/gemm/caches.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

#if defined(__x86_64__)
constexpr unsigned kIntelLeaf = 4, kAmdLeaf = 0x8000001d;

CacheRegisters cache_registers(unsigned leaf, unsigned index) {
  CacheRegisters r;
  unsigned edx = 0;
  if (__get_cpuid_count(leaf, index, &r.eax, &r.ebx, &r.ecx, &edx) == 0) return {};
  return r;
}

// Whether the CPU has kAmdLeaf: its "topology extensions".
bool has_amd_leaf() {
  constexpr unsigned kFeatures = 0x80000001, kTopologyExtensions = 22;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(kFeatures, &eax, &ebx, &ecx, &edx) != 0 && (ecx >> kTopologyExtensions & 1) != 0;
}
#endif

Caches read_caches() {
  Caches caches{};
#if defined(__x86_64__)
  caches = described_caches([](unsigned index) { return cache_registers(kIntelLeaf, index); });
  if (caches.l2_bytes == 0 && has_amd_leaf())
    caches = described_caches([](unsigned index) { return cache_registers(kAmdLeaf, index); });
#endif
  if (caches.l1_bytes == 0 || caches.l2_bytes == 0) caches = {32 * 1024, 8, 512 * 1024};
  return caches;
}

}  // namespace

const Caches& this_cpu_caches() {
  static const Caches caches = read_caches();
  return caches;
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
