// The quantities of a run for tools that take single numbers.
#include <cmath>

#include "src/analysis/cost/cost.h"
#include "src/analysis/peak_share.h"
#include "src/base/lookup.h"
#include "src/report/export/export_formats.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

// The quality after training, if it is measured by this metric.
std::optional<double> eval(const Run& run, const char* metric) {
  return run.quality && run.quality->eval_metric == metric ? figure<&Run::quality, &Quality::eval_value>(run) : std::nullopt;
}

constexpr double kMebibyte = 1 << 20;

// A metric that triggers alerts must not vary for the same program. So wall time, power and other processes' time are
// `neither`, since they depend on more than the program; so are the loss after as many steps as the time allowed, and the wait
// for data, whose ratios are meaningless near zero.
constexpr ExportMetric kMetrics[] = {
    {"step_seconds_median", "step_seconds", "seconds", "step time, median", "ms", 1e3, Better::smaller,
     figure<&Run::timing, &Timing::step_seconds_median>},
    {"epoch_seconds", "epoch_seconds", "seconds", "epoch time", "s", 1, Better::smaller,
     figure<&Run::timing, &Timing::epoch_seconds>},
    {"compile_seconds", "compile_seconds", "seconds", "compile time", "s", 1, Better::smaller,
     figure<&Run::timing, &Timing::compile_seconds>, Pooling::mean},
    {"wall_seconds", "wall_seconds", "seconds", "wall time with set-up and evaluation", "s", 1, Better::neither,
     figure<&Run::timing, &Timing::wall_seconds>},
    {"latency_p50_seconds", "latency_p50_seconds", "seconds", "latency, median", "ms", 1e3, Better::smaller,
     figure<&Run::latency, &Latency::p50_seconds>},
    {"latency_p99_seconds", "latency_p99_seconds", "seconds", "latency, 99th percentile", "ms", 1e3, Better::smaller,
     figure<&Run::latency, &Latency::p99_seconds>},
    {"samples_per_second", "samples_per_second", "samples_per_second", "throughput", "samples/s", 1, Better::bigger,
     figure<&Run::throughput, &Throughput::samples_per_second>},
    {"tokens_per_second", "tokens_per_second", "tokens_per_second", "tokens", "tokens/s", 1, Better::bigger,
     figure<&Run::throughput, &Throughput::tokens_per_second>},
    {"flops_per_second", "flops_per_second", "flops_per_second", "arithmetic", "GFLOP/s", 1e-9, Better::bigger,
     figure<&Run::efficiency, &Efficiency::flops_per_second>},
    {"peak_fraction", "peak_ratio", "ratio", "part of the measured peak", "%", 100, Better::bigger, shown_peak_fraction},
    {"data_wait_fraction", "data_wait_ratio", "ratio", "part of the time that waits for data", "%", 100, Better::neither,
     figure<&Run::efficiency, &Efficiency::data_wait_fraction>, Pooling::mean},
    {"peak_bytes", "peak_memory_bytes", "bytes", "peak memory", "MiB", 1 / kMebibyte, Better::smaller,
     figure<&Run::memory, &Memory::peak_bytes>, Pooling::greatest},
    {"foreign_cpu_cores", "foreign_cpu_cores", "cores", "CPU time of other processes", "cores", 1, Better::neither,
     figure<&Run::interference, &Interference::foreign_cpu_cores>, Pooling::greatest},
    {"gpu_utilization", "gpu_utilization_ratio", "ratio", "GPU utilization", "%", 100, Better::neither,
     figure<&Run::gpu, &GpuState::utilization>, Pooling::mean},
    {"final_loss", "final_loss", "", "training loss, last", "", 1, Better::neither, figure<&Run::quality, &Quality::final_loss>,
     Pooling::by_seed},
    {"eval_loss", "eval_loss", "", "test loss", "", 1, Better::smaller, [](const Run& r) { return eval(r, "loss"); },
     Pooling::by_seed},
    {"eval_accuracy", "eval_accuracy_ratio", "ratio", "test accuracy", "%", 100, Better::bigger,
     [](const Run& r) { return eval(r, "accuracy"); }, Pooling::by_seed},
    {"joules_per_epoch", "epoch_energy_joules", "joules", "energy per epoch", "J", 1, Better::smaller,
     figure<&Run::energy, &Energy::joules_per_epoch>},
    {"average_watts", "average_power_watts", "watts", "power, average", "W", 1, Better::neither,
     figure<&Run::energy, &Energy::average_watts>},
    {"usd_per_epoch", "epoch_cost_usd", "usd", "cost per epoch", "USD", 1, Better::smaller,
     [](const Run& r) { return r.cost && in_usd(*r.cost) ? figure<&Run::cost, &Cost::usd_per_epoch>(r) : std::nullopt; }},
};

}  // namespace

std::span<const ExportMetric> export_metrics() { return kMetrics; }

std::optional<GroupEstimate> summary_of(const RunGroup& group, const ExportMetric& metric) {
  if (metric.pooling == Pooling::geometric_mean) return estimate_over(group.runs, metric.of);
  const auto value =
      metric.pooling == Pooling::greatest ? greatest_over(group.runs, metric.of) : mean_over(group.runs, metric.of);
  if (!value) return std::nullopt;
  const std::size_t known = known_values(group.runs, [&](const Run* run) { return metric.of(*run); }).size();
  return GroupEstimate{*value, {*value, *value}, Spread::none, known};
}

}  // namespace epochbench
