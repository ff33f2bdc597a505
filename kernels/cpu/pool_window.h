// The window of an output pixel of pooling.
#pragma once

#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// The pixels of a window that are inside the image: its rows [first_row, last_row), and columns likewise.
struct Window {
  std::int64_t first_row, last_row, first_column, last_column;
};

static inline Window clip(const PoolShape& s, std::int64_t oy, std::int64_t ox) {
  const std::int64_t top = oy * s.stride - s.padding, left = ox * s.stride - s.padding;
  return {max_of(0, -top), min_of(s.window, s.height - top), max_of(0, -left), min_of(s.window, s.width - left)};
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
