// The median of plain numbers, as every comparison takes it; src/measure, which this room does not see, has its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace epochbench {

// Of an even number, the mean of the middle two. Precondition: at least one, and none that is no number.
inline double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace epochbench
