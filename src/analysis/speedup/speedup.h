// How much faster: pairs of runs of one workload, and what each pair says. It prints nothing, and holds no reference to
// results.
#pragma once

#include <string>
#include <vector>

#include "src/analysis/estimate.h"
#include "src/analysis/fairness.h"
#include "src/result/turns.h"

namespace epochbench {

struct SpeedupSide {
  std::string name, file;  // of its run, and where the first repetition stands
  Workload workload;
  Device device;
  std::string precision;
  Settings settings;  // of its case
  bool on_gpu = false;
  std::vector<double> samples_per_second;  // one a repetition
  double rate = 0;                         // their geometric mean
};

struct SpeedupPair {
  SpeedupSide baseline, contender;
  bool best_batch = false;  // each side at the batch at which it is fastest
  Estimate ratio;           // contender / baseline samples per second
  Estimate cost, energy;    // baseline / contender per epoch: above 1 the contender is the better; where not known, the reason
  std::vector<Warning> warnings;
};

struct Unpaired {
  std::string name, file;
  std::vector<int> repetitions;  // those that are meant; empty: the whole run
  std::string reason;
};

struct Speedup {
  std::vector<SpeedupPair> pairs;
  std::vector<Unpaired> unpaired;
};

enum class SpeedupOf : std::uint8_t { same_batch, best_batch };

// same_batch pairs runs of one fingerprint, mode and data set; best_batch those of one model with options, mode, optimizer (but
// for a default learning rate, which follows the batch) and data set, each device at its fastest batch. Of several thread
// counts the fastest stands for its device. The contenders, and their baselines:
//
//   a GPU                  the CPU in its precision, and the CPU in fp32; of each machine, where their names are known
//   in 16 bits             also fp32 and tf32 of the same device
//   in int8                also fp32 and bf16 of the same device
//   a CPU                  the first CPU in its precision of an earlier file, where that is another machine or build
//   PyTorch                ours on the same device in its precision; else as above
//   a GPU without any CPU  the first GPU in its precision, where that is another; else in tf32, fp32 of the same device
//
// A baseline with the contender's settings goes before one with others, one of its file and machine before those of others,
// and of several one with fewer warnings. A run with a handicap (src/analysis/fairness.h) is a baseline only for runs that
// share it.
// What ended in no pair is in `unpaired` with the reason.
Speedup speedup_of(const std::vector<NamedResult>& results, SpeedupOf what);

}  // namespace epochbench
