#include "src/session/resume.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "src/analysis/parity.h"
#include "src/base/errors.h"
#include "src/base/text.h"
#include "src/case/run_name.h"
#include "src/machine/environment.h"
#include "src/result/anonymous.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

// Whether a run in a file is that of `planned`. Settings in an anonymous file may lack paths.
bool same_run(const Run& run, const PlannedCase& planned, bool may_be_anonymous) {
  if (run.repetition != planned.spec.repetition) return false;
  const Settings there = identifying(run.settings);
  if (there == identifying(planned.settings)) return true;
  if (!may_be_anonymous) return false;
  Run candidate;
  candidate.name = planned.spec.name;
  candidate.settings = planned.settings;
  candidate.workload = planned.workload;
  Result alone;
  alone.runs.push_back(candidate);
  return there == identifying(anonymous(alone).runs[0].settings);
}

}  // namespace

Resumed resume(const std::string& path, std::vector<PlannedCase> cases, bool anonymous) {
  if (path.empty()) return {{}, std::move(cases)};
  if (!std::filesystem::exists(path)) throw CallError("--resume: there is no " + path + "; begin it with --out " + path);
  Resumed resumed{read_result(path), {}};
  const std::string here = cpu_info().model, there = resumed.result.context.cpu.model;
  if (here != there)
    throw CallError("--resume: " + path + " was measured on " + there + ", and this machine is " + here +
                    "; leave out --resume to begin a result of its own");
  const Context now = describe_context({});
  if (resumed.result.context.git_sha != now.git_sha)
    print_error("warning: the runs in " + path + " are of another build (" +
                resumed.result.context.git_sha.value_or("unknown") + "); the file will name both");
  for (PlannedCase& planned : cases) {
    const bool done = std::ranges::any_of(resumed.result.runs, [&](const Run& run) {
      return run.status == RunStatus::ok && run.workload.fingerprint == planned.workload.fingerprint &&
             same_run(run, planned, anonymous);
    });
    if (!done) resumed.remaining.push_back(std::move(planned));
  }
  return resumed;
}

std::vector<EarlierCall> calls_of(const Context& context) {
  std::vector<EarlierCall> calls = context.earlier_calls;
  if (!context.date.empty()) calls.push_back({context, context.date, context.command_line});
  return calls;
}

std::vector<GpuInfo> with_known_gpus(std::vector<GpuInfo> visible, const std::vector<GpuInfo>& known, const std::string& path) {
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (i >= visible.size()) {
      visible.push_back(known[i]);
      continue;
    }
    if (visible[i].name != known[i].name)
      throw CallError("--resume: in " + path + " cuda:" + std::to_string(i) + " is \"" + known[i].name +
                      "\", and here it is \"" + visible[i].name +
                      "\"; select the same GPU with CUDA_VISIBLE_DEVICES, or leave out --resume");
    static_cast<MeasuredGpu&>(visible[i]) = known[i];
  }
  return visible;
}

std::string resume_command(const std::vector<std::string>& arguments, const std::string& path) {
  constexpr std::array kWithFile{"--out", "-o", "--resume"};
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& part = arguments[i];
    const auto names = [&](const std::string& option) {
      return part == option || part.starts_with(option + "=") || (option.size() == 2 && part.starts_with(option));
    };
    const bool with_file = std::any_of(kWithFile.begin(), kWithFile.end(), names);
    if (with_file) i += std::find(kWithFile.begin(), kWithFile.end(), part) != kWithFile.end();
    if (!with_file && part != "--overwrite") parts.push_back(part);
  }
  parts.insert(parts.end(), {"--resume", path});
  return joined(parts, shell_word, " ");
}

void replace_run(Result& result, Run run, const PlannedCase& planned, bool anonymous) {
  const bool tells_more = std::ranges::any_of(
      result.runs, [&](const Run& old) { return old.status != RunStatus::skipped && same_run(old, planned, anonymous); });
  if (run.status == RunStatus::skipped && tells_more) return;
  std::erase_if(result.runs, [&](const Run& old) { return same_run(old, planned, anonymous); });
  result.runs.push_back(std::move(run));
  fill_parity(result.runs);
}

}  // namespace epochbench
