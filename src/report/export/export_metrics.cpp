#include "src/report/export/export_metrics.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "src/analysis/cost/cost.h"
#include "src/report/text/summary.h"

namespace epochbench {
namespace {

using Number = std::optional<double>;

Number known(double value) { return std::isfinite(value) ? Number(value) : std::nullopt; }
Number known(const Number& value) { return value ? known(*value) : std::nullopt; }
Number known(const std::optional<std::int64_t>& value) { return value ? Number(static_cast<double>(*value)) : std::nullopt; }

// A member of a group that may be missing.
template <typename Group, typename Member>
Number member(const std::optional<Group>& group, Member Group::*value) {
  return group ? known((*group).*value) : std::nullopt;
}

// The quality after training, where it is measured in this way.
Number eval(const Run& run, const char* metric) {
  return run.quality && run.quality->eval_metric == metric ? known(run.quality->eval_value) : std::nullopt;
}

std::optional<std::pair<double, double>> step_interval(const Run& run) {
  if (!run.timing || run.timing->step_seconds.size() < kFewestStepsOfInterval || !run.timing->step_seconds_ci95)
    return std::nullopt;
  const auto [low, high] = *run.timing->step_seconds_ci95;
  if (!std::isfinite(low) || !std::isfinite(high)) return std::nullopt;
  return std::pair(low, high);
}

constexpr double kMebibyte = 1 << 20;

// What a tool alerts of must say the same of the same program. So `neither` are wall time, power and other processes' time,
// which depend on more than it; the loss after as many steps as the time allowed; and the wait for data, whose ratios mean
// nothing near zero.
constexpr ExportMetric kMetrics[] = {
    {"step_seconds_median", "step_seconds", "seconds", "step time, median", "ms", 1e3, Better::smaller,
     [](const Run& r) { return member(r.timing, &Timing::step_seconds_median); }, step_interval},
    {"epoch_seconds", "epoch_seconds", "seconds", "epoch time", "s", 1, Better::smaller,
     [](const Run& r) { return member(r.timing, &Timing::epoch_seconds); }},
    {"compile_seconds", "compile_seconds", "seconds", "compile time", "s", 1, Better::smaller,
     [](const Run& r) { return member(r.timing, &Timing::compile_seconds); }},
    {"wall_seconds", "wall_seconds", "seconds", "wall time with set-up and evaluation", "s", 1, Better::neither,
     [](const Run& r) { return member(r.timing, &Timing::wall_seconds); }},
    {"latency_p50_seconds", "latency_p50_seconds", "seconds", "latency, median", "ms", 1e3, Better::smaller,
     [](const Run& r) { return member(r.latency, &Latency::p50_seconds); }},
    {"latency_p99_seconds", "latency_p99_seconds", "seconds", "latency, 99th percentile", "ms", 1e3, Better::smaller,
     [](const Run& r) { return member(r.latency, &Latency::p99_seconds); }},
    {"samples_per_second", "samples_per_second", "samples_per_second", "throughput", "samples/s", 1, Better::bigger,
     [](const Run& r) { return member(r.throughput, &Throughput::samples_per_second); }},
    {"tokens_per_second", "tokens_per_second", "tokens_per_second", "tokens", "tokens/s", 1, Better::bigger,
     [](const Run& r) { return member(r.throughput, &Throughput::tokens_per_second); }},
    {"flops_per_second", "flops_per_second", "flops_per_second", "arithmetic", "GFLOP/s", 1e-9, Better::bigger,
     [](const Run& r) { return member(r.efficiency, &Efficiency::flops_per_second); }},
    {"peak_fraction", "peak_ratio", "ratio", "part of the measured peak", "%", 100, Better::bigger,
     [](const Run& r) { return member(r.efficiency, &Efficiency::peak_fraction); }},
    {"data_wait_fraction", "data_wait_ratio", "ratio", "part of the time that waits for data", "%", 100, Better::neither,
     [](const Run& r) { return member(r.efficiency, &Efficiency::data_wait_fraction); }},
    {"peak_bytes", "peak_memory_bytes", "bytes", "peak memory", "MiB", 1 / kMebibyte, Better::smaller,
     [](const Run& r) { return member(r.memory, &Memory::peak_bytes); }},
    {"foreign_cpu_cores", "foreign_cpu_cores", "cores", "CPU time of other processes", "cores", 1, Better::neither,
     [](const Run& r) { return member(r.interference, &Interference::foreign_cpu_cores); }},
    {"gpu_utilization", "gpu_utilization_ratio", "ratio", "GPU utilization", "%", 100, Better::neither,
     [](const Run& r) { return member(r.gpu, &GpuState::utilization); }},
    {"final_loss", "final_loss", "", "training loss, last", "", 1, Better::neither,
     [](const Run& r) { return member(r.quality, &Quality::final_loss); }},
    {"eval_loss", "eval_loss", "", "test loss", "", 1, Better::smaller, [](const Run& r) { return eval(r, "loss"); }},
    {"eval_accuracy", "eval_accuracy_ratio", "ratio", "test accuracy", "%", 100, Better::bigger,
     [](const Run& r) { return eval(r, "accuracy"); }},
    {"joules_per_epoch", "epoch_energy_joules", "joules", "energy an epoch", "J", 1, Better::smaller,
     [](const Run& r) { return member(r.energy, &Energy::joules_per_epoch); }},
    {"average_watts", "average_power_watts", "watts", "power, average", "W", 1, Better::neither,
     [](const Run& r) { return member(r.energy, &Energy::average_watts); }},
    {"usd_per_epoch", "epoch_cost_usd", "usd", "cost an epoch", "USD", 1, Better::smaller,
     [](const Run& r) { return r.cost && in_usd(*r.cost) ? known(r.cost->usd_per_epoch) : std::nullopt; }},
};

}  // namespace

std::span<const ExportMetric> export_metrics() { return kMetrics; }

bool has_metric(const Run& run) {
  return std::any_of(std::begin(kMetrics), std::end(kMetrics),
                     [&](const ExportMetric& metric) { return metric.of(run).has_value(); });
}

std::optional<MetricSummary> summary_of(const RunGroup& group, const ExportMetric& metric) {
  std::vector<double> values;
  for (const Run* run : group.runs)
    if (const Number value = metric.of(*run)) values.push_back(*value);
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::size_t count = values.size(), middle = count / 2;
  MetricSummary summary{count % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2, std::nullopt, count};
  if (count > 1)
    summary.range = {values.front(), values.back()};
  else if (metric.interval && group.runs.size() == 1)
    summary.range = metric.interval(*group.runs.front());
  return summary;
}

}  // namespace epochbench
