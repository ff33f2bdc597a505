// What is measured of a run, group by group. Units are SI base units and stand in the names; fractions are 0 to 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/fields.h"

namespace epochbench {

struct Timing {
  int warmup_steps = 0;
  std::vector<double> step_seconds;
  double step_seconds_median = 0;
  std::optional<std::pair<double, double>> step_seconds_ci95;
  double steps_total_seconds = 0;
  double epoch_seconds = 0;
  std::string epoch_kind;  // measured | projected
  double compile_seconds = 0, wall_seconds = 0;
  std::string stopped_by;                          // noise | stable_noise | time | steps | epochs | until
  std::optional<double> harness_seconds_per_step;  // in the timed loop, outside the step and the wait for data
  // Of a GPU, timed by its own clock: how far the sum of the steps is from what the host's clock says, as a fraction of it.
  std::optional<double> clock_disagreement;
};

void fields(auto& visit, Is<Timing> auto& timing) {
  visit("warmup_steps", timing.warmup_steps);
  visit("step_seconds", positive(timing.step_seconds));
  visit("step_seconds_median", timing.step_seconds_median);
  visit("step_seconds_ci95", timing.step_seconds_ci95);
  visit("steps_total_seconds", timing.steps_total_seconds);
  visit("epoch_seconds", timing.epoch_seconds);
  visit("epoch_kind", timing.epoch_kind);
  visit("compile_seconds", timing.compile_seconds);
  visit("wall_seconds", timing.wall_seconds);
  visit("stopped_by", timing.stopped_by);
  visit("harness_seconds_per_step", timing.harness_seconds_per_step);
  visit("clock_disagreement", timing.clock_disagreement);
}

struct Throughput {
  double samples_per_second = 0;
  std::optional<double> tokens_per_second;
};

void fields(auto& visit, Is<Throughput> auto& throughput) {
  visit("samples_per_second", throughput.samples_per_second);
  visit("tokens_per_second", throughput.tokens_per_second);
}

// Of forward steps taken one at a time, by the host's clock from submitting a batch, which travels to the device each time, to
// the end of its step. A quantile q needs 1 / (1 - q) samples, and is empty with fewer.
struct Latency {
  std::int64_t samples = 0;
  std::optional<double> p50_seconds, p90_seconds, p99_seconds;
  double worst_seconds = 0;
  std::vector<double> step_seconds;  // raw
};

void fields(auto& visit, Is<Latency> auto& latency) {
  visit("samples", latency.samples);
  visit("p50_seconds", latency.p50_seconds);
  visit("p90_seconds", latency.p90_seconds);
  visit("p99_seconds", latency.p99_seconds);
  visit("worst_seconds", latency.worst_seconds);
  visit("step_seconds", addition(positive(latency.step_seconds)));
}

struct Efficiency {
  double flops_per_second = 0;
  std::optional<double> peak_fraction, data_wait_fraction, gpu_busy_fraction;
};

void fields(auto& visit, Is<Efficiency> auto& efficiency) {
  visit("flops_per_second", efficiency.flops_per_second);
  visit("peak_fraction", efficiency.peak_fraction);
  visit("data_wait_fraction", efficiency.data_wait_fraction);
  visit("gpu_busy_fraction", efficiency.gpu_busy_fraction);
}

struct Memory {
  std::optional<std::int64_t> planned_bytes, peak_bytes;
  std::optional<double> page_faults_per_step;
  std::optional<std::int64_t> huge_page_bytes;  // of the process's memory, those in transparent huge pages
};

void fields(auto& visit, Is<Memory> auto& memory) {
  visit("planned_bytes", memory.planned_bytes);
  visit("peak_bytes", memory.peak_bytes);
  visit("page_faults_per_step", memory.page_faults_per_step);
  visit("huge_page_bytes", memory.huge_page_bytes);
}

struct Interference {
  std::optional<double> foreign_cpu_cores;
};

void fields(auto& visit, Is<Interference> auto& interference) { visit("foreign_cpu_cores", interference.foreign_cpu_cores); }

struct GpuState {  // sampled during the timed steps: means of utilization and clock, the highest temperature and memory
  std::optional<double> utilization, sm_clock_hertz, temperature_celsius;
  std::optional<std::int64_t> throttled_steps, skipped_steps;
  std::vector<std::string> throttle_reasons;
  // Which of timing.step_seconds ran while the GPU was throttled: the first and the last of each stretch, from 0.
  std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>> throttled_step_ranges = {};
  std::optional<std::int64_t> memory_used_bytes = {};  // of the card, by all processes
  std::optional<std::string> reason = {};              // why something of it is not known
};

void fields(auto& visit, Is<GpuState> auto& gpu) {
  visit("utilization", gpu.utilization);
  visit("sm_clock_hertz", gpu.sm_clock_hertz);
  visit("temperature_celsius", gpu.temperature_celsius);
  visit("throttled_steps", gpu.throttled_steps);
  visit("throttle_reasons", addition(gpu.throttle_reasons));
  visit("skipped_steps", gpu.skipped_steps);
  visit("throttled_step_ranges", gpu.throttled_step_ranges);
  visit("memory_used_bytes", gpu.memory_used_bytes);
  visit("reason", gpu.reason);
}

struct Quality {
  std::vector<double> loss;  // by step, warm-up first
  std::optional<double> final_loss;
  std::optional<std::string> eval_metric;  // accuracy | loss
  std::optional<double> eval_value;
  std::vector<double> eval_history;  // after each epoch
  std::optional<std::string> parity_with;
  std::optional<double> parity_max_relative_difference;
  std::optional<std::string> dropout_masks;  // library: drawn by one, not those of the other devices
};

void fields(auto& visit, Is<Quality> auto& quality) {
  visit("loss", quality.loss);
  visit("final_loss", quality.final_loss);
  visit("eval_metric", quality.eval_metric);
  visit("eval_value", quality.eval_value);
  visit("eval_history", addition(quality.eval_history));
  visit("parity_with", quality.parity_with);
  visit("parity_max_relative_difference", quality.parity_max_relative_difference);
  visit("dropout_masks", quality.dropout_masks);
}

// Over the timed steps alone: joules per epoch = average_watts * epoch_seconds. The sums (joules_per_epoch, average_watts,
// idle_watts) are those of all parts of the run's device, the CPU's and on a GPU also the card's, and empty where one is not
// known. The CPU's part is that of whole packages. What the machine draws idle is not subtracted.
struct Energy {
  std::string source = "unavailable";  // rapl | nvml | rapl+nvml: the parts that are known
  std::optional<double> joules_per_epoch, cpu_joules_per_epoch, gpu_joules_per_epoch, average_watts, idle_watts;
  std::optional<double> cpu_average_watts = {}, gpu_average_watts = {}, cpu_idle_watts = {}, gpu_idle_watts = {};
  std::optional<double> window_seconds = {};  // how long the meters were read
  std::optional<std::string> reason = {};     // why a part is not known
  std::vector<std::string> remarks = {};      // what the figures contain beside the run, and how they came about
};

void fields(auto& visit, Is<Energy> auto& energy) {
  const auto parts = [&](const char* key, auto& cpu, auto& gpu) {
    visit.group(key, [&](auto& part) {
      part("cpu", cpu);
      part("gpu", gpu);
    });
  };
  visit("source", energy.source);
  visit("joules_per_epoch", energy.joules_per_epoch);
  parts("parts", energy.cpu_joules_per_epoch, energy.gpu_joules_per_epoch);
  visit("average_watts", energy.average_watts);
  visit("idle_watts", energy.idle_watts);
  parts("average_watts_parts", energy.cpu_average_watts, energy.gpu_average_watts);
  parts("idle_watts_parts", energy.cpu_idle_watts, energy.gpu_idle_watts);
  visit("window_seconds", energy.window_seconds);
  visit("reason", energy.reason);
  visit("remarks", addition(energy.remarks));
}

struct Cost {
  std::optional<double> usd_per_hour, usd_per_epoch, usd_total;
  std::optional<std::string> price_source;
  std::optional<std::string> currency = {};  // of all amounts, where a file names one; USD otherwise
};

void fields(auto& visit, Is<Cost> auto& cost) {
  visit("usd_per_hour", cost.usd_per_hour);
  visit("usd_per_epoch", cost.usd_per_epoch);
  visit("usd_total", cost.usd_total);
  visit("price_source", cost.price_source);
  visit("currency", with_default(cost.currency, "USD"));
}

// What the time of a step is spent on. A node's limit is the time that its FLOPs at the measured peak or its bytes at the
// measured bandwidth take, whichever is longer; limit_fraction = limit / time, above 1 where operands come from caches.
struct ProfileNode {
  std::string name, op, implementation;
  double seconds = 0, flops = 0, bytes = 0;
  std::optional<double> limit_seconds;
  std::optional<std::string> limit;  // compute | memory
  std::optional<double> limit_fraction;
};

void fields(auto& visit, Is<ProfileNode> auto& node) {
  visit("name", node.name);
  visit("op", node.op);
  visit("implementation", node.implementation);
  visit("seconds", node.seconds);
  visit("flops", node.flops);
  visit("bytes", node.bytes);
  visit("limit_seconds", node.limit_seconds);
  visit("limit", node.limit);
  visit("limit_fraction", node.limit_fraction);
}

struct ProfileClass {  // all nodes of one op
  std::string op;
  std::int64_t nodes = 0;
  double seconds = 0, share = 0;           // of the profile's seconds
  std::optional<double> flops_per_second;  // empty: none of its FLOPs count
  std::optional<double> bytes_per_second;
  std::optional<double> limit_fraction;
  std::optional<double> flops, bytes, limit_seconds;  // the sums of its nodes'
};

void fields(auto& visit, Is<ProfileClass> auto& ops) {
  visit("op", ops.op);
  visit("nodes", ops.nodes);
  visit("seconds", ops.seconds);
  visit("share", ops.share);
  visit("flops_per_second", ops.flops_per_second);
  visit("bytes_per_second", ops.bytes_per_second);
  visit("limit_fraction", ops.limit_fraction);
  visit("flops", ops.flops);
  visit("bytes", ops.bytes);
  visit("limit_seconds", ops.limit_seconds);
}

struct Profile {              // of one step, node by node in passes of their own, apart from the timed steps
  std::optional<int> passes;  // a node's seconds are the median over them
  double seconds = 0;         // the sum of the nodes'
  std::optional<double> limit_seconds, limit_fraction;
  std::vector<ProfileClass> classes;  // the slowest first
  std::vector<ProfileNode> nodes;     // in the order in which they run
};

void fields(auto& visit, Is<Profile> auto& profile) {
  visit("passes", profile.passes);
  visit("seconds", profile.seconds);
  visit("limit_seconds", profile.limit_seconds);
  visit("limit_fraction", profile.limit_fraction);
  visit("classes", profile.classes);
  visit("nodes", profile.nodes);
}

}  // namespace epochbench
