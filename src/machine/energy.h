// Energy drawn within windows of time, from counters that wrap around and from power readings, and what a result states about
// it. This is only the logic, over readings and their times; rapl.h and nvml.h read the hardware.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/result/result.h"

namespace epochbench {

// More than any CPU package or card draws: a difference that would need more means that the counter was reset.
inline constexpr double kMaxWatts = 5000;
// Counters are updated in steps: RAPL's every millisecond, NVML's up to every 100 ms.
inline constexpr double kRenewalSeconds = 0.1;
// Power is not interpolated between readings further apart than this.
inline constexpr double kLongestPowerGapSeconds = 1;

struct Drawn {
  double joules = 0;
  std::optional<std::string> obstacle;  // why the joules are meaningless
};

// Times (`now`, in seconds) never decrease. Once set, an obstacle stays.
class EnergyMeter {
 public:
  virtual ~EnergyMeter() = default;
  virtual void begin(double now) = 0;    // starts a window; what was drawn before does not count
  virtual void advance(double now) = 0;  // adds what was drawn since; call it often, and at the window's end
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

// Sums a counter of joules that wraps around after `range_joules` (unset: never). A counter that falls, or rises by more than
// kMaxWatts allows, was reset; one not read for so long that it may have wrapped around unnoticed is an obstacle.
class CounterSum final : public EnergySum {
 public:
  explicit CounterSum(std::optional<double> range_joules) : range_joules_(range_joules) {}

 private:
  void add_between(double elapsed, double before, double reading) override;
  std::optional<double> range_joules_;
};

// Integrates power by the trapezoidal rule.
class PowerSum final : public EnergySum {
  void add_between(double elapsed, double before, double reading) override;
};

// Shorter windows are below the resolution of the counters: RAPL's is updated every millisecond, NVML's every 20 to 100 ms
// (Yang, Adamek, Armour, "Part-time power measurements", SC 2024).
inline constexpr double kShortestCpuWindowSeconds = 0.1;
inline constexpr double kShortestGpuWindowSeconds = 0.5;

struct MeteredPart {
  Drawn drawn;  // or why the part has no meter, as its obstacle
  std::optional<double> idle_watts;
};

struct MeteredSteps {
  double window_seconds = 0;  // all blocks of timed steps, by the parent's clock
  MeteredPart cpu;
  bool cpu_includes_memory = false;
  std::optional<MeteredPart> gpu;    // only for a run on a GPU
  std::vector<std::string> remarks;  // on how this machine's meters count
};

// Average watts over the windows, and from them joules per epoch. Each part is known or has a reason; the sum is known if all
// parts are. `cores`: of this machine. The run's timing, device and interference must be set.
Energy energy_of(const MeteredSteps& metered, const Run& run, std::optional<int> cores);

}  // namespace epochbench
