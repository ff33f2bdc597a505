// One case: everything that its process needs to know, and what the parent learns of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "epochbench/backend.h"
#include "epochbench/batch_source.h"
#include "epochbench/dataset.h"
#include "src/case/ablation.h"
#include "src/result/result.h"

namespace epochbench {

struct Until {
  std::string metric;  // "accuracy" (at least) or "loss" (at most), on the test split
  double value = 0;
};

struct StopSpec {
  std::optional<std::int64_t> steps, epochs;
  std::optional<double> min_time_seconds;
  std::optional<Until> until;  // with or without epochs, which then is the most
};

class MachineMeters;

struct CaseSpec {
  std::string name;  // of the run: "lenet5/cpu/fp32/b64"
  int repetition = 0;
  std::string model;           // with its options: "mlp:width=4096"
  std::string device = "cpu";  // "cpu", "cuda:0"
  std::string precision = "fp32", mode = "train", order = "shuffled", data;
  std::int64_t batch = 0;
  int threads = 0;           // resolved, never 0 in a case for the CPU
  std::string pin = "auto";  // of its threads: auto, cores or none; the parent's business alone
  int warmup = 3;
  std::uint64_t seed = 0;
  std::optional<double> learning_rate, dropout;
  std::optional<std::int64_t> epoch_samples;
  int loader_threads = Input{}.loader_threads;
  double decode_cost_seconds = 0;  // a sample
  std::string cache = "none";      // or decoded
  std::string init, save, trace;   // paths; empty: not asked for
  Without without;
  std::string gemm = "best";  // the CPU's kernels: best or portable
  bool profile = false;       // time a step by node, after all else
  bool meters = true;         // energy and the GPU's state are read meanwhile; the parent's business alone
  StopSpec stop;
};

// A case that is built and compiled: what the child's server drives.
struct PreparedCase {
  std::unique_ptr<Dataset> dataset;  // what `batches` reads, where it reads one
  std::unique_ptr<Executable> executable;
  std::unique_ptr<BatchSource> batches;  // destroyed first: it fills the executable's slots from the data set
  Entry entry = Entry::train;            // what is timed
  bool evaluates = false;                // there is a test split and an evaluate entry
  std::string metric = "accuracy";       // what an evaluation is known by, unless --until names another: accuracy or loss
  std::int64_t labels_per_sample = 1;
  std::string fingerprint;  // of the workload; empty: not known
  Device device;
  std::optional<Input> input;  // empty: nothing is read while steps run
  double compile_seconds = 0;
  std::int64_t planned_bytes = 0;
  std::int64_t resident_before_bytes = 0;  // resident memory just before compilation
  std::int64_t samples_per_epoch = 0;
  std::function<void(InputSlot slot, double loss)> after_step;  // as StepObserver of src/worker/runner.h; may be empty
  std::function<void()> finish;                                 // once all steps are done; may be empty
  std::function<std::int64_t()> skipped_steps;                  // by loss scaling, so far; empty: there is none
};

struct Progress {
  std::string phase;       // "compile", "warm up", "measure", "evaluate", "latency", "profile"
  std::int64_t steps = 0;  // timed so far
  std::optional<std::int64_t> steps_planned;
  double elapsed_seconds = 0, samples_per_second = 0;
  std::optional<double> loss, relative_noise, eval_value;
};

// The child's side (hidden subcommand `case`, without arguments: in_fd is standard input, out_fd standard output): reads
// commands from in_fd, answers on out_fd until `finish` or end of file. Whatever `prepare` or a step throws becomes a status
// for the parent; what a library prints goes to standard error. `measure_gpu` fills in what is measured of the GPU of that
// index. Returns the process's exit code.
struct CaseServices {
  std::function<PreparedCase(const CaseSpec&)> prepare;
  std::function<void(GpuInfo&, int index)> measure_gpu;
};
int serve_case(int in_fd, int out_fd, const CaseServices& services);

// The parent's side: starts `binary case` in this process group, drives it to the end and returns what came of it. Fills
// everything but name, repetition, workload, precision (the caller's), efficiency's peak_fraction, cost, parity, and of a
// profile what follows from its nodes and the machine's peaks (src/analysis/profile.h). `interrupted` is polled; once true the
// case is ended and the run's status is `interrupted`. `meters` (src/machine/meters.h) may be null: nothing is metered then.
Run run_case(const CaseSpec& spec, const std::string& binary, const std::function<void(const Progress&)>& progress,
             const std::function<bool()>& interrupted, const MachineMeters* meters = nullptr);

// Runs the calibration (measured peaks and bandwidth, src/machine/peaks.h) in a process of its own.
struct Peaks {
  std::optional<double> fp32_flops_per_second, bf16_flops_per_second, memory_bandwidth_bytes_per_second;
  std::optional<std::string> fp32_instruction, bf16_instruction;  // that the two are measured with
  int threads = 0;                                                // all together
};
Peaks measure_peaks(int threads);  // in this process
// Commands of `binary case`, as in serve_case. Errors: std::runtime_error with the reason why there are no numbers.
Peaks measure_peaks_in_child(const std::string& binary, int threads);
void measure_gpu_in_child(const std::string& binary, GpuInfo& gpu, int index);

}  // namespace epochbench
