#include "src/analysis/downsample.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace epochbench {

Downsampled downsample(std::span<const double> values, std::size_t most) {
  Downsampled kept;
  if (values.size() <= most) {
    kept.indices.resize(values.size());
    std::iota(kept.indices.begin(), kept.indices.end(), std::size_t{0});
    return kept;
  }
  const std::size_t blocks = most / 2;
  kept.every = (values.size() + blocks - 1) / blocks;
  for (std::size_t begin = 0; begin < values.size(); begin += kept.every) {
    const std::size_t end = std::min(begin + kept.every, values.size());
    std::size_t least = begin, greatest = begin;
    for (std::size_t i = begin + 1; i < end; ++i) {
      if (!std::isfinite(values[i])) continue;
      if (!std::isfinite(values[least]) || values[i] < values[least]) least = i;
      if (!std::isfinite(values[greatest]) || values[i] > values[greatest]) greatest = i;
    }
    kept.indices.push_back(std::min(least, greatest));
    if (least != greatest) kept.indices.push_back(std::max(least, greatest));
  }
  return kept;
}

}  // namespace epochbench
