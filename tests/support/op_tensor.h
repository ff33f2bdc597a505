// Tensors of any element type in memory that kernels of the device under test can access, for tests that run on several
// devices.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>

#include "kernels/shapes.h"
#include "tests/support/compare.h"

namespace epochbench::test {

// The host can access it after a kernel; all launches are synchronous. What a kernel accesses is therefore a DeviceBuffer or a
// Tensor, never a plain GuardedBuffer or a variable.
struct DeviceMemory {
  static void* allocate(std::size_t bytes);
  static void free(void* memory) noexcept;
  static bool holds(const void* address);  // on the CPU only
};
template <typename T>
using DeviceBuffer = GuardedBuffer<T, DeviceMemory>;

inline const char* name_of(Element element) {
  return element == Element::f32 ? "fp32" : element == Element::bf16 ? "bf16" : "fp16";
}

inline std::int64_t bytes_of(Element element) { return element == Element::f32 ? 4 : 2; }

// The largest relative error of rounding to `element`; for float as in compare.h.
inline double eps_of(Element element) { return element == Element::f32 ? kEps : element == Element::bf16 ? 0x1p-8 : 0x1p-11; }

// For a result computed in float within `computed` and then stored as `element`.
inline Tolerance stored(Element element, Tolerance computed) {
  if (element == Element::f32) return computed;
  const double eps = eps_of(element);
  return {computed.relative * (1 + eps) + eps,
          computed.absolute * (1 + eps) + (element == Element::f16 ? 0x1p-25 : 0)};  // half the spacing of fp16 subnormals
}

// Rounding to nearest even and back, independent of the conversions of the kernels.
std::uint16_t to_bits(float value, Element element);  // bf16 or f16
float from_bits(std::uint16_t bits, Element element);
inline float rounded(float value, Element element) {
  return element == Element::f32 ? value : from_bits(to_bits(value, element), element);
}

// n values stored as `element` between guard bands. All NaN until written.
class Tensor {
 public:
  Tensor(std::int64_t n, Element element) : element_(element), n_(n), bytes_(n * bytes_of(element)) { poison(); }
  Tensor(std::span<const float> values, Element element) : Tensor(static_cast<std::int64_t>(values.size()), element) {
    write(values);
  }

  void* data() { return bytes_.data(); }
  const void* data() const { return bytes_.data(); }
  std::int64_t size() const { return n_; }
  Element element() const { return element_; }
  testing::AssertionResult guards_intact() const { return bytes_.guards_intact(); }

  void poison() { std::memset(bytes_.data(), 0xff, bytes_.size()); }
  void write(std::span<const float> values);  // rounded to the element
  GuardedBuffer<float> floats() const;        // what is stored

 private:
  Element element_;
  std::int64_t n_;
  DeviceBuffer<std::uint8_t> bytes_;
};

inline Tensor random_tensor(std::int64_t n, Element element, std::uint64_t seed, double low = -1, double high = 1) {
  return Tensor(random_floats(n, seed, low, high), element);
}

// A DeviceBuffer with the same contents.
template <typename T>
DeviceBuffer<T> on_device(std::span<const T> values) {
  DeviceBuffer<T> buffer(static_cast<std::int64_t>(values.size()));
  std::copy(values.begin(), values.end(), buffer.begin());
  return buffer;
}
inline DeviceBuffer<float> random_device_floats(std::int64_t n, std::uint64_t seed, double low = -1, double high = 1) {
  return on_device<float>(random_floats(n, seed, low, high));
}

// Scratch memory of exactly this many bytes, full of NaN.
inline DeviceBuffer<float> scratch(std::size_t bytes) {
  return DeviceBuffer<float>(static_cast<std::int64_t>((bytes + 3) / 4));
}

inline bool bit_equal(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace epochbench::test
