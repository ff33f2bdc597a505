// One case: what is run, where and how. This struct carries it from the command line and suites to the process that runs it;
// the table of options (src/case/case_option.h) defines how each member is written in each place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "epochbench/model.h"
#include "src/case/ablation.h"
#include "src/case/choices.h"
#include "src/case/device_id.h"

namespace epochbench {

struct Until {
  EvalMetric metric = EvalMetric::accuracy;  // accuracy: at least; loss: at most
  double value = 0;
  bool operator==(const Until&) const = default;
};

struct StopSpec {
  std::optional<std::int64_t> steps, epochs;
  std::optional<double> min_time_seconds;
  std::optional<Until> until;  // with or without epochs, which then are the limit
  bool operator==(const StopSpec&) const = default;
};

inline constexpr int kDefaultWarmUpSteps = 3;
// Small enough to stay in the caches during an exchange, and large compared with the cost of a call.
inline constexpr double kDefaultBucketMib = 4;
inline constexpr const char* kRanksPlaceholder = "{ranks}";  // in CaseSpec::launcher

struct CaseSpec {
  std::string name;  // a label of the run, from its settings: "lenet5/cpu/fp32/b64"
  int repetition = 0;

  Model model;
  DeviceId device;
  Precision precision = Precision::fp32;
  Mode mode = Mode::train;
  // Empty until planning: the model's batch, data and dropout, the machine's cores.
  std::optional<std::int64_t> batch;
  std::optional<int> threads;
  bool has_default_threads = false;  // `threads` is the machine's, which no one asked for
  std::optional<std::string> data;
  ImageOptions images;               // for image files
  std::string tokenizer;             // for texts: "gpt2:DIR" or "wordpiece:FILE"; empty: bytes
  Pinning pin = Pinning::automatic;  // of the CPU threads
  Without without;
  Kernels kernels = Kernels::best;  // of the CPU
  bool meters = true;               // read energy and the GPU's state while steps are timed
  StopSpec stop;
  std::optional<int> warmup;              // empty: default_warm_up_steps
  std::int64_t accumulate = 1;            // parts of a rank's batch, whose gradients are summed
  int ranks = 1;                          // processes that share each batch; `threads` is per process
  int communication_threads = 0;          // per rank on a CPU: see exchange_threads()
  std::string launcher;                   // starts the ranks: "srun -n {ranks}"; empty: mpirun
  bool oversubscribe = false;             // allow more ranks than cores
  Shard shard = Shard::none;              // what ranks divide among themselves
  double bucket_mib = kDefaultBucketMib;  // MiB of gradients exchanged at once
  Checkpoint checkpoint = Checkpoint::none;
  std::optional<std::int64_t> epoch_samples;
  std::uint64_t seed = 0;
  std::optional<double> learning_rate, weight_decay, dropout;  // empty: the model's
  Schedule lr_schedule = Schedule::constant;
  std::int64_t lr_warmup = 0;  // steps
  double label_smoothing = 0;
  double mixup = 0;  // 0: none
  double ema = 0;    // decay of the averages of weights that evaluation uses; 0: none
  Order order = Order::shuffled;
  int loader_threads = 1;
  double decode_cost_seconds = 0;  // per sample
  Cache cache = Cache::none;
  std::string init, save, trace;  // paths; empty: none
  bool profile = false;           // time a step by node, after all else

  // Only for peers: how PyTorch compiles, how its threads wait, and whether they are bound to cores.
  Framework framework = Framework::epochbench;
  std::string compile = "eager", wait = "sleep", bind = "yes";

  // Only for the plan: how often the case runs, and what this machine must have so that it is not skipped.
  std::optional<int> repetitions, min_cores;
  std::optional<DeviceId> beside_device;
  bool needs_data = false;  // the files of `data`
};

// Threads per rank that exchange with other ranks while the rest compute.
inline int exchange_threads(const CaseSpec& spec) {
  return spec.ranks > 1 && spec.device.kind == DeviceKind::cpu ? spec.communication_threads : 0;
}

// The default number of steps before the timed ones. Empty: a GPU's clocks change under load, so it warms up by time unless a
// number of timed steps or epochs is given.
std::optional<int> default_warm_up_steps(const CaseSpec& spec);

const ModelFamily* find_family(const std::string& model);  // of "mlp:width=4096"; null: unknown
// The model in a message from another build, which may not be known here; then it has only its name.
Model model_in_message(const std::string& name);

// The case of a model of this family with all defaults, including those from the family and the machine. `family`: null if it
// is unknown, which adds none. `threads`: the machine's; empty: unknown.
CaseSpec default_case(const ModelFamily* family, std::optional<int> threads);

// The same case with the values left to the model and the machine filled in. Zero threads: a peer's own number.
CaseSpec finished(CaseSpec spec, int threads);

}  // namespace epochbench
