// Verdicts from constructed results: what a GPU, a CPU or neither would say.
#include "src/analysis/claims/claims.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analysis/claims/claim_kinds.h"
#include "tests/support/made_claims.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

constexpr ClaimedRange kFourToEight{4, 8};

TEST(VerdictOf, ComparesTheIntervalWithTheRange) {
  EXPECT_EQ(verdict_of(kFourToEight, {4, 8}), Verdict::reproduced);
  EXPECT_EQ(verdict_of(kFourToEight, {8.1, 9}), Verdict::exceeded);
  EXPECT_EQ(verdict_of(kFourToEight, {1, 3.9}), Verdict::not_reproduced);
  EXPECT_EQ(verdict_of(kFourToEight, {3.9, 4.1}), Verdict::undecided);
  EXPECT_EQ(verdict_of(kFourToEight, {7.9, 8.1}), Verdict::undecided);
  EXPECT_EQ(verdict_of(kFourToEight, {3, 9}), Verdict::undecided);
  EXPECT_EQ(verdict_of(kFourToEight, {1, 4}), Verdict::undecided) << "a bound belongs to the range";
  EXPECT_EQ(verdict_of(kFourToEight, {8, 9}), Verdict::undecided);
}

TEST(VerdictOf, AnOpenRangeCannotBeExceeded) {
  const ClaimedRange faster{1, std::nullopt};
  EXPECT_EQ(verdict_of(faster, {1.01, 1e300}), Verdict::reproduced);
  EXPECT_EQ(verdict_of(faster, {0.9, 0.99}), Verdict::not_reproduced);
  EXPECT_EQ(verdict_of(faster, {0.99, 1.01}), Verdict::undecided);
}

TEST(VerdictOf, WhereLessIsMoreTheSidesChange) {
  const ClaimedRange at_most{22, 35, true};
  EXPECT_EQ(verdict_of(at_most, {36, 40}), Verdict::not_reproduced);
  EXPECT_EQ(verdict_of(at_most, {10, 20}), Verdict::exceeded);
  EXPECT_EQ(verdict_of({std::nullopt, 1, true}, {0.1, 0.9}), Verdict::reproduced);
  EXPECT_EQ(verdict_of({std::nullopt, 1, true}, {3.9, 4.1}), Verdict::not_reproduced);
}

TEST(Claims, ARatioIsJudgedForEachModelAndTheWorstCounts) {
  const auto verdict = [](double resnet, double bert) {
    return answer_about_all("cnn-transformer-4-8x",
                            {runs_of("resnet50", "cpu", "fp32", 16, 100), runs_of("resnet50", "cuda", "fp32", 16, 100 * resnet),
                             runs_of("bert-base", "cpu", "fp32", 8, 10), runs_of("bert-base", "cuda", "fp32", 8, 10 * bert)});
  };
  const ClaimAnswer holds = verdict(5, 6);
  EXPECT_EQ(holds.verdict, Verdict::reproduced);
  EXPECT_NEAR(*holds.measured, 5, 1e-9);
  EXPECT_LT(holds.measured_ci95->first, 5);
  EXPECT_GT(holds.measured_ci95->second, 5);
  EXPECT_EQ(holds.parts.size(), 7u) << "four models, one published, two expected";
  EXPECT_NEAR(*part_of(holds, "bert-base").measured, 6, 1e-9);
  EXPECT_THAT(holds.conditions, HasSubstr("fp32 on NVIDIA H200, batch 16, against fp32 on AMD EPYC, 2 threads"));
  EXPECT_EQ(verdict(20, 30).verdict, Verdict::exceeded);
  EXPECT_EQ(verdict(20, 6).verdict, Verdict::exceeded);
  EXPECT_EQ(verdict(5, 2).verdict, Verdict::not_reproduced);
  EXPECT_EQ(verdict(8, 6).verdict, Verdict::undecided);
}

TEST(Claims, WhatIsRoutineHoldsForMostModels) {
  const auto verdict = [](const std::vector<double>& speedups) {
    std::vector<std::vector<epochbench::Run>> runs;
    const std::vector<const char*> models{"resnet50", "bert-base", "resnet152", "bert-large"};
    for (std::size_t i = 0; i < speedups.size(); ++i) {
      runs.push_back(runs_of(models[i], "cpu", "fp32", 16, 100));
      runs.push_back(runs_of(models[i], "cuda", "fp32", 16, 100 * speedups[i]));
    }
    return answer_to("cnn-transformer-4-8x", runs).verdict;
  };
  EXPECT_EQ(verdict({5, 6, 7, 2}), Verdict::reproduced);
  EXPECT_EQ(verdict({5, 6, 2, 2}), Verdict::not_reproduced);
  EXPECT_EQ(verdict({5, 6}), Verdict::undecided) << "two models are too few";
}

// The best of the models decides, so each interval is wider.
TEST(Claims, AboutSomeModelAreCorrectedForTheChoice) {
  const auto answer = [](std::size_t count) {
    std::vector<std::vector<epochbench::Run>> runs;
    const std::vector<const char*> models{"resnet50", "resnet20", "bert-base"};
    for (std::size_t i = 0; i < count; ++i) {
      runs.push_back(runs_of(models[i], "cpu", "fp32", 16, 100));
      runs.push_back(runs_of(models[i], "cuda", "fp32", 16, i == 0 ? 1500 : 500));
    }
    return answer_to("days-to-hours", runs);
  };
  const ClaimAnswer one = answer(1), three = answer(3);
  EXPECT_EQ(one.verdict, Verdict::reproduced);
  EXPECT_EQ(three.verdict, Verdict::reproduced);
  EXPECT_NEAR(*three.measured, 15, 1e-9);
  EXPECT_LT(three.measured_ci95->first, one.measured_ci95->first);
  EXPECT_GT(three.measured_ci95->second, one.measured_ci95->second);
  EXPECT_THAT(three.conditions, HasSubstr("the interval is at 98.33 %, since it is one of 3 that may decide"));
}

// Holm's method: the model that holds leaves the error to the others, so that one more can be shown to hold.
TEST(Claims, AboutSomeModelNameAllThatHold) {
  const auto answer = [](const std::vector<double>& speedups) {
    std::vector<std::vector<epochbench::Run>> runs;
    const std::vector<const char*> models{"resnet50", "resnet20", "bert-base"};
    for (std::size_t i = 0; i < speedups.size(); ++i) {
      runs.push_back(runs_of(models[i], "cpu", "fp32", 16, 100));
      runs.push_back(runs_of(models[i], "cuda", "fp32", 16, 100 * speedups[i]));
    }
    return answer_to("days-to-hours", runs);
  };
  const auto width = [&](const std::vector<double>& speedups) {
    const ClaimAnswer of = answer(speedups);
    return of.measured_ci95->second / *of.measured;
  };
  const double of_two = width({15, 5}), of_three = width({15, 5, 5});
  ASSERT_LT(of_two, of_three);
  const double near_the_end = 18 / std::sqrt(of_two * of_three);  // inside by the narrower interval alone
  EXPECT_THAT(answer({15, near_the_end, 5}).reason, HasSubstr("resnet20 " + short_number(near_the_end, 3) + "x, which holds"));
  EXPECT_THAT(answer({5, near_the_end, 5}).reason, HasSubstr("resnet20 " + short_number(near_the_end, 3) + "x, undecided"));
}

TEST(Claims, PartsAreUndecidedUnderFiveRepetitions) {
  const ClaimAnswer answer = answer_about_all(
      "cnn-transformer-4-8x", {runs_of("resnet50", "cpu", "fp32", 16, 100, "", 4), runs_of("resnet50", "cuda", "fp32", 16, 500),
                               runs_of("bert-base", "cpu", "fp32", 8, 10), runs_of("bert-base", "cuda", "fp32", 8, 60)});
  EXPECT_EQ(answer.verdict, Verdict::reproduced) << "by the part that has an interval";
  EXPECT_THAT(answer.reason, HasSubstr("without an interval: resnet50"));
  EXPECT_EQ(part_of(answer, "resnet50").verdict, Verdict::undecided);
  EXPECT_THAT(part_of(answer, "resnet50").reason, HasSubstr("5 repetitions"));
  EXPECT_FALSE(part_of(answer, "resnet50").measured_ci95);
  EXPECT_EQ(part_of(answer, "bert-base").verdict, Verdict::reproduced);
}

TEST(Claims, AreNotTestableWithoutAGpuAndSayWhy) {
  auto skipped = run_of("resnet50", "cuda", "fp32", 16, 1, 0);
  skipped.status = RunStatus::skipped;
  skipped.message = "no NVIDIA driver";
  const ClaimAnswer answer = answer_to("cnn-transformer-4-8x", {runs_of("resnet50", "cpu", "fp32", 16, 100), {skipped}});
  EXPECT_EQ(answer.verdict, Verdict::not_testable);
  EXPECT_FALSE(answer.measured);
  EXPECT_THAT(part_of(answer, "resnet50").reason, HasSubstr("no GPU: no NVIDIA driver"));
}

TEST(Claims, OfWhatEndedSayHow) {
  auto full = run_of("bert-large", "cuda", "bf16", 4, 1, 0);
  full.status = RunStatus::out_of_memory;
  full.message = "80 GB are not enough";
  const ClaimAnswer answer = answer_to("large-models-10-100x", {runs_of("bert-large", "cpu", "fp32", 4, 1), {full}});
  EXPECT_THAT(part_of(answer, "bert-large").reason, HasSubstr("out of memory: 80 GB are not enough"));
}

TEST(Claims, OtherWorkloadsAreNotPaired) {
  const auto verdict = [](auto change) {
    auto gpu = runs_of("resnet50", "cuda", "fp32", 16, 500);
    for (auto& run : gpu) change(run);
    return part_of(answer_to("cnn-transformer-4-8x", {runs_of("resnet50", "cpu", "fp32", 16, 100), gpu}), "resnet50").verdict;
  };
  EXPECT_EQ(verdict([](epochbench::Run&) {}), Verdict::reproduced);
  EXPECT_EQ(verdict([](epochbench::Run& run) { run.workload.fingerprint = "other"; }), Verdict::not_testable);
  EXPECT_EQ(verdict([](epochbench::Run& run) { run.workload.seed = 1; }), Verdict::reproduced) << "a seed is a repetition";
  EXPECT_EQ(verdict([](epochbench::Run& run) { run.workload.dataset = "idx:x"; }), Verdict::not_testable);
  EXPECT_EQ(verdict([](epochbench::Run& run) { run.workload.mode = Mode::forward; }), Verdict::not_testable);
  EXPECT_EQ(verdict([](epochbench::Run& run) { rename(run, run.name + "/without=fusion"); }), Verdict::not_testable);
  EXPECT_EQ(verdict([](epochbench::Run& run) { rename(run, run.name + "/device=cuda:1"); }), Verdict::reproduced);
  EXPECT_EQ(verdict([](epochbench::Run& run) { run.status = RunStatus::failed; }), Verdict::not_testable);
  EXPECT_EQ(verdict([](epochbench::Run& run) { run.device.products = Precision::tf32; }), Verdict::not_testable);
}

TEST(Claims, EachDeviceAtItsBest) {
  const ClaimAnswer answer = answer_to(
      "large-models-10-100x", {runs_of("bert-large", "cpu", "fp32", 4, 1), runs_of("bert-large", "cpu", "bf16", 4, 2),
                               runs_of("bert-large", "cuda", "bf16", 4, 50), runs_of("bert-large", "cuda", "bf16", 64, 100),
                               runs_of("resnet152", "cpu", "fp32", 16, 5), runs_of("resnet152", "cuda", "fp32", 16, 1000)});
  EXPECT_NEAR(*part_of(answer, "bert-large").measured, 50, 1e-9);
  EXPECT_EQ(part_of(answer, "bert-large").verdict, Verdict::reproduced);
  EXPECT_EQ(part_of(answer, "resnet152").verdict, Verdict::exceeded);
  EXPECT_EQ(answer.verdict, Verdict::exceeded);
}

// Costs in two currencies have no ratio, and a training on other data is another one at any batch.
TEST(Claims, EachDeviceAtItsBestDoesTheSame) {
  const auto answer = [](auto change) {
    auto cpu = runs_of("resnet50", "cpu", "fp32", 4, 1), gpu = runs_of("resnet50", "cuda", "bf16", 64, 50);
    for (auto* side : {&cpu, &gpu})
      for (auto& run : *side) run.cost = Cost{1.0, run.timing->epoch_seconds / 3600, {}, "user"};
    for (auto& run : gpu) change(run);
    return part_of(answer_to("cost-per-epoch", {cpu, gpu}), "resnet50");
  };
  EXPECT_EQ(answer([](epochbench::Run&) {}).verdict, Verdict::reproduced);
  EXPECT_EQ(answer([](epochbench::Run& run) { run.workload.seed = 1; }).verdict, Verdict::reproduced);
  EXPECT_EQ(answer([](epochbench::Run& run) { run.workload.dataset = "digits"; }).verdict, Verdict::not_testable);
  const ClaimAnswer foreign = answer([](epochbench::Run& run) { run.cost->currency = "EUR"; });
  EXPECT_EQ(foreign.verdict, Verdict::not_testable);
  EXPECT_THAT(foreign.reason, HasSubstr("its cost is in EUR"));
}

TEST(Claims, OfAModelHoldForAny) {
  const auto answer = [](double resnet) {
    return answer_to("days-to-hours",
                     {runs_of("resnet50", "cpu", "fp32", 16, 100), runs_of("resnet50", "cuda", "fp32", 16, 100 * resnet),
                      runs_of("bert-base", "cpu", "fp32", 8, 10), runs_of("bert-base", "cuda", "fp32", 8, 50)});
  };
  EXPECT_EQ(answer(15).verdict, Verdict::reproduced);
  EXPECT_NEAR(*answer(15).measured, 15, 1e-9);
  EXPECT_THAT(answer(15).reason, HasSubstr("resnet50 15x, which holds"));
  EXPECT_THAT(answer(15).reason, HasSubstr("bert-base 5x, not reproduced"));
  EXPECT_EQ(answer(5).verdict, Verdict::not_reproduced);
}

TEST(Claims, OfACpuWithManyCoresTakeOneThatHasThem) {
  const auto answer = [](int cores) {
    NamedResult named = result_of({runs_of("lenet5", "cpu", "fp32", 64, 300), runs_of("lenet5", "cuda", "fp32", 64, 100)});
    named.result.context.cpu.cores = cores;
    return answer_to("cpu-128-cores", std::vector{named});
  };
  EXPECT_EQ(answer(128).verdict, Verdict::reproduced);
  EXPECT_NEAR(*answer(128).measured, 3, 1e-9);
  EXPECT_EQ(answer(127).verdict, Verdict::not_testable);
}

TEST(Claims, BothBaselinesOfMixedPrecision) {
  std::vector<std::vector<epochbench::Run>> runs;
  for (const char* model : {"resnet50", "bert-base"})
    for (const auto& [precision, rate] : {std::pair{"fp32", 100.0}, {"tf32", 300.0}, {"bf16", 750.0}, {"fp16", 800.0}})
      runs.push_back(runs_of(model, "cuda", precision, 16, rate));
  const ClaimAnswer answer = answer_to("mixed-precision-2-3x", runs);
  EXPECT_EQ(answer.parts.size(), 10u);
  EXPECT_EQ(part_of(answer, "bf16-over-fp32/resnet50").verdict, Verdict::exceeded);
  EXPECT_EQ(part_of(answer, "bf16-over-tf32/resnet50").verdict, Verdict::reproduced);
  EXPECT_NEAR(*part_of(answer, "fp16-over-tf32/bert-base").measured, 8.0 / 3, 1e-9);
}

// What could not be tested hides nothing that could: the worst of the tested parts leads, and the others are named.
TEST(Claims, WhatIsNotTestableHidesNoOtherPart) {
  const auto cpu = runs_of("resnet50", "cpu", "fp32", 16, 100);
  const ClaimAnswer half = answer_about_all("cnn-transformer-4-8x", {cpu, runs_of("resnet50", "cuda", "fp32", 16, 500)});
  EXPECT_EQ(half.verdict, Verdict::reproduced);
  EXPECT_EQ(half.reason, "not testable here: bert-base, resnet152, bert-large");
  const ClaimAnswer worst = answer_about_all("cnn-transformer-4-8x", {cpu, runs_of("resnet50", "cuda", "fp32", 16, 300)});
  EXPECT_EQ(worst.verdict, Verdict::not_reproduced);
  EXPECT_EQ(worst.reason, "for resnet50; not testable here: bert-base, resnet152, bert-large");
  const ClaimAnswer weights = answer_to("memory-7b", std::vector<NamedResult>{});
  EXPECT_EQ(weights.verdict, Verdict::reproduced);
  EXPECT_EQ(weights.reason, "not testable here: forward-planned, forward-fp16-planned, forward");
  EXPECT_EQ(answer_to("cnn-transformer-4-8x", {cpu}).verdict, Verdict::not_testable);
}

// That a CPU drops frames says nothing about GPUs; that it drops none refutes the claim by itself.
TEST(Claims, APartThatDoesNotCarryTheClaimCanOnlyRefuteIt) {
  const auto answer = [](double cpu, double gpu) {
    std::vector<std::vector<epochbench::Run>> runs{
        runs_of("resnet50:height=2160,width=3840", "cpu", "fp32", 1, cpu, "/mode=forward")};
    if (gpu > 0) runs.push_back(runs_of("resnet50:height=2160,width=3840", "cuda", "fp32", 1, gpu, "/mode=forward"));
    for (auto& part : runs)
      for (auto& run : part) run.workload.mode = Mode::forward;
    return answer_to("real-time", runs);
  };
  EXPECT_EQ(answer(2, 0).verdict, Verdict::not_testable);
  EXPECT_THAT(answer(2, 0).reason, HasSubstr("what could be tested does not carry the claim without gpu-frames, gpu-latency"));
  EXPECT_EQ(part_of(answer(2, 0), "cpu-frames").verdict, Verdict::reproduced);
  EXPECT_NEAR(*part_of(answer(2, 0), "cpu-frames").measured, 2, 1e-9);
  EXPECT_EQ(answer(60, 0).verdict, Verdict::not_reproduced);
  EXPECT_EQ(answer(2, 90).verdict, Verdict::reproduced);
}

// Runs with one thread stand beside those with all: what a setting is worth shows between equal numbers of threads alone.
TEST(Claims, AblationsStayOnOneNumberOfThreads) {
  auto whole = runs_of("resnet20", "cpu", "fp32", 32, 120),
       without = runs_of("resnet20", "cpu", "fp32", 32, 60, "/without=fusion");
  for (auto& run : without) run.device.threads = 1;
  const auto apart = answer_to("graph-optimisation", {whole, without});
  EXPECT_EQ(part_of(apart, "fusion/resnet20").verdict, Verdict::not_testable);
  for (auto& run : whole) run.device.threads = 1;
  EXPECT_NEAR(*part_of(answer_to("graph-optimisation", {whole, without}), "fusion/resnet20").measured, 2, 1e-9);
}

TEST(Claims, AblationsStayOnOneDevice) {
  const ClaimAnswer answer = answer_to("graph-optimisation", {runs_of("resnet20", "cpu", "fp32", 32, 120),
                                                              runs_of("resnet20", "cpu", "fp32", 32, 100, "/without=fusion"),
                                                              runs_of("resnet20", "cuda", "fp32", 32, 900)});
  EXPECT_NEAR(*part_of(answer, "fusion/resnet20").measured, 1.2, 1e-9);
  EXPECT_EQ(part_of(answer, "graph-capture/resnet20").verdict, Verdict::not_testable);
}

TEST(Claims, NumbersThatAreMissingAreNoAnswer) {
  const std::vector<std::vector<epochbench::Run>> runs{runs_of("resnet50", "cpu", "fp32", 16, 100),
                                                       runs_of("resnet50", "cuda", "bf16", 16, 500)};
  for (const char* id : {"cost-per-epoch", "energy"}) {
    const ClaimAnswer answer = answer_to(id, runs);
    EXPECT_EQ(answer.verdict, Verdict::not_testable) << id;
    EXPECT_FALSE(answer.measured) << id;
    EXPECT_THAT(part_of(answer, "resnet50").reason, HasSubstr("epochs_per_")) << id;
  }
}

TEST(Claims, OddNumbersDoNoHarm) {
  for (const double odd : {0.0, -1.0, 1e308, std::nan(""), HUGE_VAL}) {
    std::vector<std::vector<epochbench::Run>> runs;
    for (const char* model : {"resnet50", "bert-base", "resnet20", "lenet5", "mlp"})
      for (const char* backend : {"cpu", "cuda"}) {
        runs.push_back(runs_of(model, backend, "fp32", 16, odd));
        for (auto& run : runs.back()) {
          run.cost = Cost{odd, odd, odd, {}};
          run.energy = Energy{EnergySource::nvml, odd, {}, {}, {}, {}};
          run.efficiency = Efficiency{odd, odd, odd, odd};
        }
      }
    const NamedResult made = result_of(runs);
    for (const ClaimAnswer& answer : judge(embedded_claims().claims, std::vector{made})) {
      EXPECT_FALSE(answer.measured && !std::isfinite(*answer.measured)) << answer.id << " of " << odd;
      for (const ClaimAnswer& part : answer.parts)
        EXPECT_FALSE(part.measured && !std::isfinite(*part.measured)) << part.id << " of " << odd;
    }
  }
}

}  // namespace
}  // namespace epochbench
