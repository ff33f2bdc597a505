#include "src/machine/energy.h"

#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/result/load.h"

namespace epochbench {
namespace {

constexpr double kNoticeableResolution = 0.02;  // relative, of a GPU's energy, due to its counter's steps

struct Watts {
  std::optional<double> value;
  std::string reason;
};

Watts average_watts(const Drawn& drawn, double window_seconds, double shortest_seconds) {
  if (drawn.obstacle) return {std::nullopt, *drawn.obstacle};
  if (!(window_seconds >= shortest_seconds))
    return {std::nullopt, "the timed steps lasted " + short_number(window_seconds) + " s, and the meter needs " +
                              short_number(shortest_seconds) + " s: ask for --min-time 5"};
  if (!(drawn.joules > 0))
    return {std::nullopt, "the meter stood still for " + short_number(window_seconds) + " s, as in a virtual machine"};
  return {drawn.joules / window_seconds, ""};
}

std::optional<double> sum_of(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b ? std::optional(*a + *b) : std::nullopt;
}

// What a package's energy includes besides this run's.
void remark_on_the_package(Energy& energy, const Run& run, std::optional<int> cores) {
  if (const auto threads = cpu_threads(run); threads && cores && *threads < *cores)
    energy.remarks.push_back("the CPU's energy is that of all its " + std::to_string(*cores) + " cores, and this run used " +
                             std::to_string(*threads));
  const double foreign = run.interference ? run.interference->foreign_cpu_cores.value_or(0) : 0;
  if (is_loaded(run))
    energy.remarks.push_back("the CPU's energy includes that of other processes, which took " + short_number(foreign) +
                             " cores meanwhile");
}

EnergySource source_of(bool cpu, bool gpu) {
  if (cpu) return gpu ? EnergySource::rapl_and_nvml : EnergySource::rapl;
  return gpu ? EnergySource::nvml : EnergySource::unavailable;
}

}  // namespace

void EnergySum::begin(double now, double reading) {
  last_seconds_ = now;
  last_reading_ = reading;
}

void EnergySum::advance(double now, double reading) {
  const double elapsed = now - last_seconds_, before = last_reading_;
  begin(now, reading);
  if (!drawn_.obstacle) add_between(elapsed, before, reading);
}

void EnergySum::fail(const std::string& obstacle) {
  if (!drawn_.obstacle) drawn_.obstacle = obstacle;
}

void CounterSum::add_between(double elapsed, double before, double reading) {
  const double most = kMaxWatts * (elapsed + kRenewalSeconds);
  if (range_joules_ && most >= *range_joules_)
    return fail("the counter was not read for " + short_number(elapsed) + " s and may have wrapped around more than once");
  double joules = reading - before;
  if (joules < 0 && range_joules_) joules += *range_joules_;
  if (joules < 0 || joules > most)
    return fail("the counter was reset: it went from " + short_number(before) + " J to " + short_number(reading) +
                " J within " + short_number(elapsed) + " s");
  add(joules);
}

void PowerSum::add_between(double elapsed, double before, double reading) {
  if (elapsed > kLongestPowerGapSeconds) return fail("the power was not read for " + short_number(elapsed) + " s");
  add((reading + before) / 2 * elapsed);
}

Energy energy_of(const MeteredSteps& metered, const Run& run, std::optional<int> cores) {
  Energy energy;
  energy.remarks = metered.remarks;
  energy.window_seconds = metered.window_seconds;
  const double epoch_seconds = run.timing->epoch_seconds;
  const auto per_epoch = [&](const std::optional<double>& watts) {
    return watts ? std::optional(*watts * epoch_seconds) : std::nullopt;
  };

  const Watts cpu = average_watts(metered.cpu.drawn, metered.window_seconds, kShortestCpuWindowSeconds);
  energy.cpu_average_watts = energy.average_watts = cpu.value;
  energy.cpu_idle_watts = energy.idle_watts = metered.cpu.idle_watts;
  std::string reasons;
  if (cpu.value) {
    energy.cpu_includes_memory = metered.cpu_includes_memory;
    remark_on_the_package(energy, run, cores);
  }
  if (!cpu.value) append(reasons, "CPU: " + cpu.reason, "; ");
  if (metered.gpu) {
    const Watts gpu = average_watts(metered.gpu->drawn, metered.window_seconds, kShortestGpuWindowSeconds);
    energy.gpu_average_watts = gpu.value;
    energy.gpu_idle_watts = metered.gpu->idle_watts;
    energy.average_watts = sum_of(cpu.value, gpu.value);
    energy.idle_watts = sum_of(metered.cpu.idle_watts, metered.gpu->idle_watts);
    if (!gpu.value) append(reasons, "GPU: " + gpu.reason, "; ");
    if (gpu.value && kRenewalSeconds > kNoticeableResolution * metered.window_seconds)
      energy.remarks.push_back("the GPU's counter is renewed every 20 to 100 ms, and the timed steps lasted " +
                               short_number(metered.window_seconds) + " s: --min-time 5 makes its energy more certain");
  }
  energy.joules_per_epoch = per_epoch(energy.average_watts);
  energy.cpu_joules_per_epoch = per_epoch(energy.cpu_average_watts);
  energy.gpu_joules_per_epoch = per_epoch(energy.gpu_average_watts);
  energy.source = source_of(energy.cpu_average_watts.has_value(), energy.gpu_average_watts.has_value());
  if (!reasons.empty()) energy.reason = reasons;
  return energy;
}

}  // namespace epochbench
