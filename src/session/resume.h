// Resuming a result: which cases it already has, and how a run replaces an older one.
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

// Without a path everything remains. A case is done if the file has an ok run with its settings, fingerprint and repetition;
// options that say when a case ends are ignored. `anonymous`: settings there may lack paths.
// Errors: CallError for a file that is missing or was measured on another machine, FormatError.
Resumed resume(const std::string& path, std::vector<PlannedCase> cases, bool anonymous);

// The calls that made a result before the present one goes on with it, oldest first. `context`: of that result; without a date,
// nothing was resumed.
std::vector<EarlierCall> calls_of(const Context& context);

// The GPUs of this machine together with what a resumed result knows about them: measured values, and GPUs that are no longer
// visible but may have runs there. `path`: of that result. Errors: CallError if a visible one is a different model.
std::vector<GpuInfo> with_known_gpus(std::vector<GpuInfo> visible, const std::vector<GpuInfo>& known, const std::string& path);

// The command that resumes the result at `path` after a call with these arguments, quoted for a shell: the same call without
// --out, --overwrite and its own --resume.
std::string resume_command(const std::vector<std::string>& arguments, const std::string& path);

// Adds the run, replacing an older one of the same case, and compares the losses again. A skipped case does not replace an
// older run that was not skipped: a missing device does not undo an earlier failure.
void replace_run(Result& result, Run run, const PlannedCase& planned, bool anonymous);

}  // namespace epochbench
