// The times of an entry's nodes in several passes of a profile, and what is kept of them.
#pragma once

#include <vector>

#include "epochbench/backend.h"

namespace epochbench {

class PassTimes {
 public:
  PassTimes(std::size_t nodes, int passes);
  void add(std::size_t node, double seconds) { seconds_[node].push_back(seconds); }
  // Sets each node's seconds to the median of its passes. The fastest would be less than any step takes, as no step has all
  // its nodes at their fastest.
  void set_medians(std::vector<NodeTime>& nodes);

 private:
  std::vector<std::vector<double>> seconds_;  // by node, then pass
};

}  // namespace epochbench
