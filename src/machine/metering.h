// The meters of one run: read at the edges of each block of timed steps, and ten times per second within it by a thread of the
// parent, so that none of it runs in the process that takes the steps. The readings become the run's energy and the GPU's
// state.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "src/case/device_id.h"
#include "src/machine/energy.h"
#include "src/machine/gpu_state.h"
#include "src/machine/meters.h"
#include "src/result/result.h"

namespace epochbench {

// Often enough for the driver's own samples (every 1/6 s to 1 s) and for counters that wrap around within a minute, and rarely
// enough to cost every step less than 0.5 % (bench/meter_cost.cpp measures it).
inline constexpr double kMeterPeriodSeconds = 0.1;

class Metering {
 public:
  // For a run on `device`, with ranks on `gpus` GPUs starting there; the state is that of the first. `meters` must outlive this
  // object.
  Metering(const MachineMeters& meters, DeviceId device, int gpus = 1, double period_seconds = kMeterPeriodSeconds);
  ~Metering();
  Metering(const Metering&) = delete;
  Metering& operator=(const Metering&) = delete;

  void begin();                  // before a block of timed steps is requested
  void end(std::int64_t steps);  // after its answer has arrived

  // Fills in energy, the GPU's state and how busy it was. The run's timing, device and interference must be set. Ends the
  // thread.
  void fill(Run& run);

 private:
  bool reads_anything() const;
  std::vector<EnergyMeter*> energies() const;  // those that exist
  MeteredPart gpus_part() const;               // of all GPUs together
  void tick(double now);
  void watch();
  void stop();

  const MachineMeters& meters_;
  double period_seconds_;
  int gpu_index_;  // -1 on the CPU
  MachineMeters::Meter cpu_;
  std::vector<MachineMeters::Meter> gpus_;  // starting at gpu_index_
  std::shared_ptr<const NvmlCard> card_;

  std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  bool open_ = false, stopped_ = false;
  double next_tick_seconds_ = 0;
  std::vector<GpuSample> samples_;
  std::vector<TimedBlock> blocks_;
  std::thread watcher_;
};

}  // namespace epochbench
