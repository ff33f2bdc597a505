// The times of an entry's nodes in several passes of a profile.
#pragma once

#include <vector>

#include "epochbench/backend.h"
#include "src/base/statistics.h"

namespace epochbench {

class PassTimes {
 public:
  PassTimes(std::size_t nodes, int passes) : seconds_(nodes) {
    for (auto& times : seconds_) times.reserve(static_cast<std::size_t>(passes));
  }
  void add(std::size_t node, double seconds) { seconds_[node].push_back(seconds); }
  // Sets each node's seconds to the median of its passes. The sum of minima would be less than any step takes.
  void set_medians(std::vector<NodeTime>& nodes) const {
    for (std::size_t node = 0; node < seconds_.size(); ++node)
      if (!seconds_[node].empty()) nodes[node].seconds = median(seconds_[node]);
  }

 private:
  std::vector<std::vector<double>> seconds_;  // by node, then pass
};

}  // namespace epochbench
