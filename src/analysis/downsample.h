// Which samples of a long series a chart shows: extremes stay, so that no spike is lost to drawing.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace epochbench {

struct Downsampled {
  std::size_t every = 1;             // 1: all are kept; k: of each k in a row the minimum and the maximum
  std::vector<std::size_t> indices;  // of those that are kept, ascending
};

// At most `most` of the values, an even number of at least 2; k is the smallest that fits. A value that is not finite is kept
// where it stands among k of its kind.
Downsampled downsample(std::span<const double> values, std::size_t most);

}  // namespace epochbench
