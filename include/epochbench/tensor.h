// Element types, shapes and tensor descriptions: what a tensor is, without its data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace epochbench {

enum class DType : std::uint8_t { f32, bf16, f16, i32, u8, i8 };

std::size_t size_bytes(DType dtype);
const char* name(DType dtype);

// Row-major extents. Images are [batch, height, width, channels], convolution weights [out, height, width, in].
using Shape = std::vector<std::int64_t>;

std::int64_t element_count(const Shape& shape);
std::string to_string(const Shape& shape);  // "[64, 512]"

struct TensorDesc {
  Shape shape;
  DType dtype = DType::f32;

  std::int64_t elements() const { return element_count(shape); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_bytes(dtype); }
  bool operator==(const TensorDesc&) const = default;
};

std::string to_string(const TensorDesc& desc);  // "f32[64, 512]"

using ValueId = std::int32_t;  // a tensor in a graph
inline constexpr ValueId kNoValue = -1;

inline constexpr std::size_t kTensorAlignment = 64;  // bytes, a cache line: every tensor in memory begins at a multiple

}  // namespace epochbench
