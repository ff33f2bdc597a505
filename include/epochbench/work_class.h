// The kind of work that a graph node mainly does, by the part of it that computes most.
#pragma once

#include <cstdint>

namespace epochbench {

enum class WorkClass : std::uint8_t { product, convolution, depthwise, recurrent, pass };  // pass: moves data only

}  // namespace epochbench
