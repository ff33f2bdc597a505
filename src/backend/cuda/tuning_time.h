// Divides the time for timing algorithms among a program's layers in proportion to their cost, so that expensive layers get
// most of it.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace epochbench {

class TuningTime {
 public:
  TuningTime() = default;
  // costs: the total of the layers of each kind, in any unit.
  TuningTime(double seconds, std::map<std::string, double> costs)
      : seconds_left_(seconds), costs_(std::move(costs)), undecided_(costs_) {}

  // The time that decisions about this kind of layer may take: its share of the time left among all undecided kinds, so that
  // time that one kind does not need goes to the others. 0 for a layer without cost.
  double share(const std::string& layer) const {
    const auto found = costs_.find(layer);
    if (found == costs_.end() || found->second <= 0) return 0;
    double all = found->second;
    for (const auto& [other, cost] : undecided_)
      if (other != layer) all += cost;
    return std::max(0.0, seconds_left_) * found->second / all;
  }

  void decided(const std::string& layer, double seconds) {
    seconds_left_ -= seconds;
    undecided_.erase(layer);
  }

 private:
  double seconds_left_ = 0;
  std::map<std::string, double> costs_, undecided_;
};

}  // namespace epochbench
