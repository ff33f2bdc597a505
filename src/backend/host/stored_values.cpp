#include "src/backend/host/stored_values.h"

#include <algorithm>

#include "kernels/reference/kernels.h"
#include "src/backend/host/kernel_shapes.h"

namespace epochbench {

void store_values(std::byte* to, std::span<const float> values, DType dtype) {
  if (dtype == DType::i32)
    std::copy(values.begin(), values.end(), reinterpret_cast<std::int32_t*>(to));
  else if (dtype == DType::i8)
    std::copy(values.begin(), values.end(), reinterpret_cast<std::int8_t*>(to));
  else
    reference::cast(to, values.data(), element_of(dtype), Element::f32, static_cast<std::int64_t>(values.size()));
}

void load_values(std::span<float> values, const std::byte* from, DType dtype) {
  if (dtype == DType::i32)
    std::copy_n(reinterpret_cast<const std::int32_t*>(from), values.size(), values.begin());
  else if (dtype == DType::i8)
    std::copy_n(reinterpret_cast<const std::int8_t*>(from), values.size(), values.begin());
  else
    reference::cast(values.data(), from, Element::f32, element_of(dtype), static_cast<std::int64_t>(values.size()));
}

}  // namespace epochbench
