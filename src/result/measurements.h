// The measurements of a run, in groups. Units are SI base units and part of the names; fractions are 0 to 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/fields.h"
#include "src/case/choices.h"

namespace epochbench {

// A series of a run has one entry per step, up to this many steps. The number of steps left out is beside it; totals, medians
// and intervals cover all steps.
inline constexpr std::size_t kKeptSeriesSteps = 100'000;
inline constexpr Form kLeftOut{.omitted_if_empty = true, .minimum = 1, .maximum = 1'000'000'000'000};

enum class EpochKind : std::uint8_t { measured, projected };  // projected: from fewer steps than an epoch has
constexpr auto texts_of(EpochKind) { return std::array{"measured", "projected"}; }

// The last two: the run ended before it had enough steps.
enum class StopReason : std::uint8_t { noise, stable_noise, time, steps, epochs, until, interrupted, failed };
constexpr auto texts_of(StopReason) {
  return std::array{"noise", "stable_noise", "time", "steps", "epochs", "until", "interrupted", "failed"};
}

struct Timing {
  int warmup_steps = 0;
  std::vector<double> step_seconds;
  double step_seconds_median = 0;
  std::optional<std::pair<double, double>> step_seconds_ci95;
  double steps_total_seconds = 0;
  double epoch_seconds = 0;
  EpochKind epoch_kind = EpochKind::projected;
  double compile_seconds = 0, wall_seconds = 0;
  StopReason stopped_by = StopReason::steps;
  std::optional<double> harness_seconds_per_step;  // in the timed loop, outside the step and the wait for data
  // For a GPU, timed by its own clock: how far the sum of the steps is from the host's clock, as a fraction of the sum.
  std::optional<double> clock_disagreement;
  std::optional<std::int64_t> step_seconds_left_out = {};
  // Timed steps, from 0, during which a signal stopped the process: their times are left out above, so later ones move up.
  std::vector<std::int64_t> stopped_steps = {};
  // For a warm-up by time: whether the steps at its end took as long as those just before.
  std::optional<bool> warmup_settled = {};
  // For whole epochs: from before the data set was opened to the end of the last evaluation, without initialization; and the
  // part of it spent in evaluations.
  std::optional<double> training_seconds = {}, evaluation_seconds = {};

  std::int64_t steps() const { return std::ssize(step_seconds) + step_seconds_left_out.value_or(0); }
};

void fields(auto& visit, Is<Timing> auto& timing) {
  visit("warmup_steps", timing.warmup_steps);
  visit("warmup_settled", timing.warmup_settled, {.omitted_if_empty = true});
  visit("step_seconds", timing.step_seconds, {.positive = true});
  visit("step_seconds_left_out", timing.step_seconds_left_out, kLeftOut);
  visit("stopped_steps", timing.stopped_steps, {.omitted_if_empty = true});
  VISIT(timing, step_seconds_median, step_seconds_ci95, steps_total_seconds, epoch_seconds, epoch_kind, compile_seconds,
        wall_seconds, stopped_by, harness_seconds_per_step, clock_disagreement);
  visit("training_seconds", timing.training_seconds, {.omitted_if_empty = true});
  visit("evaluation_seconds", timing.evaluation_seconds, {.omitted_if_empty = true});
}

struct Throughput {
  double samples_per_second = 0;
  std::optional<double> tokens_per_second;
};

void fields(auto& visit, Is<Throughput> auto& throughput) { VISIT(throughput, samples_per_second, tokens_per_second); }

// Latency of single forward steps, by the host's clock: from submitting a batch (copied to the device each time) to the end of
// its step. A quantile q needs 1 / (1 - q) samples and is empty with fewer.
struct Latency {
  std::int64_t samples = 0;
  std::optional<double> p50_seconds, p90_seconds, p99_seconds;
  double worst_seconds = 0;
  std::vector<double> step_seconds;  // raw
  std::optional<std::int64_t> step_seconds_left_out = {};
  std::optional<std::int64_t> stopped_steps = {};  // during which a signal stopped the process: they are not among the above
};

void fields(auto& visit, Is<Latency> auto& latency) {
  VISIT(latency, samples, p50_seconds, p90_seconds, p99_seconds, worst_seconds);
  visit("step_seconds", latency.step_seconds, {.addition = true, .positive = true});
  visit("step_seconds_left_out", latency.step_seconds_left_out, kLeftOut);
  visit("stopped_steps", latency.stopped_steps, kLeftOut);
}

struct Efficiency {
  double flops_per_second = 0;
  std::optional<double> peak_fraction, data_wait_fraction, gpu_busy_fraction;
  // The least that a step can take; the roofline, which leaves nothing in caches; and the roofline where no kernel of a GPU
  // ends sooner than it can be launched. Not in files: src/session/bounds.h.
  std::optional<double> bound_seconds = {}, roofline_seconds = {}, launched_roofline_seconds = {};
};

void fields(auto& visit, Is<Efficiency> auto& efficiency) {
  VISIT(efficiency, flops_per_second, peak_fraction, data_wait_fraction, gpu_busy_fraction);
}

struct Memory {
  std::optional<std::int64_t> planned_bytes, peak_bytes;
  std::optional<double> page_faults_per_step;
  std::optional<std::int64_t> huge_page_bytes;  // of the process's memory, the part in transparent huge pages
};

void fields(auto& visit, Is<Memory> auto& memory) {
  VISIT(memory, planned_bytes, peak_bytes, page_faults_per_step, huge_page_bytes);
}

struct Ranks {  // for a run whose batches are shared by several processes
  int count = 1;
  // By rank, means over the timed steps: the whole step, and the part spent in sums over ranks, including waits for slower
  // ranks.
  std::vector<double> step_seconds, communication_seconds;
  // Per step of rank 0: rounds of messages between all ranks, and the bytes that it sends in them (Traffic in communicator.h).
  std::optional<double> rounds = {}, bus_bytes = {};
  // The rate of sums as large as the step's are on average, with nothing else to do; empty on GPUs.
  std::optional<double> bus_bytes_per_second_alone = {};
};

void fields(auto& visit, Is<Ranks> auto& ranks) {
  visit("count", ranks.count, {.minimum = 2});
  VISIT(ranks, step_seconds, communication_seconds);
  visit("rounds", ranks.rounds, {.omitted_if_empty = true});
  visit("bus_bytes", ranks.bus_bytes, {.omitted_if_empty = true});
  visit("bus_bytes_per_second_alone", ranks.bus_bytes_per_second_alone, {.omitted_if_empty = true});
}

struct Interference {
  std::optional<double> foreign_cpu_cores;
};

void fields(auto& visit, Is<Interference> auto& interference) { visit("foreign_cpu_cores", interference.foreign_cpu_cores); }

struct GpuState {  // sampled during the timed steps: means of utilization and clock, the highest temperature and memory
  std::optional<double> utilization, sm_clock_hertz, temperature_celsius;
  std::optional<std::int64_t> throttled_steps, skipped_steps;
  std::vector<std::string> throttle_reasons;
  // Entries of timing.step_seconds during which the GPU was throttled: first and last index of each stretch, from 0.
  std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>> throttled_step_ranges = {};
  std::optional<std::int64_t> memory_used_bytes = {};  // of the card, by all processes
  std::optional<std::string> reason = {};              // why some of it is not known
};

void fields(auto& visit, Is<GpuState> auto& gpu) {
  VISIT(gpu, utilization, sm_clock_hertz, temperature_celsius, throttled_steps);
  visit("throttle_reasons", gpu.throttle_reasons, {.addition = true});
  VISIT(gpu, skipped_steps, throttled_step_ranges, memory_used_bytes, reason);
}

struct Quality {
  std::vector<double> loss;  // by step, warm-up first
  std::optional<double> final_loss;
  std::optional<EvalMetric> eval_metric;
  std::optional<double> eval_value;
  std::vector<double> eval_history;  // after each epoch
  std::optional<std::string> parity_with;
  std::optional<double> parity_max_relative_difference;
  std::optional<std::string> dropout_masks;  // library: drawn by a library, so not those of other devices
  std::optional<std::int64_t> loss_left_out = {};
};

void fields(auto& visit, Is<Quality> auto& quality) {
  VISIT(quality, loss);
  visit("loss_left_out", quality.loss_left_out, kLeftOut);
  VISIT(quality, final_loss, eval_metric, eval_value);
  visit("eval_history", quality.eval_history, {.addition = true});
  VISIT(quality, parity_with, parity_max_relative_difference, dropout_masks);
}

// The meters whose parts are known: RAPL's of the CPU, NVML's of the card.
enum class EnergySource : std::uint8_t { unavailable, rapl, nvml, rapl_and_nvml };
constexpr auto texts_of(EnergySource) { return std::array{"unavailable", "rapl", "nvml", "rapl+nvml"}; }

// Over the timed steps only: joules per epoch = average_watts * epoch_seconds. The sums (joules_per_epoch, average_watts,
// idle_watts) cover all parts of the run's device, the CPU and on a GPU also the card, and are empty if a part is not known.
// The CPU's part covers whole packages. Idle power is not subtracted.
struct Energy {
  EnergySource source = EnergySource::unavailable;
  std::optional<double> joules_per_epoch, cpu_joules_per_epoch, gpu_joules_per_epoch, average_watts, idle_watts;
  std::optional<double> cpu_average_watts = {}, gpu_average_watts = {}, cpu_idle_watts = {}, gpu_idle_watts = {};
  std::optional<double> window_seconds = {};     // how long the meters were read
  std::optional<std::string> reason = {};        // why a part is not known
  std::vector<std::string> remarks = {};         // what the figures include besides the run, and how they were obtained
  std::optional<bool> cpu_includes_memory = {};  // empty: no, or the CPU's part is not known
};

void fields(auto& visit, Is<Energy> auto& energy) {
  const auto parts = [&](const char* key, auto& cpu, auto& gpu) {
    visit.group(key, [&](auto& part) {
      part("cpu", cpu);
      part("gpu", gpu);
    });
  };
  VISIT(energy, source, joules_per_epoch);
  parts("parts", energy.cpu_joules_per_epoch, energy.gpu_joules_per_epoch);
  VISIT(energy, average_watts, idle_watts);
  parts("average_watts_parts", energy.cpu_average_watts, energy.gpu_average_watts);
  parts("idle_watts_parts", energy.cpu_idle_watts, energy.gpu_idle_watts);
  visit("window_seconds", energy.window_seconds);
  visit("cpu_includes_memory", energy.cpu_includes_memory, {.omitted_if_empty = true});
  visit("reason", energy.reason);
  visit("remarks", energy.remarks, {.addition = true});
}

// Which share of an instance's price counts for a machine of another size: in proportion to physical cores, to vCPUs where the
// cores are not known, or to GPUs; all of it.
enum class PriceScaling : std::uint8_t { per_core, per_vcpu, per_gpu, whole };
constexpr auto texts_of(PriceScaling) { return std::array{"per-core", "per-vcpu", "per-gpu", "whole"}; }

struct Cost {
  std::optional<double> usd_per_hour, usd_per_epoch, usd_total;
  std::optional<std::string> price_source;
  std::optional<std::string> currency = {};        // the currency of all amounts, if a file names one; otherwise USD
  std::optional<PriceScaling> price_scaling = {};  // empty if the price is the machine's
};

void fields(auto& visit, Is<Cost> auto& cost) {
  VISIT(cost, usd_per_hour, usd_per_epoch, usd_total, price_source);
  visit("currency", cost.currency, {.default_text = "USD"});
  visit("price_scaling", cost.price_scaling);
}

enum class NodeLimit : std::uint8_t { compute, memory };
constexpr auto texts_of(NodeLimit) { return std::array{"compute", "memory"}; }

// Where the time of a step goes. A node's limit is the time that its FLOPs at the measured peak or its bytes at the measured
// bandwidth take, whichever is longer; limit_fraction = limit / time, above 1 if operands come from caches.
struct ProfileNode {
  std::string name, op, implementation;
  double seconds = 0, flops = 0, bytes = 0;
  std::optional<double> limit_seconds;
  std::optional<NodeLimit> limit;
  std::optional<double> limit_fraction;
};

void fields(auto& visit, Is<ProfileNode> auto& node) {
  VISIT(node, name, op, implementation, seconds, flops, bytes, limit_seconds, limit, limit_fraction);
}

struct ProfileClass {  // all nodes of one op
  std::string op;
  std::int64_t nodes = 0;
  double seconds = 0, share = 0;           // of the profile's seconds
  std::optional<double> flops_per_second;  // empty: none of its FLOPs count
  std::optional<double> bytes_per_second;
  std::optional<double> limit_fraction;
  std::optional<double> flops, bytes, limit_seconds;  // sums over its nodes
};

void fields(auto& visit, Is<ProfileClass> auto& ops) {
  VISIT(ops, op, nodes, seconds, share, flops_per_second, bytes_per_second, limit_fraction, flops, bytes, limit_seconds);
}

struct Profile {              // one step, node by node, in separate passes and not in the timed steps
  std::optional<int> passes;  // a node's seconds are the median over them
  double seconds = 0;         // sum over the nodes
  std::optional<double> limit_seconds, limit_fraction;
  std::vector<ProfileClass> classes;  // the slowest first
  std::vector<ProfileNode> nodes;     // in the order in which they run
};

void fields(auto& visit, Is<Profile> auto& profile) {
  VISIT(profile, passes, seconds, limit_seconds, limit_fraction, classes, nodes);
}

}  // namespace epochbench
