// What kernel tests share: buffers with guard bands, reproducible random values, comparison within a stated tolerance.
// Independent of kernels and graphs.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include "epochbench/philox.h"
#include "kernels/shapes.h"
#include "tests/support/sanitizers.h"

namespace epochbench::test {

inline constexpr std::align_val_t kBufferAlignment{64};

struct HostMemory {
  static void* allocate(std::size_t bytes) { return ::operator new(bytes, kBufferAlignment); }
  static void free(void* memory) noexcept { ::operator delete(memory, kBufferAlignment); }
};

// n elements of Memory, 64-byte aligned, between two bands that a kernel must not touch: guards_intact() detects writes
// there, and AddressSanitizer also reads. Elements start as NaN (integers: a pattern), so an unwritten one shows.
template <typename T, typename Memory = HostMemory>
class GuardedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit GuardedBuffer(std::int64_t n) : n_(n), raw_(static_cast<std::byte*>(Memory::allocate(total()))) {
    std::memset(raw_, kSentinel, total());
    poison();
    guard();
  }
  GuardedBuffer(const GuardedBuffer& other) : GuardedBuffer(other.n_) { std::copy(other.begin(), other.end(), begin()); }
  GuardedBuffer(GuardedBuffer&& other) noexcept : n_(std::exchange(other.n_, 0)), raw_(std::exchange(other.raw_, nullptr)) {}
  GuardedBuffer& operator=(GuardedBuffer other) noexcept {
    std::swap(n_, other.n_);
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~GuardedBuffer() {
    if (raw_ == nullptr) return;
    unguard();
    Memory::free(raw_);
  }

  T* data() { return reinterpret_cast<T*>(raw_ + kBand); }
  const T* data() const { return reinterpret_cast<const T*>(raw_ + kBand); }
  std::size_t size() const { return static_cast<std::size_t>(n_); }
  T* begin() { return data(); }
  T* end() { return data() + n_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + n_; }
  T& operator[](std::int64_t i) { return data()[i]; }
  const T& operator[](std::int64_t i) const { return data()[i]; }

  void poison() {
    if constexpr (std::is_floating_point_v<T>)
      std::fill(begin(), end(), std::numeric_limits<T>::quiet_NaN());
    else if constexpr (std::is_same_v<T, Bf16>)
      std::fill(begin(), end(), Bf16{0x7fc0});
    else
      std::memset(raw_ + kBand, kSentinel, payload());
  }

  testing::AssertionResult guards_intact() const {
    unguard();
    std::ptrdiff_t touched = -1;
    for (std::size_t i = 0; i < total() && touched < 0; ++i) {
      if (i == kBand) i += payload();
      if (raw_[i] != std::byte{kSentinel}) touched = static_cast<std::ptrdiff_t>(i);
    }
    guard();
    if (touched < 0) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "byte " << touched - static_cast<std::ptrdiff_t>(kBand) << " of a buffer of "
                                       << payload() << " bytes was written";
  }

 private:
  static constexpr std::size_t kBand = 256;  // bytes: four AVX-512 vectors
  static constexpr unsigned char kSentinel = 0xA5;

  std::size_t payload() const { return static_cast<std::size_t>(n_) * sizeof(T); }
  std::size_t total() const { return payload() + 2 * kBand; }
  void guard() const {
    poison_memory(raw_, kBand);
    poison_memory(raw_ + kBand + payload(), kBand);
  }
  void unguard() const { unpoison_memory(raw_, total()); }

  std::int64_t n_;
  std::byte* raw_;
};

// Uniform in (low, high): the same for the same seed on every platform.
inline void fill_uniform(std::span<float> values, std::uint64_t seed, double low = -1, double high = 1) {
  float* to = values.data();  // tests are not optimized: an element of a span is a call
  const std::size_t n = values.size();
  for (std::size_t i = 0; i < n; i += 4) {
    const PhiloxBlock block = philox(seed, {static_cast<std::uint32_t>(i / 4), 0, 0, 0});
    const std::uint32_t* const bits = block.data();
    for (std::size_t j = 0; j < 4 && i + j < n; ++j) *to++ = static_cast<float>(low + (high - low) * uniform01(bits[j]));
  }
}

inline GuardedBuffer<float> random_floats(std::int64_t n, std::uint64_t seed, double low = -1, double high = 1) {
  GuardedBuffer<float> values(n);
  fill_uniform(values, seed, low, high);
  return values;
}

// Few distinct values: many windows have equal maxima. All negative: padding must not be the maximum.
inline GuardedBuffer<float> ties(std::int64_t n) {
  GuardedBuffer<float> x = random_floats(n, 1, -4, 0);
  for (float& value : x) value = std::floor(value);
  return x;
}

inline double max_abs(std::span<const float> values) {
  double largest = 0;
  for (float value : values) largest = std::max(largest, std::fabs(static_cast<double>(value)));
  return largest;
}

inline constexpr double kEps = FLT_EPSILON;

// |actual - expected| <= relative * |expected| + absolute.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};
inline constexpr Tolerance kExact{};

// For a float sum of `terms` products of magnitude up to `magnitude` each: rounding errors add up like a random walk, that is
// sqrt(terms) of them, with a margin of 8; plus one rounding of the result.
inline Tolerance sum_tolerance(double terms, double magnitude) {
  return {kEps, 8 * kEps * std::sqrt(std::max(terms, 1.0)) * magnitude};
}

// For a mean of up to `terms` numbers of magnitude up to 1, computed by way of reciprocals.
inline Tolerance mean_tolerance(double terms) {
  Tolerance mean = sum_tolerance(terms, 1);
  mean.relative += 4 * kEps;
  return mean;
}

// Adds a failure with the number of differing elements and the values of the worst one. A NaN is never close. The place is the
// caller's; clang 14 has no std::source_location.
inline void expect_close(std::span<const float> actual, std::span<const float> expected, Tolerance tolerance,
                         const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (actual.size() != expected.size()) {
    ADD_FAILURE_AT(file, line) << "sizes differ: " << actual.size() << " and " << expected.size();
    return;
  }
  const float *const of_actual = actual.data(), *const of_expected = expected.data();
  const std::size_t n = actual.size();
  std::size_t off = 0, worst = 0;
  double worst_excess = -1;
  for (std::size_t i = 0; i < n; ++i) {
    const double a = of_actual[i], e = of_expected[i];
    if (a == e) continue;
    const double error = std::fabs(a - e), allowed = tolerance.relative * std::fabs(e) + tolerance.absolute;
    if (error <= allowed) continue;
    const double excess = std::isnan(error) ? std::numeric_limits<double>::infinity() : error - allowed;
    if (off++ == 0 || excess > worst_excess) {
      worst = i;
      worst_excess = excess;
    }
  }
  if (off == 0) return;
  const double e = expected[worst];
  ADD_FAILURE_AT(file, line) << off << " of " << actual.size() << " elements differ; the worst is [" << worst
                             << "]: " << actual[worst] << ", expected " << e << " within "
                             << tolerance.relative * std::fabs(e) + tolerance.absolute;
}

}  // namespace epochbench::test
