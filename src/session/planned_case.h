// Turns what was asked for into the list of cases of a run, and finds everything that can be wrong before anything runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/case/case_block.h"
#include "src/case/case_spec.h"
#include "src/case/settings.h"
#include "src/data/dataset_sizes.h"
#include "src/result/result.h"

namespace epochbench {

struct Obstacle {      // why a case cannot run here
  std::string reason;  // one line
  int exit_code;       // when nothing else was asked for
};

struct PlannedCase {
  CaseSpec spec;      // finished
  Settings settings;  // what in it differs from its default
  Workload workload;
  double flops_per_sample = 0;  // of the mode: training or forward
  std::optional<Obstacle> obstacle;
};

// Threads of each process of a case without --threads: its share of this machine's cores.
int default_process_threads(const CaseSpec& spec);

// One case with what the model and the machine determine, its settings and their label. `repetition` stays 0. The size of its
// data set is read only if `sizes` does not have it.
// Errors: CallError, DataError, std::invalid_argument.
PlannedCase plan_case(const CaseSpec& asked, DatasetSizes& sizes);

// All cases once, then all again, each as often as it says, else `repetitions` times, and each time with the next seed if it
// trains to a target. A case that is requested twice is kept once, with the larger number of repetitions. `sizes`: of data sets
// opened before. Errors: CallError, DataError, std::invalid_argument; CallError with the obstacle's code where no case can run.
std::vector<PlannedCase> plan_cases(const std::vector<CaseSpec>& asked, int repetitions, DatasetSizes sizes = {});

// Whether everything that the call itself names, as opposed to a suite, was available: kExitDone if each value of each option
// in the call has a case that can run. Otherwise the code of what stops one that has none: of its obstacles a missing device
// first, and of several such values the call's code first. Cases of --only-with do not count.
int exit_code_for_skipped(const std::vector<PlannedCase>& cases, const CaseBlock& call);

// Why the ranks of a case cannot divide the optimizer; empty if they can, or do not.
std::optional<std::string> shard_obstacle(const CaseSpec& spec);

// Errors: CallError if options are about several ranks and no case has them.
void check_rank_options(const std::vector<CaseSpec>& cases);

// Prints one line on stderr per cause of skipped cases, however many cases and devices it stops, per model whose vocabulary is
// larger than that of its text, and per number of threads that this machine has no CPUs for.
void print_obstacles(const std::vector<PlannedCase>& cases);

}  // namespace epochbench
