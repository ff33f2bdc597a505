// The result document: what was measured, on what, and why not. Everything after the measurement reads only this.
//
// Fields and units are those of results/schema.json (schema version 1). An empty optional is written as null: not known.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "epochbench/gpu.h"
#include "src/case/settings.h"
#include "src/result/sweep_answers.h"

namespace epochbench {

inline constexpr int kSchemaVersion = 1;

enum class RunStatus : std::uint8_t { ok, failed, skipped, out_of_memory, diverged, interrupted };
const char* name(RunStatus status);

struct CpuInfo {
  std::string model;
  std::optional<int> sockets, cores;
  int threads_available = 1;
  std::vector<std::string> isa;  // "avx2", "avx512f", "avx512_bf16", "amx_bf16", …
  std::optional<std::int64_t> l1d_bytes, l2_bytes, l3_bytes;
  std::optional<std::int64_t> memory_bytes;
  std::string frequency_scaling = "unknown";                           // yes | no | unknown
  std::map<std::string, std::optional<double>> peak_flops_per_second;  // "fp32", "bf16"; measured
  std::optional<double> memory_bandwidth_bytes_per_second;             // measured
  std::map<std::string, std::optional<std::string>> peak_instruction;  // that the peaks are measured with: "vfmadd (avx512)"
  std::optional<int> peak_threads;                                     // that they are measured with, whatever a run uses
};

struct Context {
  std::string date;  // RFC 3339
  std::optional<std::string> host_name;
  std::string epochbench_version;
  std::optional<std::string> git_sha;
  std::optional<bool> git_dirty;
  std::string build_type, compiler;
  std::optional<std::vector<std::string>> command_line;
  std::vector<double> load_average;
  CpuInfo cpu;
  std::vector<GpuInfo> gpus;
};

struct Workload {
  std::string model, mode;  // mode: train | forward
  std::int64_t parameters = 0;
  std::string fingerprint;
  std::int64_t batch = 0;
  std::string dataset;
  std::int64_t samples_per_epoch = 0;
  std::string optimizer;
  std::uint64_t seed = 0;
  double train_flops_per_sample = 0;
  std::optional<std::int64_t> tokens_per_sample;
  std::optional<double> forward_flops_per_sample = {};  // what efficiency counts in mode forward
  std::map<std::string, std::int64_t> options = {};     // all of the model's, defaults included; empty also where not known
};

struct Device {
  std::string backend, name;
  std::optional<int> threads;
  std::optional<std::string> isa;
  std::optional<bool> pinned = {};             // whether each thread has a place of its own
  std::optional<std::string> algorithms = {};  // that multiply less than the FLOPs that are counted: "winograd"
  std::optional<std::string> without = {};     // what was left out on purpose: "fusion+prefetch"
};

// How samples reach the steps, where they are read and decoded while steps run.
struct Input {
  int loader_threads = 1;          // 0: the thread that runs the steps decodes, and waits meanwhile
  bool prefetch = true;            // batches are prepared ahead of the step that takes them
  double decode_cost_seconds = 0;  // of a core, added to the decoding of each sample
  std::string cache = "none";      // none | decoded: before the first step, and kept in memory
};

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

struct Throughput {
  double samples_per_second = 0;
  std::optional<double> tokens_per_second;
};

// Of forward steps taken one at a time, by the host's clock from submitting a batch, which travels to the device each time, to
// the end of its step. A quantile q needs 1 / (1 - q) samples, and is empty with fewer.
struct Latency {
  std::int64_t samples = 0;
  std::optional<double> p50_seconds, p90_seconds, p99_seconds;
  double worst_seconds = 0;
  std::vector<double> step_seconds;  // raw
};

struct Efficiency {
  double flops_per_second = 0;
  std::optional<double> peak_fraction, data_wait_fraction, gpu_busy_fraction;
};

struct Memory {
  std::optional<std::int64_t> planned_bytes, peak_bytes;
  std::optional<double> page_faults_per_step;
  std::optional<std::int64_t> huge_page_bytes;  // of the process's memory, those in transparent huge pages
};

struct Interference {
  std::optional<double> foreign_cpu_cores;
};

struct GpuState {  // sampled during the timed steps: means of utilization and clock, the highest temperature and memory
  std::optional<double> utilization, sm_clock_hertz, temperature_celsius;
  std::optional<std::int64_t> throttled_steps, skipped_steps;
  std::vector<std::string> throttle_reasons;
  // Which of timing.step_seconds ran while the GPU was throttled: the first and the last of each stretch, from 0.
  std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>> throttled_step_ranges = {};
  std::optional<std::int64_t> memory_used_bytes = {};  // of the card, by all processes
  std::optional<std::string> reason = {};              // why something of it is not known
};

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

// Over the timed steps alone: joules an epoch = average_watts * epoch_seconds. The sums (joules_per_epoch, average_watts,
// idle_watts) are those of all parts of the run's device, the CPU's and on a GPU also the card's, and empty where one is not
// known. The CPU's part is that of whole packages. What the machine draws idle is not subtracted.
struct Energy {
  std::string source = "unavailable";  // rapl | nvml | rapl+nvml: the parts that are known
  std::optional<double> joules_per_epoch, cpu_joules_per_epoch, gpu_joules_per_epoch, average_watts, idle_watts;
  std::optional<double> cpu_average_watts = {}, gpu_average_watts = {}, cpu_idle_watts = {}, gpu_idle_watts = {};
  std::optional<double> window_seconds = {};  // that the meters were read for
  std::optional<std::string> reason = {};     // why a part is not known
  std::vector<std::string> remarks = {};      // what the figures hold beside the run, and how they came about
};

struct Cost {
  std::optional<double> usd_per_hour, usd_per_epoch, usd_total;
  std::optional<std::string> price_source;
  std::optional<std::string> currency = {};  // of all amounts, where a file names one; USD otherwise
};

// What a step's time goes to. A node's limit is the time that its FLOPs at the measured peak or its bytes at the measured
// bandwidth take, whichever is longer; limit_fraction = limit / time, above 1 where operands come from caches.
struct ProfileNode {
  std::string name, op, implementation;
  double seconds = 0, flops = 0, bytes = 0;
  std::optional<double> limit_seconds;
  std::optional<std::string> limit;  // compute | memory
  std::optional<double> limit_fraction;
};

struct ProfileClass {  // all nodes of one op
  std::string op;
  std::int64_t nodes = 0;
  double seconds = 0, share = 0;           // of the profile's seconds
  std::optional<double> flops_per_second;  // empty: none of its FLOPs count
  std::optional<double> bytes_per_second;
  std::optional<double> limit_fraction;
  std::optional<double> flops, bytes, limit_seconds;  // the sums of its nodes'
};

struct Profile {              // of one step, node by node in passes of their own, apart from the timed steps
  std::optional<int> passes;  // a node's seconds are the median of so many
  double seconds = 0;         // the sum of the nodes'
  std::optional<double> limit_seconds, limit_fraction;
  std::vector<ProfileClass> classes;  // the slowest first
  std::vector<ProfileNode> nodes;     // in the order in which they run
};

struct Run {
  std::string name;
  int repetition = 0;
  RunStatus status = RunStatus::ok;
  std::optional<std::string> message;
  Workload workload;
  Device device;
  std::string precision;
  Settings settings = {};      // what differs from its default
  std::optional<Input> input;  // empty also for synthetic data, prepared before the clock starts
  // Empty when the run is not ok.
  std::optional<Timing> timing;
  std::optional<Throughput> throughput;
  std::optional<Latency> latency;  // empty in training
  std::optional<Efficiency> efficiency;
  std::optional<Memory> memory;
  std::optional<Interference> interference;
  std::optional<GpuState> gpu;  // also empty on the CPU
  std::optional<Quality> quality;
  std::optional<Energy> energy;
  std::optional<Cost> cost;
  std::optional<Profile> profile;  // empty also where it was not asked for
};

struct Result {
  Context context;
  std::vector<Run> runs;
  std::optional<SweepAnswers> answers = {};  // of a sweep
};

}  // namespace epochbench
