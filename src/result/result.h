// The result document: what was measured and on what, or why it was not. Everything after the measurement reads only this.
//
// Each struct is followed by the list of its fields, which defines its form in a file (src/base/fields.h); results/schema.json
// documents keys and units. An empty optional is written as null: not known.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/base/fields.h"
#include "src/case/choices.h"
#include "src/case/device_id.h"
#include "src/case/settings.h"
#include "src/result/context.h"
#include "src/result/measurements.h"
#include "src/result/sweep_answers.h"

namespace epochbench {

inline constexpr int kSchemaVersion = 2;

// Nothing writes contradicts_itself: a run that is ok in its file gets it when it is read (src/session/contradictions.h).
enum class RunStatus : std::uint8_t { ok, failed, skipped, out_of_memory, diverged, interrupted, contradicts_itself };
constexpr auto texts_of(RunStatus) {
  return std::array{"ok", "failed", "skipped", "out_of_memory", "diverged", "interrupted", "contradicts_itself"};
}
std::string describe(RunStatus status, const std::optional<std::string>& message);  // "out of memory: needs 5 GB"
// Whether a run with this status ended badly by itself: not for lack of a device or of time, and not by Ctrl-C.
constexpr bool is_failure(RunStatus status) {
  return status == RunStatus::failed || status == RunStatus::out_of_memory || status == RunStatus::diverged;
}

struct Workload {
  std::string model;
  Mode mode = Mode::train;
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
  std::map<std::string, std::int64_t> options = {};     // all of the model's, defaults included; also empty if not known
  std::optional<std::string> tokenizer = {};            // of the text: "gpt2, 50257 tokens, " and a hash; empty: none
  std::optional<std::string> nominal_dataset = {};      // whose size an epoch of synthetic data has: "ImageNet"
};

void fields(auto& visit, Is<Workload> auto& workload) {
  VISIT(workload, model, mode, parameters, fingerprint, batch, dataset, samples_per_epoch, optimizer, seed,
        train_flops_per_sample, tokens_per_sample, forward_flops_per_sample, options);
  visit("tokenizer", workload.tokenizer, {.omitted_if_empty = true});
  visit("nominal_dataset", workload.nominal_dataset, {.omitted_if_empty = true});
}

// What ran the steps: a backend of ours, or PyTorch on a CPU or a GPU.
enum class BackendKind : std::uint8_t { cpu, cuda, reference, pytorch };
constexpr auto texts_of(BackendKind) {
  return std::array{name(DeviceKind::cpu), name(DeviceKind::cuda), name(DeviceKind::reference), name(Framework::pytorch)};
}
constexpr BackendKind backend_kind(DeviceKind device) {
  return device == DeviceKind::cpu ? BackendKind::cpu : device == DeviceKind::cuda ? BackendKind::cuda : BackendKind::reference;
}

struct Device {
  BackendKind backend = BackendKind::cpu;
  std::string name;
  std::optional<int> threads;
  std::optional<std::string> isa;
  std::optional<Precision> products = {};                           // what products multiply in, if not the run's precision
  std::optional<bool> pinned = {};                                  // whether threads are bound to cores
  std::vector<int> cpus = {};                                       // logical ones on which the threads ran, once; ascending
  std::optional<std::string> algorithms = {};                       // that multiply less than the counted FLOPs: "winograd"
  std::optional<std::string> without = {};                          // what was left out on purpose: "fusion+prefetch"
  std::map<std::string, std::int64_t> chosen_algorithms = {};       // as Executable::chosen_algorithms()
  std::optional<double> blind_seconds = {};                         // as Executable::blind_seconds() of the timed entry
  std::map<std::string, std::optional<std::string>> versions = {};  // of a peer's libraries: "torch"
};

void fields(auto& visit, Is<Device> auto& device) {
  VISIT(device, backend, name, threads, isa, pinned, algorithms, without);
  visit("products", device.products, {.omitted_if_empty = true});
  visit("cpus", device.cpus, {.omitted_if_empty = true});
  visit("ways", device.chosen_algorithms, {.omitted_if_empty = true});
  visit("blind_seconds", device.blind_seconds, {.omitted_if_empty = true});
  visit("versions", device.versions, {.omitted_if_empty = true});
}

// What --data images:PATH found, and the size to which it decodes.
struct ImageFiles {
  std::int64_t classes = 0, training = 0, validation = 0;
  std::int64_t height = 0, width = 0;
};

void fields(auto& visit, Is<ImageFiles> auto& files) { VISIT(files, classes, training, validation, height, width); }

// How samples reach the steps, if they are read and decoded while steps run.
struct Input {
  int loader_threads = 1;          // 0: the thread that runs the steps decodes, and waits meanwhile
  bool prefetch = true;            // batches are prepared ahead of the step that takes them
  double decode_cost_seconds = 0;  // of core time, added to the decoding of each sample
  Cache cache = Cache::none;
  std::optional<std::string> images = {};            // u8 | f32: of each value, as a batch goes to the device; null for texts
  std::optional<std::int64_t> left_out_images = {};  // that could not be decoded (--on-bad-image skip); null: none can be
  // CPU time and wall time in a thread to read, decode and change one training sample; null if negligible.
  std::optional<double> decode_cpu_seconds = {}, decode_wall_seconds = {};
  std::optional<ImageFiles> files = {};
};

void fields(auto& visit, Is<Input> auto& input) {
  VISIT(input, loader_threads, prefetch, decode_cost_seconds, cache, images, left_out_images);
  visit("decode_cpu_seconds", input.decode_cpu_seconds, {.omitted_if_empty = true});
  visit("decode_wall_seconds", input.decode_wall_seconds, {.omitted_if_empty = true});
  visit("files", input.files, {.omitted_if_empty = true});
}

// For a run whose process took turns with others (scripts/peers/take_turns). Turn i of every run of a repetition belongs to
// round i.
struct Turns {
  std::string worker;                          // "epochbench", "PyTorch eager"
  std::int64_t steps = 1, dropped_rounds = 0;  // steps per turn; rounds before the timed ones
  std::uint64_t order_seed = 0;
  bool bound = true, spinning = false;               // threads: bound to cores; spin before they sleep
  std::optional<double> peak_flops_per_second = {};  // the best burst between the turns
  std::vector<double> peak_bursts_flops_per_second = {};
};

void fields(auto& visit, Is<Turns> auto& turns) {
  visit("contestant", turns.worker);
  visit("steps", turns.steps, {.minimum = 1});
  VISIT(turns, dropped_rounds, order_seed, bound, spinning, peak_flops_per_second, peak_bursts_flops_per_second);
}

struct Run {
  std::string name;
  int repetition = 0;
  RunStatus status = RunStatus::ok;
  std::optional<std::string> message;
  Workload workload;
  Device device;
  Precision precision = Precision::fp32;
  Settings settings = {};      // what differs from its default
  std::optional<Input> input;  // also empty for synthetic data, prepared before the clock starts
  // Empty when the run is not ok, except for what a run that was interrupted or failed had measured until then.
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
  std::optional<Profile> profile;   // also empty if not requested
  std::optional<Turns> turns = {};  // empty unless processes took turns
  std::optional<Ranks> ranks = {};  // empty for a single process
};

// The precision that its products multiply in: not its own where the CPU has no instructions for that.
inline Precision product_precision(const Run& run) { return run.device.products.value_or(run.precision); }

// CPU threads of all processes of the run; empty if not known.
inline std::optional<int> cpu_threads(const Run& run) {
  return run.device.threads ? std::optional(*run.device.threads * (run.ranks ? run.ranks->count : 1)) : std::nullopt;
}

void fields(auto& visit, Is<Run> auto& run) {
  VISIT(run, name, repetition, status, message, workload, device, precision);
  visit("settings", run.settings, {.omitted_if_empty = true});
  visit("input", run.input);
  const bool shown = run.status == RunStatus::ok || run.status == RunStatus::interrupted || run.status == RunStatus::failed;
  visit("timing", run.timing, {.hidden = !shown});
  visit("throughput", run.throughput, {.hidden = !shown});
  visit("latency", run.latency, {.hidden = !shown});
  visit("efficiency", run.efficiency, {.hidden = !shown});
  visit("memory", run.memory, {.hidden = !shown});
  visit("interference", run.interference, {.hidden = !shown});
  visit("gpu", run.gpu, {.hidden = !shown});
  visit("quality", run.quality, {.hidden = !shown});
  visit("energy", run.energy, {.hidden = !shown});
  visit("cost", run.cost, {.hidden = !shown});
  visit("profile", run.profile, {.hidden = !shown});
  visit("turns", run.turns, {.omitted_if_empty = true});
  visit("ranks", run.ranks, {.omitted_if_empty = true});
}

struct Result {
  Context context;
  std::vector<Run> runs;
  std::optional<SweepAnswers> answers = {};  // of a sweep
};

void fields(auto& visit, Is<Result> auto& result) {
  VISIT(result, context, runs);
  visit("answers", result.answers, {.omitted_if_empty = true});
}

}  // namespace epochbench
