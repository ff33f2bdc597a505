// Energy: what was drawn within windows of time, out of counters that go round and of readings of power, and what a result
// states of it. Here is the logic alone, over readings and their moments; rapl.h and nvml.h read the hardware.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/result/result.h"

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

// The joules of all windows, from readings of one meter.
class EnergySum {
 public:
  virtual ~EnergySum() = default;
  void begin(double now, double reading);
  void advance(double now, double reading);
  void fail(const std::string& obstacle);  // the first one stays
  const Drawn& drawn() const { return drawn_; }

 protected:
  void add(double joules) { drawn_.joules += joules; }

 private:
  virtual void add_between(double elapsed, double before, double reading) = 0;

  double last_seconds_ = 0, last_reading_ = 0;
  Drawn drawn_;
};

// Of a counter of joules that goes round after `range_joules` (unset: never). A counter that falls, or rises by more than
// kMostWatts allows, was reset; one that was not read for so long that it may have wrapped around unseen is an obstacle.
class CounterSum final : public EnergySum {
 public:
  explicit CounterSum(std::optional<double> range_joules) : range_joules_(range_joules) {}

 private:
  void add_between(double elapsed, double before, double reading) override;
  std::optional<double> range_joules_;
};

// Of power, integrated by the trapezoidal rule.
class PowerSum final : public EnergySum {
  void add_between(double elapsed, double before, double reading) override;
};

// Shorter windows are below what a counter resolves: RAPL's is renewed every millisecond, NVML's every 20 to 100 ms (Yang,
// Adamek, Armour, "Part-time power measurements", SC 2024).
inline constexpr double kShortestCpuWindowSeconds = 0.1;
inline constexpr double kShortestGpuWindowSeconds = 0.5;

struct MeteredPart {
  Drawn drawn;  // or why the part has no meter, as its obstacle
  std::optional<double> idle_watts;
};

struct MeteredSteps {
  double window_seconds = 0;  // all blocks of timed steps, by the parent's clock
  MeteredPart cpu;
  std::optional<MeteredPart> gpu;    // of a run on a GPU
  std::vector<std::string> remarks;  // on how this machine's meters count
};

// Watts over the windows, and from them joules per epoch. A part is known or has a reason; the sum is known where all parts
// are. `cores`: of this machine. The run's timing, device and interference must be there.
Energy energy_of(const MeteredSteps& metered, const Run& run, std::optional<int> cores);

}  // namespace epochbench
