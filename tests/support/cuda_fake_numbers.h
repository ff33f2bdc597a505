// The numbers that simulated libraries read and write: stored values as floats and back, and the scratch of a plan.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "tests/support/cuda_kernel_sweep.h"

namespace epochbench::test {

using Floats = std::vector<float>;

inline std::size_t count(std::initializer_list<std::int64_t> extents) {
  std::int64_t product = 1;
  for (std::int64_t extent : extents) product *= extent;
  return static_cast<std::size_t>(product);
}

// Rounds to 10 bits of mantissa, to nearest even.
inline float to_tf32(float value) {
  if (!std::isfinite(value)) return value;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0xfff + ((bits >> 13) & 1)) & ~0x1fffu);
}

inline Floats load(const void* from, std::size_t n, Element element, bool tf32 = false) {
  Floats values(n);
  if (element == Element::f32)
    std::memcpy(values.data(), from, n * sizeof(float));
  else
    std::transform(static_cast<const std::uint16_t*>(from), static_cast<const std::uint16_t*>(from) + n, values.begin(),
                   [=](std::uint16_t bits) { return from_bits(bits, element); });
  if (element == Element::f32 && tf32) std::transform(values.begin(), values.end(), values.begin(), to_tf32);
  return values;
}

inline void store(void* to, const Floats& values, Element element) {
  if (element == Element::f32)
    std::memcpy(to, values.data(), values.size() * sizeof(float));
  else
    std::transform(values.begin(), values.end(), static_cast<std::uint16_t*>(to),
                   [=](float value) { return to_bits(value, element); });
}

// A row-major matrix whose rows have row_elements in memory; 0: as many as columns.
inline Floats load_rows(const void* from, std::size_t rows, std::size_t columns, std::int64_t row_elements, Element element,
                        bool tf32 = false) {
  if (row_elements == 0) return load(from, rows * columns, element, tf32);
  Floats values;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t first = row * static_cast<std::size_t>(row_elements);
    const Floats one =
        load(static_cast<const std::byte*>(from) + first * static_cast<std::size_t>(bytes_of(element)), columns, element, tf32);
    values.insert(values.end(), one.begin(), one.end());
  }
  return values;
}

inline void store_rows(void* to, const Floats& values, std::size_t columns, std::int64_t row_elements, Element element) {
  if (row_elements == 0) return store(to, values, element);
  for (std::size_t row = 0; row * columns < values.size(); ++row) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * columns);
    store(static_cast<std::byte*>(to) +
              row * static_cast<std::size_t>(row_elements) * static_cast<std::size_t>(bytes_of(element)),
          Floats(begin, begin + static_cast<std::ptrdiff_t>(columns)), element);
  }
}

inline void fill_with_nan(void* memory, std::size_t bytes) { std::memset(memory, 0xff, bytes); }

inline void use_workspace(void* workspace, std::size_t bytes) {
  constexpr std::size_t kEnd = 64;
  fill_with_nan(workspace, kEnd);
  fill_with_nan(static_cast<std::byte*>(workspace) + bytes - kEnd, kEnd);
}

inline std::size_t bytes(std::size_t n, Element element) { return n * static_cast<std::size_t>(bytes_of(element)); }

}  // namespace epochbench::test
