// How much faster: pairs of runs of one workload, and what each pair says. It prints nothing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/analysis/fairness.h"
#include "src/figures/estimate.h"
#include "src/result/turns.h"

namespace epochbench {

struct SpeedupSide {
  std::string name, file;  // of its run, and the file of the first repetition
  Workload workload;
  Device device;
  Precision precision = Precision::fp32;
  Settings settings;  // of its case
  bool on_gpu = false;
  bool loaded = false;        // other processes disturbed a run of it
  std::vector<double> rates;  // samples per second, one per repetition
  double rate = 0;            // their geometric mean
  Repetitions runs = {};      // whose rates they are; the results must outlive it
  double error = kError;      // of intervals over them (src/figures/best_choice.h)
  // By the roofline of its device, and the same where kernels cannot end sooner than they are launched, in samples per second;
  // 0: not known.
  double roofline_rate = 0, launched_rate = 0;
  // For trainings to a target: how many there are, and how many reached it; 0 if another question is asked.
  std::size_t trained = 0, reached = 0;
};

// What the sides of a pair differ in.
enum class Compares : std::uint8_t {
  devices_or_precisions,  // also machines, builds and frameworks
  parts,                  // the baseline lacks parts (--without) or has lesser kernels; the contender is complete
  threads,                // the contender has more
};
constexpr auto texts_of(Compares) { return std::array{"devices_or_precisions", "parts", "threads"}; }

// Why a ratio is what it is: ratio = silicon * launches * software.
struct SpeedupParts {
  double silicon = 1;   // of the rooflines: what the contender's device can do over what the baseline's can
  double launches = 1;  // what launching its kernels leaves of that; 1 unless a side loses a tenth or more
  Estimate software;    // how much nearer to its roofline the contender is, with the interval of the ratio
  double baseline_times = 1, contender_times = 1;  // how many times its roofline, launches included, a step takes
};

struct SpeedupPair {
  SpeedupSide baseline, contender;
  bool best_batch = false;    // each side at its fastest batch
  bool each_at_best = false;  // each device at its fastest precision and batch
  std::string target = {};    // that both trained to, if the question is the time to it: "accuracy=0.9"
  Estimate ratio;             // contender / baseline samples per second; to a target: baseline / contender seconds
  // baseline / contender per epoch, or to the target: above 1 the contender is better; if not known, the reason
  Estimate cost, energy;
  std::vector<Warning> warnings;
  Compares compares = Compares::devices_or_precisions;
  std::string lacks = {};  // the baseline, if parts are compared: "without fusion, portable kernels"
  // Why devices or precisions differ at work, if both rooflines are known; not for times to a target, parts and threads.
  std::optional<SpeedupParts> parts = {};
  bool by_rounds = false;  // the processes took turns, so the ratio is that of their rounds, not of their rates
};

// Empty if a roofline is not known.
std::optional<SpeedupParts> explain(const SpeedupSide& baseline, const SpeedupSide& contender, const Estimate& ratio);

// Whether being at their best gave the sides different precisions or batches.
inline bool at_own_best(const SpeedupPair& pair) {
  const SpeedupSide &baseline = pair.baseline, &contender = pair.contender;
  return pair.each_at_best &&
         (baseline.precision != contender.precision || baseline.workload.batch != contender.workload.batch);
}

// Why it cannot carry an answer: "resnet50/cuda/fp32/b256: its steps take ..."; "" if it can.
std::string why_unusable(const SpeedupPair& pair);

struct Unpaired {
  std::string name, file;
  std::vector<int> repetitions;  // those that are meant; empty: the whole run
  std::string reason;
};

struct Speedup {
  std::vector<SpeedupPair> pairs;  // first those of each device at its best
  std::vector<Unpaired> unpaired;
};

enum class SpeedupOf : std::uint8_t { same_batch, best_batch, to_quality };

// same_batch pairs runs of one fingerprint, mode and data set; best_batch those of one model with options, mode, optimizer
// (except a default learning rate, which follows the batch) and data set, each device at its fastest batch. The fastest of
// several thread counts represents its device. to_quality pairs trainings of one fingerprint to one target, seed by seed, as
// quality_ratio() says (src/analysis/time_to_quality.h). same_batch also pairs each GPU with each CPU at their best: the
// fastest runs of one model, whatever their precision and batch. The contenders, and their baselines:
//
//   a GPU                  the CPU in its precision (of tf32, in fp32), or, without such a run, in its fastest;
//                          of each machine, where their names are known
//   in 16 bits             also fp32 and tf32 of the same device
//   in int8                also fp32 and bf16 of the same device
//   a CPU                  the first CPU in its precision of an earlier file, where that is another machine or build
//   PyTorch                ours on the same device in its precision; on a GPU also PyTorch on the CPU; else as above
//   a GPU without any CPU  the first GPU in its precision, where that is another; else in tf32, fp32 of the same device
//   a complete case        the same case without a part or with lesser kernels
//   several threads        the same case with the fewest threads
//
// Runs in one precision are a pair only if their products multiply in one precision, too, except for each device at its best.
// A baseline with the contender's settings is preferred to one with others, one of its file and machine to those of others, and
// of several the one with fewer warnings. A run with a handicap (src/analysis/fairness.h) is a baseline only for runs that
// share it, and for the same case without that handicap. The last two rows come last, and not with best_batch. Runs without a
// pair are in `unpaired` with the reason.
Speedup speedup_of(const std::vector<NamedResult>& results, SpeedupOf what);

}  // namespace epochbench
