// How a call that measures ends: its exit code, and the command that goes on after an interrupt.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/errors.h"
#include "src/session/measuring.h"
#include "src/session/resume.h"
#include "support/made_cases.h"

namespace epochbench {
namespace {

PlannedCase planned(const char* name, DeviceId device, Precision precision, std::optional<Obstacle> obstacle = {}) {
  PlannedCase one;
  one.spec.name = name;
  one.settings = {{"device", to_string(device)}, {"precision", std::string(epochbench::name(precision))}};
  one.obstacle = std::move(obstacle);
  return one;
}

const Obstacle kNoGpu{"no GPU", kExitDeviceMissing}, kNoFormat{"no such format", kExitCallIsWrong};

struct Ended {
  MeasuringRequest request;
  Measurement measurement{{}, "result.json", true};

  Ended(std::vector<PlannedCase> cases, const CaseBlock& call) {
    for (const PlannedCase& one : cases) {
      Run run;
      run.name = one.spec.name;
      run.status = one.obstacle ? RunStatus::skipped : RunStatus::ok;
      measurement.result.runs.push_back(run);
    }
    request.cases = std::move(cases);
    request.call = call;
  }
  int code() const { return exit_code(request, measurement); }
};

std::vector<PlannedCase> cpu_and_missing_gpu() {
  return {planned("cpu", {}, Precision::fp32), planned("gpu", cuda_device(0), Precision::fp32, kNoGpu)};
}

TEST(ExitCode, IsOfWhatTheCallNames) {
  EXPECT_EQ(Ended(cpu_and_missing_gpu(), {}).code(), kExitDone) << "a suite's own list";
  EXPECT_EQ(Ended(cpu_and_missing_gpu(), block_of({{"device", "cpu,cuda:0"}})).code(), kExitDeviceMissing);
  EXPECT_EQ(Ended(cpu_and_missing_gpu(), block_of({{"precision", "fp32"}})).code(), kExitDone) << "fp32 ran on the CPU";
  const std::vector<PlannedCase> formats{planned("a", {}, Precision::fp32), planned("b", {}, Precision::tf32, kNoFormat)};
  EXPECT_EQ(Ended(formats, block_of({{"precision", "fp32,tf32"}})).code(), kExitCallIsWrong);
  EXPECT_EQ(Ended(formats, block_of({{"device", "cpu"}})).code(), kExitDone) << "the CPU ran";
  std::vector<PlannedCase> caches{planned("a", {}, Precision::fp32), planned("b", {}, Precision::fp32, kNoFormat)};
  caches[1].settings["cache"] = std::string("decoded");
  EXPECT_EQ(Ended(caches, block_of({{"cache", "none,decoded"}})).code(), kExitCallIsWrong) << "settings lack the default";
  EXPECT_EQ(Ended(caches, block_of({{"precision", "fp32"}})).code(), kExitDone);
}

TEST(ExitCode, OfALackingPrecisionIsThatOfItsDeviceWhereThatIsMissing) {
  std::vector<PlannedCase> cases = cpu_and_missing_gpu();
  cases.push_back(planned("tf32", cuda_device(0), Precision::tf32, kNoGpu));
  EXPECT_EQ(Ended(cases, block_of({{"precision", "fp32,tf32"}})).code(), kExitDeviceMissing);
  cases.push_back(planned("tf32 on the CPU", {}, Precision::tf32, kNoFormat));
  EXPECT_EQ(Ended(cases, block_of({{"precision", "fp32,tf32"}})).code(), kExitDeviceMissing);
}

TEST(ExitCode, OfSeveralIsTheFirstByPrecedence) {
  Ended ended(cpu_and_missing_gpu(), block_of({{"device", "cpu,cuda:0"}, {"precision", "fp32,tf32"}}));
  ended.measurement.result.runs[0].status = RunStatus::diverged;
  EXPECT_EQ(ended.code(), kExitAnswerIsNo) << "before a missing device";
  ended.request.cases.push_back(planned("tf32", {}, Precision::tf32, kNoFormat));
  EXPECT_EQ(ended.code(), kExitCallIsWrong) << "before a failed case";
  ended.request.allow_skipped = true;
  EXPECT_EQ(ended.code(), kExitAnswerIsNo);
  ended.measurement.written = false;
  EXPECT_EQ(ended.code(), kExitCallIsWrong);
}

TEST(ExitCode, OfSkippedCasesIsDoneWhereTheCallAllowsIt) {
  Ended ended(cpu_and_missing_gpu(), block_of({{"device", "cpu,cuda:0"}}));
  ended.request.allow_skipped = true;
  EXPECT_EQ(ended.code(), kExitDone);
  ended.request.allow_skipped = false;
  ended.request.cases[1].spec.beside_device = cuda_device(0);
  EXPECT_EQ(ended.code(), kExitDone) << "--only-with asks to be skipped";
}

TEST(ResumeCommand, IsTheCallWithAnotherFile) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(resume_command(Words{"epochbench", "run", "--suite", "my suite.json", "--out", "a.json", "--overwrite", "--quiet"},
                           "a.json"),
            "epochbench run --suite 'my suite.json' --quiet --resume a.json");
  EXPECT_EQ(resume_command(Words{"epochbench", "run", "-o", "a", "--resume=b", "--model", "mlp"}, "it's"),
            "epochbench run --model mlp --resume 'it'\\''s'");
  EXPECT_EQ(resume_command(Words{"epochbench", "sweep", "-oa", "--out=b", "--over", "batch"}, "b"),
            "epochbench sweep --over batch --resume b");
}

}  // namespace
}  // namespace epochbench
