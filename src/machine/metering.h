// The meters of one run: read at the edges of each block of timed steps, and ten times per second within it by a thread of the
// parent, so that nothing of it is in the step's own process. What they read becomes the run's energy and the GPU's state.
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

// Often enough for the driver's own samples (every 1/6 s to 1 s) and for counters that go round within a minute, and rare
// enough to cost no step 0.5 % (bench/meter_cost.cpp measures it).
inline constexpr double kMeterPeriodSeconds = 0.1;

class Metering {
 public:
  // Of a run on `device`. The meters are referred to, and must live as long.
  Metering(const MachineMeters& meters, DeviceId device, double period_seconds = kMeterPeriodSeconds);
  ~Metering();
  Metering(const Metering&) = delete;
  Metering& operator=(const Metering&) = delete;

  void begin();                  // a block of timed steps is about to be asked for
  void end(std::int64_t steps);  // it is there

  // Energy, the GPU's state and how busy it was. The run's timing, device and interference must be there. Ends the thread.
  void fill(Run& run);

 private:
  bool reads_anything() const { return cpu_.energy || gpu_.energy || card_; }
  void tick(double now);
  void watch();
  void stop();

  const MachineMeters& meters_;
  double period_seconds_;
  int gpu_index_;  // -1 on the CPU
  MachineMeters::Meter cpu_, gpu_;
  std::shared_ptr<const NvmlCard> card_;

  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  bool open_ = false, stopped_ = false;
  double next_tick_seconds_ = 0;
  std::vector<GpuSample> samples_;
  std::vector<TimedBlock> blocks_;
  std::thread watcher_;
};

}  // namespace epochbench
