// Going on with a result: which of the cases it already holds, and how a case takes the place of its older run.
#pragma once

#include <string>
#include <vector>

#include "epochbench/gpu.h"
#include "src/result/result.h"
#include "src/session/planned_case.h"

namespace epochbench {

struct Resumed {
  Result result;
  std::vector<PlannedCase> remaining;
};

// Without a path everything remains. A case is done where the file has an ok run with its settings, fingerprint and
// repetition; options that say when a case ends do not count. `anonymous`: settings there may lack paths.
// Errors: CallError for a file that is missing or was measured on another machine, FormatError.
Resumed resume(const std::string& path, std::vector<PlannedCase> cases, bool anonymous);

// The GPUs of this machine together with what a resumed result knows of them: measured values, and GPUs that are no longer
// visible but may have runs there. `path`: of that result. Errors: CallError where a visible one is another model now.
std::vector<GpuInfo> with_known_gpus(std::vector<GpuInfo> visible, const std::vector<GpuInfo>& known, const std::string& path);

// The command that goes on with the result at `path` after a call with these arguments, quoted for a shell: the same call
// without --out, --overwrite and its own --resume.
std::string resume_command(const std::vector<std::string>& arguments, const std::string& path);

// Adds the run in place of an older one of the same case, and compares the losses again. A case that was skipped leaves an
// older run that was not, as what failed before is not undone where its device is missing.
void put(Result& result, Run run, const PlannedCase& planned, bool anonymous);

}  // namespace epochbench
