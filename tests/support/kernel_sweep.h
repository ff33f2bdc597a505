// Runs a check with the kernels of every instruction set that this CPU has, and with several team sizes.
#pragma once

#include <cstring>
#include <span>
#include <string>

#include "kernels/cpu/kernels.h"
#include "tests/support/compare.h"

namespace epochbench::test {

// check(kernels, threads); `what` names the case in a failure.
template <typename Check>
void for_each_kernels(const std::string& what, Check check) {
  for (cpu::Isa isa : cpu::kIsas) {
    if (!cpu::available(isa)) continue;
    for (int threads : {1, 2, 3, 5}) {
      const cpu::Kernels& kernels = cpu::kernels(isa);
      SCOPED_TRACE(what + " " + kernels.isa + " threads=" + std::to_string(threads));
      check(kernels, threads);
    }
  }
}

// Scratch of exactly the size that the kernels ask for, full of NaN.
inline GuardedBuffer<float> reduction_workspace(const cpu::Kernels& kernels, std::int64_t channels, int threads) {
  return GuardedBuffer<float>(static_cast<std::int64_t>(kernels.reduction_workspace_bytes(channels, threads) / sizeof(float)));
}

inline double max_abs(std::span<const float> values) {
  double largest = 0;
  for (float value : values) largest = std::max(largest, std::fabs(static_cast<double>(value)));
  return largest;
}

inline bool bit_equal(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace epochbench::test
