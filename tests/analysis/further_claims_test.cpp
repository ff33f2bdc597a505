// Verdicts on claims about profiles, suites, latency and power, from constructed results.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/made_claims.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

TEST(Claims, TheShareOfProductsIsOfTheProfile) {
  const auto answer = [](double products) {
    auto runs = runs_of("resnet20", "cpu", "fp32", 32, 100);
    for (auto& run : runs) {
      run.profile = Profile{};
      run.profile->seconds = 1;
      ProfileClass conv, relu;
      conv.seconds = products + 0.001 * run.repetition;
      conv.flops_per_second = 1e11;
      relu.seconds = 1 - conv.seconds;
      run.profile->classes = {conv, relu};
    }
    return answer_to("matrix-core", {runs_of("resnet20", "cpu", "fp32", 8, 50), runs});
  };
  EXPECT_EQ(answer(0.9).verdict, Verdict::reproduced) << "the case without a profile says nothing";
  EXPECT_NEAR(*part_of(answer(0.9), "resnet20").measured, 0.902, 1e-9);
  EXPECT_EQ(answer(0.3).verdict, Verdict::not_reproduced);
}

TEST(Claims, TheHourIsThatOfItsSuite) {
  const auto answer = [](const char* suite, double seconds_per_run, RunStatus last = RunStatus::ok) {
    NamedResult named = result_of({runs_of("resnet50", "cpu", "fp32", 16, 100)});
    named.result.context.suite = suite;
    for (auto& run : named.result.runs) run.timing->wall_seconds = seconds_per_run;
    named.result.runs.back().status = last;
    return answer_to("hour-benchmark", std::vector{named});
  };
  EXPECT_EQ(answer("hour", 600).verdict, Verdict::reproduced);
  EXPECT_NEAR(*answer("hour", 600).measured, 50, 1e-9);
  EXPECT_EQ(answer("hour", 800).verdict, Verdict::not_reproduced);
  EXPECT_EQ(answer("claims", 600).verdict, Verdict::not_testable);
  EXPECT_EQ(answer("hour", 600, RunStatus::skipped).verdict, Verdict::not_testable);
  EXPECT_THAT(answer("hour", 600, RunStatus::skipped).reason, HasSubstr("1 of the 5 runs of made.json were skipped or failed"));
}

TEST(Claims, NarrowLayersAreComparedWithWideOnes) {
  const auto answer = [](double narrow) {
    std::vector<std::vector<epochbench::Run>> runs;
    for (const auto& [width, fraction] : {std::pair{"64", narrow}, {"4096", 0.8}}) {
      runs.push_back(runs_of("mlp:width=" + std::string(width), "cuda", "fp32", 64, 100));
      for (auto& run : runs.back()) run.efficiency = Efficiency{1e9, fraction * (1 + 0.001 * run.repetition), {}, {}};
    }
    return answer_to("small-ops", runs);
  };
  EXPECT_EQ(answer(0.2).verdict, Verdict::reproduced) << answer(0.2).reason;
  EXPECT_NEAR(*answer(0.2).measured, 0.25, 1e-9);
  EXPECT_EQ(answer(0.9).verdict, Verdict::not_reproduced);
}

TEST(Claims, InferenceIsTimedBesideTrainingOfTheSameWork) {
  const auto answer = [](double forward, const char* fingerprint) {
    auto training = runs_of("bert-base", "cpu", "fp32", 1, 10), inference = runs_of("bert-base", "cpu", "fp32", 1, forward);
    for (auto& run : inference) {
      run.workload.mode = Mode::forward;
      run.workload.fingerprint = fingerprint;
    }
    return part_of(answer_to("inference-lighter", {training, inference}), "time/bert-base");
  };
  EXPECT_EQ(answer(30, "bert-base1").verdict, Verdict::reproduced);
  EXPECT_EQ(answer(5, "bert-base1").verdict, Verdict::not_reproduced);
  EXPECT_EQ(answer(30, "other").verdict, Verdict::not_testable);
}

TEST(Claims, PowerIsThatOfTheDeviceThatRan) {
  auto cpu = runs_of("resnet50", "cpu", "fp32", 16, 10), gpu = runs_of("resnet50", "cuda", "fp32", 16, 100);
  for (auto& run : cpu) {
    run.energy = Energy{};
    run.energy->cpu_average_watts = 100 + run.repetition;
  }
  for (auto& run : gpu) {
    run.energy = Energy{};
    run.energy->gpu_average_watts = 300 + run.repetition;
    run.energy->cpu_average_watts = 1000;
  }
  const ClaimAnswer answer = answer_to("gpu-power", {cpu, gpu});
  EXPECT_EQ(answer.verdict, Verdict::reproduced);
  EXPECT_NEAR(*part_of(answer, "resnet50").measured, 2.96, 0.01);
}

}  // namespace
}  // namespace epochbench
