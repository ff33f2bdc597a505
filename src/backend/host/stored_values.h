// Converts between the values of a variable in memory and the floats that executables read and write.
#pragma once

#include <cstddef>
#include <span>

#include "epochbench/tensor.h"

namespace epochbench {

void store_values(std::byte* to, std::span<const float> values, DType dtype);  // 16-bit types round to nearest even
void load_values(std::span<float> values, const std::byte* from, DType dtype);

}  // namespace epochbench
