// Scratch and operands of the benchmarks: 64-byte aligned, every page touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "epochbench/philox.h"
#include "kernels/shapes.h"

namespace epochbench::bench {

inline float to_float(float x) { return x; }
inline float to_float(Bf16 x) {
  const std::uint32_t bits = static_cast<std::uint32_t>(x.bits) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}
inline void assign(float& y, float x) { y = x; }
inline void assign(Bf16& y, float x) {  // towards zero: for operands any rounding will do
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  y.bits = static_cast<std::uint16_t>(bits >> 16);
}

template <typename Real>
class Buffer {  // n numbers between -1 and 1
 public:
  explicit Buffer(std::int64_t n, std::uint64_t seed = 0) : n_(n) {
    data_.reset(static_cast<Real*>(::operator new (static_cast<std::size_t>(n) * sizeof(Real), std::align_val_t{64})));
    for (std::int64_t i = 0; i < n; i += 4) {
      const PhiloxBlock block = philox(seed, {static_cast<std::uint32_t>(i / 4), 0, 0, 0});
      for (std::int64_t j = i; j < n && j < i + 4; ++j)
        assign(data_.get()[j], static_cast<float>(2 * uniform01(block[static_cast<std::size_t>(j - i)]) - 1));
    }
  }
  static Buffer workspace(std::size_t bytes) { return Buffer(static_cast<std::int64_t>(bytes / sizeof(Real))); }
  Real* data() { return data_.get(); }
  std::int64_t size() const { return n_; }

 private:
  struct Free {
    void operator()(Real* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::int64_t n_;
  std::unique_ptr<Real, Free> data_;
};

}  // namespace epochbench::bench
