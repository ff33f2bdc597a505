#include "src/backend/host/pass_times.h"

#include <algorithm>

namespace epochbench {

PassTimes::PassTimes(std::size_t nodes, int passes) : seconds_(nodes) {
  for (auto& times : seconds_) times.reserve(static_cast<std::size_t>(passes));
}

void PassTimes::set_medians(std::vector<NodeTime>& nodes) {
  for (std::size_t node = 0; node < seconds_.size(); ++node) {
    std::vector<double>& times = seconds_[node];
    if (times.empty()) continue;
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    const double above = *middle;
    const double below = times.size() % 2 == 1 ? above : *std::max_element(times.begin(), middle);
    nodes[node].seconds = (below + above) / 2;
  }
}

}  // namespace epochbench
