// Scratch and operands of the benchmarks, allocated like the CPU backend's arena: huge pages if the system provides them, every
// page touched.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "epochbench/philox.h"
#include "kernels/shapes.h"
#include "src/backend/host/host_memory.h"

namespace epochbench::bench {

inline float to_float(float x) { return x; }
inline float to_float(Bf16 x) {
  const std::uint32_t bits = static_cast<std::uint32_t>(x.bits) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}
inline void assign(float& y, float x) { y = x; }
inline void assign(Bf16& y, float x) {  // toward zero: operands may be rounded in any way
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  y.bits = static_cast<std::uint16_t>(bits >> 16);
}

template <typename Real>
class Buffer {  // n numbers between -1 and 1
 public:
  explicit Buffer(std::int64_t n, std::uint64_t seed = 0) : n_(n), memory_(static_cast<std::size_t>(n) * sizeof(Real)) {
    // Values repeat with period kPeriod, a prime: rows and columns still differ, and large operands are filled faster.
    constexpr std::int64_t kPeriod = 1000003;
    for (std::int64_t i = 0; i < std::min(n, kPeriod); ++i) {
      const PhiloxBlock block = philox(seed, {static_cast<std::uint32_t>(i), 0, 0, 0});
      assign(data()[i], static_cast<float>(2 * uniform01(block[0]) - 1));
    }
    for (std::int64_t i = kPeriod; i < n; i += kPeriod)
      std::memcpy(data() + i, data(), static_cast<std::size_t>(std::min(kPeriod, n - i)) * sizeof(Real));
  }
  static Buffer workspace(std::size_t bytes) { return Buffer(static_cast<std::int64_t>(bytes / sizeof(Real))); }
  Real* data() { return reinterpret_cast<Real*>(memory_.data()); }
  operator Real*() { return data(); }  // as an array's name does
  std::int64_t size() const { return n_; }

 private:
  std::int64_t n_;
  HostMemory memory_;
};

}  // namespace epochbench::bench
