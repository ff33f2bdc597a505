// Runs a check of CUDA kernels in every thread order and for every element type, and holds 16-bit tensors.
//
// The kernels are those compiled for the CPU (cuda_on_cpu.h) or, linked with cuda_kernel_sweep_gpu.cpp, those of a GPU: memory
// that a kernel accesses is therefore a DeviceBuffer or a Tensor, never a plain GuardedBuffer or a variable.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>

#include "kernels/cuda/kernels.h"
#include "kernels/shapes.h"
#include "tests/support/compare.h"
#include "tests/support/cuda_launch.h"

namespace epochbench::test {

struct DeviceMemory {  // the host can access it after a kernel; all launches are synchronous
  static void* allocate(std::size_t bytes);
  static void free(void* memory) noexcept;
  static bool holds(const void* address);  // on the CPU only
};
template <typename T>
using DeviceBuffer = GuardedBuffer<T, DeviceMemory>;

// The stream of the check's launches.
inline constexpr cuda::Stream kNoStream = nullptr;

// Runs check() in every thread order; once on a GPU, which has its own order, and under AddressSanitizer, for which other
// orders bring no other addresses.
bool on_gpu();
template <typename Check>
void for_each_order(const std::string& what, Check check) {
  struct Order {
    ThreadOrder order;
    const char* name;
  };
  for (const Order& of :
       {Order{ThreadOrder::forward, "forward"}, Order{ThreadOrder::reverse, "reverse"}, Order{ThreadOrder::random, "random"}}) {
    SCOPED_TRACE(what + " threads " + of.name);
    set_thread_order(of.order);
    check();
    if (on_gpu() || under_address_sanitizer()) break;
  }
  set_thread_order(ThreadOrder::forward);
}

inline const char* name_of(Element element) {
  return element == Element::f32 ? "fp32" : element == Element::bf16 ? "bf16" : "fp16";
}

// Runs check(element) for every type.
template <typename Check>
void for_each_element(const std::string& what, Check check) {
  for (Element element : {Element::f32, Element::bf16, Element::f16}) {
    SCOPED_TRACE(what + " " + name_of(element));
    check(element);
  }
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
