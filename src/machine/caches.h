// Sizes of the data caches: of one core's L1 and L2, and of one L3, as large as it is shared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace epochbench {

struct CacheSizes {
  std::optional<std::int64_t> l1d_bytes, l2_bytes, l3_bytes;
};

CacheSizes cache_sizes();                                   // from the kernel, else from the CPU itself
CacheSizes caches_of_kernel(const std::string& root = "");  // from /sys under `root`
CacheSizes caches_of_cpuid();                               // empty where there is no such instruction

}  // namespace epochbench
