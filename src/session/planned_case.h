// From what was asked for to the list of cases that a run works through, with everything that can be wrong found before
// anything runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/case/case_spec.h"
#include "src/case/settings.h"
#include "src/result/result.h"

namespace epochbench {

class DatasetSizes;  // src/data/dataset_sizes.h

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

// One case with what the model and the machine decide, its settings and their label. `repetition` stays 0. The size of its data
// set is read only if `sizes` does not have it.
// Errors: CallError, DataError, std::invalid_argument.
PlannedCase plan_case(const CaseSpec& asked, DatasetSizes& sizes);

// All cases once, then all again, each as often as it says itself, or else `repetitions` times. A case that is asked for
// twice is kept once, with the most repetitions.
// Errors: CallError, DataError, std::invalid_argument; CallError with the obstacle's code where no case can run.
std::vector<PlannedCase> plan_cases(const std::vector<CaseSpec>& asked, int repetitions);

}  // namespace epochbench
