// Selects among a library's candidates for a problem: in bounded time, and with at most two candidates built. It needs no
// device; the Candidates measure the time (tuning.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace epochbench::cuda {

class Candidates {  // identified by index, the most promising first
 public:
  virtual ~Candidates() = default;
  virtual std::int64_t count() const = 0;
  virtual void build(std::int64_t index) = 0;                      // throws Error if it cannot be built
  virtual double seconds(std::int64_t index, double to_beat) = 0;  // of a built candidate; throws Error if it does not run
  virtual void release(std::int64_t index) noexcept = 0;           // releases all its resources; it is not running
};

struct TuningLimits {
  int candidates;         // maximum number timed per problem
  double seconds_of_one;  // time limit per problem: no other candidate is started after it
  double seconds_of_all;  // time limit of a Tuner: after it, the first candidate that runs is selected
};

class Tuner {
 public:
  using Clock = std::function<double()>;  // in seconds

  explicit Tuner(const TuningLimits& limits, Clock clock = steady_seconds) : limits_(limits), clock_(std::move(clock)) {}

  // The index of the fastest, with all others released; empty if none runs: `reason` is then the error of the first.
  std::optional<std::int64_t> fastest(Candidates& candidates, std::string& reason);

 private:
  static double steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  TuningLimits limits_;
  Clock clock_;
  double spent_seconds_ = 0;
};

}  // namespace epochbench::cuda
