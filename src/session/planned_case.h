// From drafts to the list of cases that a run works through, with everything that can be wrong found before anything runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/case/case.h"
#include "src/case/case_options.h"
#include "src/result/result.h"

namespace epochbench {

struct Obstacle {      // why a case cannot run here
  std::string reason;  // one line
  int exit_code;       // when nothing else was asked for
};

struct PlannedCase {
  CaseSpec spec;
  Workload workload;
  double flops_per_sample = 0;  // of the mode: training or forward
  std::optional<Obstacle> obstacle;
};

// The run's name: "lenet5/cpu/fp32/b64/threads=1". After the batch comes, sorted, what is not the default and changes the
// workload or the meaning of the measurement; stopping options do not.
std::string run_name(const CaseDraft& draft, int default_threads);

// All cases once, then all again, each as often as its draft says, or else `repetitions` times. A case that is asked for
// twice is kept once, with the most repetitions.
// Errors: CallError, DataError, std::invalid_argument; CallError with the obstacle's code where no case can run.
std::vector<PlannedCase> plan_cases(const std::vector<CaseDraft>& drafts, int repetitions);

}  // namespace epochbench
