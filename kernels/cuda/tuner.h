// Choosing among a library's candidates for a problem: in bounded time, and holding two of them at most. It needs no device;
// how long a candidate takes is told by whoever has one (tuning.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace epochbench::cuda {

class Candidates {  // told apart by their index, the likeliest first
 public:
  virtual ~Candidates() = default;
  virtual std::int64_t count() const = 0;
  virtual void build(std::int64_t index) = 0;                      // errors: Error where it cannot be built
  virtual double seconds(std::int64_t index, double to_beat) = 0;  // when it is built. Errors: Error where it does not run
  virtual void release(std::int64_t index) noexcept = 0;           // whatever it holds; nothing of it is under way
};

struct TuningLimits {
  int candidates;         // that are timed, of one problem
  double seconds_of_one;  // problem: no other candidate is begun then
  double seconds_of_all;  // problems of a Tuner: from then on the first candidate that runs is taken
};

class Tuner {
 public:
  using Clock = std::function<double()>;  // in seconds

  explicit Tuner(const TuningLimits& limits, Clock clock = steady_seconds) : limits_(limits), clock_(std::move(clock)) {}

  // The index of the fastest, with all others released; empty where none runs, with the first one's `reason`.
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
