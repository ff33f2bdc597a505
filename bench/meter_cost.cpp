// Measures what reading the meters costs per step: one case whose metered and unmetered blocks of steps are interleaved.
//
//   epochbench_meter_cost EPOCHBENCH [POWERCAP [NVML BUS_ID]]
//
// The case is a small mlp on the CPU, in a process of the binary EPOCHBENCH; this process reads the meters, as `run` does. On a
// machine without counters, POWERCAP is a fake folder of domains (created if none is given) and NVML a fake library; reading
// those costs a file access or a call instead of a register access. Exits with 1 if the whole interval is above 0.5 %. This is
// not a kernel benchmark.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/statistics.h"
#include "src/machine/cgroup.h"
#include "src/machine/environment.h"
#include "src/machine/metering.h"
#include "src/worker/conversation.h"
#include "src/worker/protocol.h"

namespace epochbench {
namespace {

// Reads this many times as often as a run, so that the cost stands out from the noise; the cost of a run is smaller by this
// factor.
constexpr double kOversampling = 10;
constexpr double kTurnSeconds = 0.1;  // ten readings long, but short compared with changes of other load
constexpr int kTurns = 300;           // of each kind, so that the whole takes about a minute
constexpr int kWarmup = 20;
constexpr double kMaxCostPercent = 0.5;  // of a step

CaseSpec small_case() {
  CaseSpec spec;
  spec.model = find_model("mlp:width=64");
  spec.name = spec.model.name;
  spec.data = "digits";
  spec.batch = 64;
  spec.threads = default_threads();
  return spec;
}

// Two packages with constant counters.
std::string made_up_powercap() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("epochbench-powercap-" + std::to_string(getpid()));
  for (const char* number : {"0", "1"}) {
    const std::filesystem::path domain = folder / (std::string("intel-rapl:") + number);
    std::filesystem::create_directories(domain);
    std::ofstream(domain / "name") << "package-" << number << "\n";
    std::ofstream(domain / "max_energy_range_uj") << "262143328850\n";
    std::ofstream(domain / "energy_uj") << "1000000\n";
  }
  return folder.string();
}

class Turns {
 public:
  Turns(Conversation& conversation, const MachineMeters& meters, DeviceId device)
      : talk_(conversation), metering_(meters, device, kMeterPeriodSeconds / kOversampling) {
    const CaseSpec spec = small_case();
    talk_.prepare(spec, std::nullopt);
    talk_.ask({{"command", "begin_epoch"}, {"epoch", 0}}, "epoch");
    const StepBlock warm_up = steps(kWarmup);
    const double step = warm_up.wall_seconds / kWarmup;
    count_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(kTurnSeconds / step));
  }

  double seconds_per_step(bool metered) {
    if (metered) metering_.begin();
    double seconds = 0;
    for (std::int64_t left = count_; left > 0;) {
      const StepBlock block = steps(std::min(left, kBlockSteps));
      seconds += std::accumulate(block.step_seconds.begin(), block.step_seconds.end(), 0.0);
      left -= static_cast<std::int64_t>(block.step_seconds.size());
    }
    if (metered) metering_.end(count_);
    return seconds / static_cast<double>(count_);
  }

 private:
  StepBlock steps(std::int64_t count) {
    return from_message<StepBlock>(talk_.ask({{"command", "step"}, {"steps", count}}, "steps"));
  }
  Conversation& talk_;
  Metering metering_;
  std::int64_t count_ = 0;
};

int measure_cost(int argc, char** argv) {
  const std::string powercap = argc > 2 ? argv[2] : made_up_powercap();
  std::vector<GpuInfo> gpus(argc > 4 ? 1 : 0);
  MeterSources sources{powercap, argc > 3 ? argv[3] : kNvmlLibrary};
  if (argc > 4) gpus[0].pci_bus_id = argv[4];
  const MachineMeters meters(sources, gpus);
  for (const MeterInfo& meter : meters.list())
    std::printf("%s: %s\n", meter.name.c_str(), meter.obstacle ? meter.obstacle->c_str() : meter.measures.c_str());

  const std::function<bool()> never;
  const int threads = *small_case().threads;
  Conversation conversation(argv[1], openmp_settings(threads, topology(affinity_cpus()), cgroup_cpu_quota()), {}, never);
  Turns turns(conversation, meters, gpus.empty() ? DeviceId{} : cuda_device(0));
  std::vector<double> ratios, steps;
  for (int i = 0; i < kTurns; ++i) {  // alternates which kind is first
    const double first = turns.seconds_per_step(i % 2 == 0), second = turns.seconds_per_step(i % 2 != 0);
    ratios.push_back(i % 2 == 0 ? first / second : second / first);
    steps.push_back(i % 2 == 0 ? second : first);
  }
  const Interval interval = median_interval(ratios);
  const auto percent = [](double ratio) { return 100 * (ratio - 1) / kOversampling; };
  std::printf(
      "a step of %s takes %.4g ms; with the meters %.3f %% longer (95 %%: %.3f to %.3f %%): what reading them %g "
      "times as often costs, divided by that; median of %d turns\n",
      small_case().model.name.c_str(), 1e3 * median(steps), percent(median(ratios)), percent(interval.first),
      percent(interval.second), kOversampling, kTurns);
  if (argc <= 2) std::filesystem::remove_all(powercap);
  return percent(interval.first) > kMaxCostPercent ? 1 : 0;
}

}  // namespace
}  // namespace epochbench

int main(int argc, char** argv) try {
  if (argc < 2 || argc == 4) {
    std::fprintf(stderr, "usage: epochbench_meter_cost EPOCHBENCH [POWERCAP [NVML BUS_ID]]\n");
    return 2;
  }
  return epochbench::measure_cost(argc, argv);
} catch (const epochbench::CaseEnded& ended) {
  std::fprintf(stderr, "epochbench_meter_cost: %s\n", ended.message.c_str());
  return 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "epochbench_meter_cost: %s\n", error.what());
  return 1;
}
