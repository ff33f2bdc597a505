// Adds the time until its destruction to a sum.
#pragma once

#include "src/base/clock.h"

namespace epochbench {

class Timed {
 public:
  explicit Timed(double& seconds) : seconds_(seconds) {}
  ~Timed() { seconds_ += steady_seconds() - begin_; }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  double& seconds_;
  const double begin_ = steady_seconds();
};

}  // namespace epochbench
