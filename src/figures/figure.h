// The figures of a run, one row for each that any output shows: what it is called, its unit, which direction is better, and how
// the repetitions of a case become one number. Outputs choose figures and arrange them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/result/result.h"

namespace epochbench {

struct Unit {
  const char* name;             // in the terms of OpenMetrics: "seconds"; "" for a pure number
  const char* shown;            // for tools that take a number and a unit apart: "ms"
  double scale;                 // from `name` to `shown`
  std::string (*text)(double);  // for people: "1.23 ms"
};

// The direction in which a tool that sends alerts takes a change for an improvement.
enum class Better : std::uint8_t { smaller, bigger, neither };

// How the repetitions of a case become one number (src/figures/summarize.h).
enum class Pooling : std::uint8_t {
  geometric_mean,
  mean,      // for values that may be 0
  greatest,  // for values that do not depend on chance, or that should not occur at all
  by_seed    // for qualities: the mean of the repetitions with one seed; seeds stay apart
};

struct Figure {
  const char* key;     // as in the result if it has this key: "step_seconds_median"
  const char* metric;  // OpenMetrics' name, which ends with the unit; null: not for formats that take single numbers
  const Unit& unit;
  const char* title;        // "step time, median"
  const char* short_title;  // at the head of a column: "step"
  Better better;
  Pooling pooling;
  std::optional<double> (*value)(const Run&);  // in `unit`; empty: not known
};

// A number as the run has it: recorded<&Run::timing, &Timing::epoch_seconds>(run). Empty if its group or the number is not
// known.
template <auto kGroup, auto kMember>
std::optional<double> recorded(const Run& run) {
  const auto member = member_of(run.*kGroup, kMember);
  if (!member || !std::isfinite(static_cast<double>(*member))) return std::nullopt;
  return static_cast<double>(*member);
}

// Whether the amounts are in USD, as their names say; a file of another origin may name another currency; the two never mix.
bool in_usd(const Cost& cost);

// How far the median step of one run may be off, judged by its own steps, as the ends of an interval. Processes differ by more,
// so no verdict uses it. Empty for fewer than kMinStepsForSpread steps.
inline constexpr std::size_t kMinStepsForSpread = 10;
std::optional<std::pair<double, double>> spread_within_run(const Run& run);

// The values of figures that are not recorded as they are shown.
std::optional<double> relative_spread_within_run(const Run& run);  // half the spread's width over the median
std::optional<double> shown_peak_fraction(const Run& run);         // at most 1: src/analysis/peak_share.h says why
std::optional<double> test_accuracy(const Run& run);
std::optional<double> test_loss(const Run& run);
std::optional<double> blind_share(const Run& run);    // of the median step, in algorithms that were not compared with others
std::optional<double> usd_per_epoch(const Run& run);  // not of another currency
// What the whole instance costs, if usd_per_epoch() counts a share of it, which cannot be rented.
std::optional<double> whole_usd_per_epoch(const Run& run);
// The first epoch of a new process: compiling and, on a GPU, choosing algorithms come before it, the evaluation that a run of
// whole epochs makes comes after it.
std::optional<double> first_epoch_seconds(const Run& run);
std::optional<double> first_epoch_usd(const Run& run);

inline constexpr Unit kSeconds{"seconds", "s", 1, format_seconds};
inline constexpr Unit kShortSeconds{"seconds", "ms", 1e3, format_seconds};
inline constexpr Unit kSamplesPerSecond{"samples_per_second", "samples/s", 1, format_rate};
inline constexpr Unit kTokensPerSecond{"tokens_per_second", "tokens/s", 1, format_rate};
inline constexpr Unit kFlopsPerSecond{"flops_per_second", "GFLOP/s", 1e-9,
                                      [](double value) { return format_si(value, "FLOP/s"); }};
inline constexpr Unit kFraction{"ratio", "%", 100, format_percent};
inline constexpr Unit kBytes{"bytes", "MiB", 1.0 / (1 << 20), format_bytes};
inline constexpr Unit kCores{"cores", "cores", 1, [](double value) { return significant(value, 2) + " cores"; }};
inline constexpr Unit kPlain{"", "", 1, [](double value) { return significant(value, 3); }};
inline constexpr Unit kJoules{"joules", "J", 1, [](double value) { return format_si(value, "J"); }};
inline constexpr Unit kWatts{"watts", "W", 1, [](double value) { return significant(value, 3) + " W"; }};
inline constexpr Unit kUsd{"usd", "USD", 1, format_usd};
inline constexpr Unit kMoney{"", "", 1, [](double value) { return significant(value, 3); }};  // in the currency of the run

// A metric that triggers alerts must not vary for the same program. So wall time, power and other processes' time are
// `neither`, since they depend on more than the program; so are the loss after as many steps as the time allowed, and the wait
// for data, whose ratios are meaningless near zero.
inline constexpr Figure kFigures[] = {
    {"step_seconds_median", "step_seconds", kShortSeconds, "step time, median", "step", Better::smaller,
     Pooling::geometric_mean, recorded<&Run::timing, &Timing::step_seconds_median>},
    {"spread_within_run", nullptr, kFraction, "spread of the median step within a run", "±", Better::smaller, Pooling::mean,
     relative_spread_within_run},
    {"epoch_seconds", "epoch_seconds", kSeconds, "epoch time", "epoch", Better::smaller, Pooling::geometric_mean,
     recorded<&Run::timing, &Timing::epoch_seconds>},
    {"compile_seconds", "compile_seconds", kSeconds, "compile time", "compile", Better::smaller, Pooling::mean,
     recorded<&Run::timing, &Timing::compile_seconds>},
    {"wall_seconds", "wall_seconds", kSeconds, "wall time with set-up and evaluation", "in all", Better::neither,
     Pooling::geometric_mean, recorded<&Run::timing, &Timing::wall_seconds>},
    {"latency_p50_seconds", "latency_p50_seconds", kShortSeconds, "latency, median", "latency p50", Better::smaller,
     Pooling::geometric_mean, recorded<&Run::latency, &Latency::p50_seconds>},
    {"latency_p99_seconds", "latency_p99_seconds", kShortSeconds, "latency, 99th percentile", "latency p99", Better::smaller,
     Pooling::geometric_mean, recorded<&Run::latency, &Latency::p99_seconds>},
    {"latency_worst_seconds", nullptr, kShortSeconds, "latency, worst", "latency worst", Better::smaller, Pooling::greatest,
     recorded<&Run::latency, &Latency::worst_seconds>},
    {"samples_per_second", "samples_per_second", kSamplesPerSecond, "throughput", "samples/s", Better::bigger,
     Pooling::geometric_mean, recorded<&Run::throughput, &Throughput::samples_per_second>},
    {"tokens_per_second", "tokens_per_second", kTokensPerSecond, "tokens", "tokens/s", Better::bigger, Pooling::geometric_mean,
     recorded<&Run::throughput, &Throughput::tokens_per_second>},
    {"flops_per_second", "flops_per_second", kFlopsPerSecond, "arithmetic", "FLOP/s", Better::bigger, Pooling::geometric_mean,
     recorded<&Run::efficiency, &Efficiency::flops_per_second>},
    {"peak_fraction", "peak_ratio", kFraction, "part of the measured peak", "of peak", Better::bigger, Pooling::geometric_mean,
     shown_peak_fraction},
    {"data_wait_fraction", "data_wait_ratio", kFraction, "part of the time that waits for data", "data wait", Better::neither,
     Pooling::mean, recorded<&Run::efficiency, &Efficiency::data_wait_fraction>},
    {"gpu_busy_fraction", nullptr, kFraction, "part of the time in which the GPU is busy", "GPU busy", Better::neither,
     Pooling::mean, recorded<&Run::efficiency, &Efficiency::gpu_busy_fraction>},
    {"blind_fraction", "blind_ratio", kFraction, "part of a step in algorithms that were not compared with others", "blind",
     Better::neither, Pooling::greatest, blind_share},
    {"peak_bytes", "peak_memory_bytes", kBytes, "peak memory", "peak memory", Better::smaller, Pooling::greatest,
     recorded<&Run::memory, &Memory::peak_bytes>},
    {"planned_bytes", nullptr, kBytes, "planned memory", "planned memory", Better::smaller, Pooling::greatest,
     recorded<&Run::memory, &Memory::planned_bytes>},
    {"foreign_cpu_cores", "foreign_cpu_cores", kCores, "CPU time of other processes", "others' load", Better::neither,
     Pooling::greatest, recorded<&Run::interference, &Interference::foreign_cpu_cores>},
    {"gpu_utilization", "gpu_utilization_ratio", kFraction, "GPU utilization", "GPU utilization", Better::neither,
     Pooling::mean, recorded<&Run::gpu, &GpuState::utilization>},
    {"final_loss", "final_loss", kPlain, "training loss, last", "loss", Better::neither, Pooling::by_seed,
     recorded<&Run::quality, &Quality::final_loss>},
    {"eval_loss", "eval_loss", kPlain, "test loss", "test loss", Better::smaller, Pooling::by_seed, test_loss},
    {"eval_accuracy", "eval_accuracy_ratio", kFraction, "test accuracy", "accuracy", Better::bigger, Pooling::by_seed,
     test_accuracy},
    {"joules_per_epoch", "epoch_energy_joules", kJoules, "energy per epoch", "energy/epoch", Better::smaller,
     Pooling::geometric_mean, recorded<&Run::energy, &Energy::joules_per_epoch>},
    {"gpu_joules_per_epoch", nullptr, kJoules, "energy of the GPU per epoch", "energy/epoch", Better::smaller,
     Pooling::geometric_mean, recorded<&Run::energy, &Energy::gpu_joules_per_epoch>},
    {"cpu_joules_per_epoch", nullptr, kJoules, "energy of the CPU per epoch", "energy/epoch", Better::smaller,
     Pooling::geometric_mean, recorded<&Run::energy, &Energy::cpu_joules_per_epoch>},
    {"average_watts", "average_power_watts", kWatts, "power, average", "power", Better::neither, Pooling::geometric_mean,
     recorded<&Run::energy, &Energy::average_watts>},
    {"gpu_average_watts", nullptr, kWatts, "power of the GPU, average", "power", Better::neither, Pooling::geometric_mean,
     recorded<&Run::energy, &Energy::gpu_average_watts>},
    {"cpu_average_watts", nullptr, kWatts, "power of the CPU, average", "power", Better::neither, Pooling::geometric_mean,
     recorded<&Run::energy, &Energy::cpu_average_watts>},
    {"usd_per_epoch", "epoch_cost_usd", kUsd, "cost per epoch", "cost/epoch", Better::smaller, Pooling::geometric_mean,
     usd_per_epoch},
    {"cost_per_epoch", nullptr, kMoney, "cost per epoch in its own currency", "cost/epoch", Better::smaller,
     Pooling::geometric_mean, recorded<&Run::cost, &Cost::usd_per_epoch>},
    {"whole_usd_per_epoch", "whole_epoch_cost_usd", kUsd, "cost per epoch of the whole instance", "whole/epoch",
     Better::neither, Pooling::geometric_mean, whole_usd_per_epoch},
    {"first_epoch_seconds", "first_epoch_seconds", kSeconds, "time of the first epoch, with compiling and evaluation",
     "first epoch", Better::neither, Pooling::geometric_mean, first_epoch_seconds},
    {"first_epoch_usd", "first_epoch_cost_usd", kUsd, "cost of the first epoch, with compiling and evaluation", "first epoch",
     Better::neither, Pooling::geometric_mean, first_epoch_usd},
    {"usd_per_hour", nullptr, kMoney, "price of an hour", "price/hour", Better::smaller, Pooling::mean,
     recorded<&Run::cost, &Cost::usd_per_hour>},
};

// The figure with this key, found by the compiler.
consteval const Figure& figure(std::string_view key) { return *std::ranges::find(kFigures, key, &Figure::key); }

inline constexpr const Figure& kStepTime = figure("step_seconds_median");
inline constexpr const Figure& kStepSpread = figure("spread_within_run");
inline constexpr const Figure& kEpochTime = figure("epoch_seconds");
inline constexpr const Figure& kWallTime = figure("wall_seconds");
inline constexpr const Figure& kMedianLatency = figure("latency_p50_seconds");
inline constexpr const Figure& kLatency99 = figure("latency_p99_seconds");
inline constexpr const Figure& kWorstLatency = figure("latency_worst_seconds");
inline constexpr const Figure& kThroughput = figure("samples_per_second");
inline constexpr const Figure& kPeakShare = figure("peak_fraction");
inline constexpr const Figure& kGpuBusy = figure("gpu_busy_fraction");
inline constexpr const Figure& kPeakMemory = figure("peak_bytes");
inline constexpr const Figure& kPlannedMemory = figure("planned_bytes");
inline constexpr const Figure& kForeignCores = figure("foreign_cpu_cores");
inline constexpr const Figure& kFinalLoss = figure("final_loss");
inline constexpr const Figure& kTestLoss = figure("eval_loss");
inline constexpr const Figure& kTestAccuracy = figure("eval_accuracy");
inline constexpr const Figure& kEnergy = figure("joules_per_epoch");
inline constexpr const Figure& kGpuEnergy = figure("gpu_joules_per_epoch");
inline constexpr const Figure& kCpuEnergy = figure("cpu_joules_per_epoch");
inline constexpr const Figure& kMeanPower = figure("average_watts");
inline constexpr const Figure& kGpuMeanPower = figure("gpu_average_watts");
inline constexpr const Figure& kCpuMeanPower = figure("cpu_average_watts");
inline constexpr const Figure& kEpochCostInUsd = figure("usd_per_epoch");
inline constexpr const Figure& kEpochCost = figure("cost_per_epoch");
inline constexpr const Figure& kWholeEpochCost = figure("whole_usd_per_epoch");
inline constexpr const Figure& kFirstEpochTime = figure("first_epoch_seconds");
inline constexpr const Figure& kFirstEpochCost = figure("first_epoch_usd");

}  // namespace epochbench
