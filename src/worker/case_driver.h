// run_case with its limits open, so that tests need not wait.
#pragma once

#include <functional>
#include <string>

#include "src/case/case.h"
#include "src/worker/case_process.h"
#include "src/worker/stopping_rule.h"

namespace epochbench {

struct DriverOptions {
  ProcessLimits process;
  StoppingLimits stopping;
  const MachineMeters* meters = nullptr;  // none: nothing is metered
};

Run run_case(const CaseSpec& spec, const WorkerCommand& worker, const std::function<void(const Progress&)>& progress,
             const std::function<bool()>& interrupted, const DriverOptions& options);

}  // namespace epochbench
