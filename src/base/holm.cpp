#include "src/base/holm.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace epochbench {

Rejections holm(std::span<const double> p_values, double error) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  Rejections rejections{std::vector<bool>(p_values.size()), error};
  for (std::size_t place = 0; place < order.size(); ++place) {
    rejections.level = error / static_cast<double>(order.size() - place);
    if (p_values[order[place]] > rejections.level) break;
    rejections.rejected[order[place]] = true;
  }
  return rejections;
}

}  // namespace epochbench
