// Energy meters: what was drawn within windows of time, out of counters that go round and of readings of power.
// Here is the logic alone, over readings and their moments; rapl.h and nvml.h read the hardware.
#pragma once

#include <optional>
#include <string>

namespace epochbench {

// No CPU package and no card draws as much: a difference that would need more means that the counter was reset.
inline constexpr double kMostWatts = 5000;
// Counters are renewed in steps: RAPL's every millisecond, NVML's up to every 100 ms.
inline constexpr double kRenewalSeconds = 0.1;
// Power between two readings further apart than this is not known well enough to draw a line between them.
inline constexpr double kLongestPowerGapSeconds = 1;

struct Drawn {
  double joules = 0;
  std::optional<std::string> obstacle;  // why the joules mean nothing
};

// Moments (`now`, in seconds) never go back. Once there is an obstacle it stays.
class EnergyMeter {
 public:
  virtual ~EnergyMeter() = default;
  virtual void begin(double now) = 0;    // a window: what was drawn before does not count
  virtual void advance(double now) = 0;  // adds what was drawn since; often, and at the window's end
  virtual Drawn drawn() const = 0;       // in all windows so far
};

// The sum of a counter of joules that goes round after `range_joules` (unset: never). A counter that falls, or rises by more
// than kMostWatts allows, was reset; one that was not read for so long that it may have wrapped around unseen is an obstacle.
class CounterSum {
 public:
  explicit CounterSum(std::optional<double> range_joules) : range_joules_(range_joules) {}
  void begin(double now, double reading_joules);
  void advance(double now, double reading_joules);
  void fail(const std::string& obstacle);
  const Drawn& drawn() const { return drawn_; }

 private:
  std::optional<double> range_joules_;
  double last_seconds_ = 0, last_joules_ = 0;
  Drawn drawn_;
};

// Power integrated by the trapezoidal rule.
class PowerSum {
 public:
  void begin(double now, double watts);
  void advance(double now, double watts);
  void fail(const std::string& obstacle);
  const Drawn& drawn() const { return drawn_; }

 private:
  double last_seconds_ = 0, last_watts_ = 0;
  Drawn drawn_;
};

}  // namespace epochbench
