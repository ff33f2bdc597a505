// Not by sysconf: for AMD's shared L3 it returns sizes that no cache has.
#include "src/machine/caches.h"

#include "src/base/files.h"
#include "src/machine/system_files.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace epochbench {
namespace {

void set_level(CacheSizes& sizes, int level, std::int64_t bytes) {
  if (bytes <= 0) return;
  if (level == 1) sizes.l1d_bytes = bytes;
  if (level == 2) sizes.l2_bytes = bytes;
  if (level == 3) sizes.l3_bytes = bytes;
}

}  // namespace

CacheSizes caches_of_kernel(const std::string& root) {
  CacheSizes sizes;
  const int cpu = 0;
  for (int index = 0; index < 16; ++index) {
    const std::string folder =
        root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index) + "/";
    const auto level = read_number(folder + "level");
    const auto type = read_system_file(folder + "type"), size = read_system_file(folder + "size");
    if (!level || !type || !size) break;
    if (first_line(*type) == "Instruction") continue;
    const std::string text = first_line(*size);  // "32K", "8M"
    std::int64_t bytes = parse_number(text).value_or(0);
    if (!text.empty() && text.back() == 'K') bytes <<= 10;
    if (!text.empty() && text.back() == 'M') bytes <<= 20;
    set_level(sizes, static_cast<int>(*level), bytes);
  }
  return sizes;
}

CacheSizes caches_of_cpuid() {
  CacheSizes sizes;
#if defined(__x86_64__)
  // Intel's leaf 4, and AMD's 0x8000001D with the same layout.
  for (unsigned leaf : {0x8000001Du, 4u}) {
    for (unsigned index = 0; index < 16; ++index) {
      unsigned a = 0, b = 0, c = 0, d = 0;
      if (!__get_cpuid_count(leaf, index, &a, &b, &c, &d)) break;
      const unsigned type = a & 31, level = (a >> 5) & 7;
      if (type == 0) break;
      if (type == 2) continue;  // instructions
      const std::int64_t ways = (b >> 22) + 1, partitions = ((b >> 12) & 1023) + 1, line = (b & 4095) + 1,
                         sets = std::int64_t{c} + 1;
      set_level(sizes, static_cast<int>(level), ways * partitions * line * sets);
    }
    if (sizes.l1d_bytes) break;
  }
#endif
  return sizes;
}

CacheSizes cache_sizes() {
  const CacheSizes kernel = caches_of_kernel();
  return kernel.l1d_bytes ? kernel : caches_of_cpuid();
}

}  // namespace epochbench
