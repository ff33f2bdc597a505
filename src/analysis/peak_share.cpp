#include "src/analysis/peak_share.h"

#include <algorithm>
#include <cmath>

#include "src/analysis/series.h"
#include "src/figures/figure.h"

namespace epochbench {

CpuPeaks::CpuPeaks(const Result& result) : machine_threads_(result.context.cpu.peak_threads.value_or(0)) {
  const auto add_all = [&](const auto& peaks) {
    for (const auto& [precision, peak] : peaks) add(precision, machine_threads_, peak);
  };
  add_all(result.context.cpu.peak_flops_per_second);
  for (const PeakProcess& process : result.context.cpu.peak_processes) add_all(process.peak_flops_per_second);
  for (const Run& run : result.runs)
    if (const auto threads = cpu_threads(run); run.turns && threads && !runs_on_gpu(run))
      add(name(product_precision(run)), *threads, run.turns->peak_flops_per_second);
}

std::optional<CpuPeak> CpuPeaks::of(const Run& run, Precision precision) const {
  const auto threads = cpu_threads(run);
  const auto own = threads ? find(precision, *threads) : std::nullopt;
  return own ? own : of_machine(precision);
}

std::optional<CpuPeak> CpuPeaks::find(Precision precision, int threads) const {
  const double* best = find_value(best_, std::pair(std::string(name(precision)), threads));
  return best ? std::optional(CpuPeak{*best, threads}) : std::nullopt;
}

void CpuPeaks::add(const std::string& precision, int threads, const std::optional<double>& flops_per_second) {
  if (!flops_per_second || !std::isfinite(*flops_per_second) || *flops_per_second <= 0) return;
  double& best = best_[{precision, threads}];
  best = std::max(best, *flops_per_second);
}

void use_best_peaks(Result& result) {
  const CpuPeaks peaks(result);
  CpuInfo& cpu = result.context.cpu;
  bool higher = false;
  const auto raise = [&](std::optional<double>& value, double best) {
    if (value.value_or(0) >= best) return;
    value = best;
    higher = true;
  };
  for (const Precision precision : kCpuPeaks)
    if (const auto best = peaks.of_machine(precision))
      raise(cpu.peak_flops_per_second[name(precision)], best->flops_per_second);
  for (const PeakProcess& process : cpu.peak_processes)
    raise(cpu.memory_bandwidth_bytes_per_second, process.memory_bandwidth_bytes_per_second.value_or(0));
  for (Run& run : result.runs) {
    if (!run.efficiency || runs_on_gpu(run)) continue;
    if (higher) {  // they followed from lower ones
      run.efficiency->bound_seconds.reset();
      run.efficiency->roofline_seconds.reset();
      run.efficiency->launched_roofline_seconds.reset();
    }
    if (const auto peak = peaks.of(run, product_precision(run)))
      run.efficiency->peak_fraction = run.efficiency->flops_per_second / peak->flops_per_second;
  }
}

bool exceeds_peak(const Run& run) {
  constexpr double kShown = 1.0005;  // less is 100.0 %
  return recorded<&Run::efficiency, &Efficiency::peak_fraction>(run).value_or(0) > kShown;
}

}  // namespace epochbench
