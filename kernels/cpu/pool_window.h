// The window of an output pixel of pooling, and the windows that cover an input pixel.
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

// The windows along one axis that cover pixel `at`: [begin, end). The pixel's position in a window is at + padding - window *
// stride.
static inline Range windows_over(std::int64_t at, std::int64_t window, std::int64_t stride, std::int64_t padding,
                                 std::int64_t windows) {
  const std::int64_t reach = at + padding, from = reach - window;  // from: windows that cover `at` start after it
  return {from < 0 ? 0 : from / stride + 1, reach < 0 ? 0 : min_of(reach / stride + 1, windows)};
}

template <int kNumber>
struct Count {
  static constexpr int value = kNumber;
};

// Calls body(rows, columns), each a Count: the numbers of windows if both are 1 or 2, so that loops know them; else 0.
template <typename Body>
static inline void with_windows(Range rows, Range columns, Body body) {
  const std::int64_t down = rows.end - rows.begin, across = columns.end - columns.begin;
  if (down == 1 && across == 1)
    body(Count<1>{}, Count<1>{});
  else if (down == 1 && across == 2)
    body(Count<1>{}, Count<2>{});
  else if (down == 2 && across == 1)
    body(Count<2>{}, Count<1>{});
  else if (down == 2 && across == 2)
    body(Count<2>{}, Count<2>{});
  else
    body(Count<0>{}, Count<0>{});
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
