// The time that all cases of a run may take together.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "src/base/clock.h"
#include "src/base/units.h"

namespace epochbench {

class Budget {
 public:
  // Begins now. Without `seconds` it is never over.
  explicit Budget(std::optional<double> seconds, Clock clock = steady_seconds)
      : seconds_(seconds), clock_(std::move(clock)), start_(clock_()) {}

  bool over() const { return seconds_ && clock_() - start_ >= *seconds_; }

  // Why a case was skipped: "the budget of 1 h was over before this case began". Precondition: there is a budget.
  std::string reason(bool had_begun) const {
    return "the budget of " + format_seconds(*seconds_) + " was over before this case " + (had_begun ? "ended" : "began");
  }

 private:
  std::optional<double> seconds_;
  Clock clock_;
  double start_;
};

}  // namespace epochbench
