// Verdicts about sizes and seeds from constructed results: slopes, crossings, plateaus, cores.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analysis/claims/claims.h"
#include "src/report/text/answer_text.h"
#include "src/result/result_json.h"
#include "tests/support/made_claims.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

TEST(ClaimTrends, TheGapWidensWithTheSlopeOfTheSpeedup) {
  const auto answer = [](double exponent) {
    std::vector<std::vector<epochbench::Run>> runs;
    std::int64_t parameters = 10'000'000;
    for (const char* model : {"resnet18", "resnet34", "resnet50", "resnet101", "resnet152"}) {
      const double ratio = std::pow(static_cast<double>(parameters) / 1e7, exponent);
      for (const auto& [backend, rate] : {std::pair{"cpu", 10.0}, {"cuda", 100 * ratio}}) {
        runs.push_back(runs_of(model, backend, "fp32", 16, rate));
        for (auto& run : runs.back()) run.workload.parameters = parameters;
      }
      parameters *= 2;
    }
    return part_of(answer_to("gap-widens", runs), "resnet");
  };
  EXPECT_EQ(answer(0.5).verdict, Verdict::reproduced);
  EXPECT_NEAR(*answer(0.5).measured, 0.5, 1e-9);
  EXPECT_EQ(answer(-0.5).verdict, Verdict::not_reproduced);
  EXPECT_THAT(answer(0.5).conditions,
              HasSubstr("resnet18 b16, resnet34 b16, resnet50 b16, resnet101 b16, resnet152 b16; the first: "));
}

// A slope is as fair as each of its pairs.
TEST(ClaimTrends, TheGapHasTheWarningsOfEveryModel) {
  std::vector<std::vector<epochbench::Run>> runs;
  for (const auto& [model, parameters] : {std::pair{"resnet18", 10}, {"resnet34", 20}, {"resnet50", 30}})
    for (const char* backend : {"cpu", "cuda"}) {
      runs.push_back(runs_of(model, backend, "fp32", 16, backend == std::string("cpu") ? 10 : 100));
      for (auto& run : runs.back()) {
        run.workload.parameters = parameters * 1'000'000;
        const bool waits = model == std::string("resnet50") && backend == std::string("cpu");
        run.efficiency = Efficiency{1e9, {}, waits ? 0.5 : 0.0, {}};
      }
    }
  const ClaimAnswer answer = part_of(answer_to("gap-widens", runs), "resnet");
  EXPECT_TRUE(std::any_of(answer.warnings.begin(), answer.warnings.end(), [](const Warning& warning) {
    return warning.code == WarningCode::data_waits && warning.run == "resnet50/cpu/fp32/b16";
  }));
}

// Through two points goes a line, whatever they are.
TEST(ClaimTrends, ASlopeTakesThreeSizes) {
  const auto answer = [](std::vector<std::string> models) {
    std::vector<std::vector<epochbench::Run>> runs;
    for (const std::string& model : models)
      for (const char* backend : {"cpu", "cuda"}) {
        runs.push_back(runs_of(model, backend, "fp32", 16, backend == std::string("cpu") ? 10 : 100));
        for (auto& run : runs.back()) run.workload.parameters = 1'000'000 * std::stoi(model.substr(6));
      }
    return part_of(answer_to("gap-widens", runs), "resnet");
  };
  EXPECT_TRUE(answer({"resnet18", "resnet34", "resnet50"}).measured);
  EXPECT_EQ(answer({"resnet18", "resnet34"}).verdict, Verdict::not_testable);
  EXPECT_THAT(answer({"resnet18", "resnet34"}).reason, HasSubstr("takes 3 models, and there are 2"));
}

std::vector<epochbench::Run> trained(const std::string& precision, std::int64_t batch, std::uint64_t seed, double accuracy) {
  auto runs = runs_of("lenet5", "cpu", precision, batch, 100, "/seed=" + std::to_string(seed), 1);
  for (auto& run : runs) {
    run.workload.seed = seed;
    run.workload.dataset = "digits";
    run.quality = Quality{};
    run.quality->eval_metric = EvalMetric::accuracy;
    run.quality->eval_value = accuracy;
    run.quality->eval_history = {0.5, accuracy, accuracy, accuracy, accuracy, accuracy};
    run.timing->epoch_kind = EpochKind::measured;
  }
  return runs;
}

TEST(ClaimTrends, QualityIsComparedSeedBySeed) {
  const auto answer = [](double loss, int seeds) {
    std::vector<std::vector<epochbench::Run>> runs;
    for (int seed = 0; seed < seeds; ++seed) {
      const double accuracy = 0.9 + 0.005 * seed;  // far more from seed to seed than from one precision to the other
      runs.push_back(trained("fp32", 64, static_cast<std::uint64_t>(seed), accuracy));
      runs.push_back(trained("bf16", 64, static_cast<std::uint64_t>(seed), accuracy - loss + 1e-4 * (seed % 2)));
    }
    return part_of(answer_to("mixed-precision-quality", runs), "bf16");
  };
  EXPECT_EQ(answer(0.001, 10).verdict, Verdict::reproduced);
  EXPECT_NEAR(*answer(0.001, 10).measured, -0.095, 1e-9);
  EXPECT_THAT(answer(0.001, 10).conditions, HasSubstr("lenet5/cpu/b64, 6 epochs on AMD EPYC, bf16 against fp32; digits, "
                                                      "10 seeds, the mean of the last five evaluations"));
  // Another batch with the same seeds is pooled: the mean of both differences of a seed.
  std::vector<std::vector<epochbench::Run>> runs;
  for (int seed = 0; seed < 10; ++seed)
    for (const int batch : {64, 128}) {
      runs.push_back(trained("fp32", batch, static_cast<std::uint64_t>(seed), 0.9 + 0.005 * seed));
      runs.push_back(trained("bf16", batch, static_cast<std::uint64_t>(seed),
                             0.9 + 0.005 * seed - (batch == 64 ? 0.001 : 0.003) - 1e-4 * (seed % 2)));
    }
  const ClaimAnswer pooled = part_of(answer_to("mixed-precision-quality", runs), "bf16");
  EXPECT_NEAR(*pooled.measured, -0.205, 1e-9);
  EXPECT_THAT(pooled.conditions, HasSubstr("lenet5/cpu/b64, 6 epochs; lenet5/cpu/b128, 6 epochs on AMD EPYC"));
  EXPECT_THAT(pooled.conditions, HasSubstr("averaged for each seed"));
  EXPECT_EQ(answer(0.02, 10).verdict, Verdict::not_reproduced);
  EXPECT_EQ(answer(0.001, 9).verdict, Verdict::undecided);
  EXPECT_THAT(answer(0.001, 9).reason, HasSubstr("takes 10 seeds"));
}

TEST(ClaimTrends, TrainingOfOtherLengthIsNotCompared) {
  std::vector<std::vector<epochbench::Run>> runs;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    runs.push_back(trained("fp32", 64, seed, 0.9));
    runs.push_back(trained("bf16", 64, seed, 0.95));
    runs.back()[0].quality->eval_history.push_back(0.95);
  }
  EXPECT_EQ(part_of(answer_to("mixed-precision-quality", runs), "bf16").verdict, Verdict::not_testable);
}

// Other jobs slowed repetitions of most batches of this sweep: no batch is surely below the best of the others.
TEST(ClaimTrends, APlateauIsNotRefutedByABestThatWasLucky) {
  const std::vector<NamedResult> results{{"hour", read_result(std::string(PUBLISHED_RESULTS) + "/zen4-2cores-hour.json")}};
  const std::vector<ClaimAnswer> answers = judge(embedded_claims().claims, results);
  const auto found = std::ranges::find(answers, "batch-throughput", [](const ClaimAnswer& answer) { return answer.id; });
  ASSERT_NE(found, answers.end());
  EXPECT_EQ(found->verdict, Verdict::undecided) << found->reason;
}

TEST(ClaimTrends, AccuracyAgainstBatchIsASlopeOfEachSeed) {
  const auto answer = [](double a_doubling) {
    std::vector<std::vector<epochbench::Run>> runs;
    for (std::uint64_t seed = 0; seed < 5; ++seed)
      for (int doublings = 0; doublings < 4; ++doublings)
        runs.push_back(trained(
            "fp32", 16 << doublings, seed,
            0.9 + 0.01 * static_cast<double>(seed) + a_doubling * doublings + 0.0001 * static_cast<double>(seed) * doublings));
    return part_of(answer_to("batch-accuracy", runs), "constant");
  };
  EXPECT_EQ(answer(-0.01).verdict, Verdict::not_reproduced);
  EXPECT_NEAR(*answer(-0.01).measured, -0.98, 1e-9);
  EXPECT_EQ(answer(0.01).verdict, Verdict::reproduced);
  EXPECT_EQ(answer(-0.0002).verdict, Verdict::undecided);
}

TEST(ClaimTrends, AccuracyAgainstBatchTakesThreeBatchesAndFiveSeeds) {
  const auto answer = [](int batches, std::uint64_t seeds) {
    std::vector<std::vector<epochbench::Run>> runs;
    for (std::uint64_t seed = 0; seed < seeds; ++seed)
      for (int doublings = 0; doublings < batches; ++doublings)
        runs.push_back(trained("fp32", 16 << doublings, seed, 0.9 - (0.01 + 0.001 * static_cast<double>(seed)) * doublings));
    return part_of(answer_to("batch-accuracy", runs), "constant");
  };
  EXPECT_EQ(answer(3, 5).verdict, Verdict::not_reproduced);
  EXPECT_EQ(answer(2, 5).verdict, Verdict::not_testable);
  EXPECT_EQ(answer(3, 4).verdict, Verdict::undecided);
  EXPECT_THAT(answer(3, 4).reason, HasSubstr("takes 5 seeds, and there are 4"));
}

TEST(ClaimTrends, AccuracyAgainstBatchIsJudgedAtARateThatGrowsWithItsSquareRoot) {
  const auto answer = [](double power) {
    std::vector<std::vector<epochbench::Run>> runs;
    for (std::uint64_t seed = 0; seed < 5; ++seed)
      for (int quadruplings = 0; quadruplings < 3; ++quadruplings) {
        const double rate = 0.001 * std::pow(4, power * quadruplings);
        runs.push_back(
            trained("fp32", 16 << (2 * quadruplings), seed, 0.8 + (0.01 + 0.0001 * static_cast<double>(seed)) * quadruplings));
        auto& run = runs.back().front();
        run.workload.optimizer = "adamw lr=" + std::to_string(rate) + " beta1=0.9";
        if (quadruplings > 0) rename(run, run.name + "/learning-rate=" + std::to_string(rate));
      }
    return answer_to("batch-accuracy", runs);
  };
  const ClaimAnswer judged = answer(0.5);
  EXPECT_EQ(judged.verdict, Verdict::reproduced) << judged.reason;
  EXPECT_NEAR(part_of(judged, "square-root").measured.value_or(0), 0.51, 1e-9);
  for (const double other : {0.0, 1.0}) EXPECT_EQ(answer(other).verdict, Verdict::not_testable) << other;
}

// Trainings of other lengths and those that stop at a quality stand in the same results, in any order.
TEST(ClaimTrends, AccuracyAgainstBatchIsOfTheLargestGroupInAnyOrder) {
  std::vector<std::vector<epochbench::Run>> runs;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    runs.push_back(trained("fp32", 16, seed, 0.5));  // shorter
    runs.back().front().quality->eval_history.pop_back();
    for (int doublings = 0; doublings < 5; ++doublings) {
      runs.push_back(trained("fp32", 8 << doublings, seed + 100, 0.97));
      runs.back().front().timing->stopped_by = StopReason::until;
    }
    for (int doublings = 0; doublings < 3; ++doublings)
      runs.push_back(trained("fp32", 16 << doublings, seed, 0.9 - (0.01 + 0.0001 * static_cast<double>(seed)) * doublings));
  }
  const ClaimAnswer forth = part_of(answer_to("batch-accuracy", runs), "constant");
  std::reverse(runs.begin(), runs.end());
  const ClaimAnswer back = part_of(answer_to("batch-accuracy", runs), "constant");
  for (const ClaimAnswer& answer : {forth, back}) {
    EXPECT_EQ(answer.verdict, Verdict::not_reproduced) << answer.reason;
    EXPECT_NEAR(answer.measured.value_or(0), -1.02, 1e-9);
    EXPECT_THAT(answer.conditions, HasSubstr("batches 16 to 64; 6 epochs, 5 seeds"));
  }
}

TEST(ClaimTrends, TheSizeFromWhichTheGpuPays) {
  const auto answer = [](double cpu_at_64, double repetitions = 5) {
    std::vector<std::vector<epochbench::Run>> runs;
    for (const int width : {64, 256, 1024, 4096})
      for (const char* backend : {"cpu", "cuda"}) {
        // The CPU's FLOP/s stay the same; the GPU's grow with the width, and are its at `64 * cpu_at_64`.
        const double flops = backend == std::string("cpu") ? 1e9 * cpu_at_64 : 1e9 * width / 64.0;
        runs.push_back(
            runs_of("mlp:width=" + std::to_string(width), backend, "fp32", 64, 100, "", static_cast<int>(repetitions)));
        for (auto& run : runs.back()) run.efficiency = Efficiency{flops * (1 + 0.001 * run.repetition), {}, {}, {}};
      }
    return part_of(answer_to("small-models-cpu", runs), "time");
  };
  EXPECT_EQ(answer(8).verdict, Verdict::reproduced);
  EXPECT_NEAR(*answer(8).measured, 512, 1);
  EXPECT_EQ(answer(8, 2).verdict, Verdict::undecided);
  EXPECT_EQ(answer(1000).verdict, Verdict::not_reproduced);
  EXPECT_THAT(answer(1000).reason, HasSubstr("no crossing between 64 and 4096"));
}

// A device that starts sooner is ahead while data are few.
TEST(ClaimTrends, TheGpuOvertakesAsTheSamplesGrow) {
  std::vector<std::vector<epochbench::Run>> runs;
  for (const std::int64_t samples : {256, 4096, 65536})
    for (const auto& [backend, start, rate] : {std::tuple{"cpu", 0.1, 1000.0}, {"cuda", 4.0, 10000.0}}) {
      runs.push_back(runs_of("mlp", backend, "fp32", 64, rate, "/epoch-samples=" + std::to_string(samples)));
      for (auto& run : runs.back()) {
        run.workload.samples_per_epoch = samples;
        run.timing->epoch_kind = EpochKind::measured;
        run.timing->step_seconds_left_out = samples / 64;
        run.timing->wall_seconds = (start + static_cast<double>(samples) / rate) * (1 + 0.001 * run.repetition);
      }
    }
  const ClaimAnswer answer = part_of(answer_to("ann-cpu-1.2x", runs), "overtakes-samples/mlp");
  EXPECT_EQ(answer.verdict, Verdict::reproduced) << answer.reason;
  EXPECT_GT(answer.measured.value_or(0), 256);
  EXPECT_LT(answer.measured.value_or(0), 65536);
}

TEST(ClaimTrends, APlateauIsBelowTheLargestBatch) {
  const auto answer = [](std::vector<double> rates) {
    std::vector<std::vector<epochbench::Run>> runs;
    std::int64_t batch = 8;
    for (const double rate : rates) runs.push_back(runs_of("resnet20", "cpu", "fp32", batch *= 2, rate));
    return answer_to("batch-throughput", runs);
  };
  EXPECT_EQ(answer({100, 150, 199, 200, 200}).verdict, Verdict::reproduced);
  EXPECT_DOUBLE_EQ(*answer({100, 150, 199, 200, 200}).measured, 64);
  EXPECT_EQ(answer({100, 150, 200, 300}).verdict, Verdict::not_reproduced);
  EXPECT_EQ(answer({200, 200, 200}).verdict, Verdict::not_reproduced);
  EXPECT_EQ(answer({100, 200, 150}).verdict, Verdict::not_reproduced);
  EXPECT_THAT(answer({100, 200, 150}).reason, HasSubstr("at 64 it is below 95 % of the best again"));
  EXPECT_EQ(answer({100, 200, 196}).verdict, Verdict::reproduced);
  EXPECT_EQ(answer({100, 200}).verdict, Verdict::not_testable);
}

// Where noise leaves open whether the plateau begins at an end of what was measured, or whether the curve still rises.
TEST(ClaimTrends, APlateauThatMayBeginAtAnEndIsUndecided) {
  const auto verdict = [](std::vector<double> rates, double spread) {
    std::vector<std::vector<epochbench::Run>> runs;
    std::int64_t batch = 8;
    for (const double rate : rates) {
      runs.push_back(runs_of("resnet20", "cpu", "fp32", batch *= 2, rate));
      for (auto& run : runs.back()) run.throughput->samples_per_second = rate * (1 + spread * (run.repetition - 2));
    }
    return answer_to("batch-throughput", runs).verdict;
  };
  EXPECT_EQ(verdict({94.5, 100, 100, 100}, 0.01), Verdict::undecided) << "perhaps at the smallest";
  EXPECT_EQ(verdict({80, 100, 100, 100}, 0.01), Verdict::reproduced);
  EXPECT_EQ(verdict({50, 94.5, 100}, 0.01), Verdict::undecided) << "perhaps it still rises";
  EXPECT_EQ(verdict({50, 80, 100}, 0.01), Verdict::not_reproduced);
}

// Rates at 1, 2, 4 and 8 threads, beside a GPU.
std::vector<std::vector<epochbench::Run>> thread_sweep(const std::vector<double>& rates, double gpu, int repetitions = 5) {
  std::vector<std::vector<epochbench::Run>> runs{runs_of("resnet20", "cuda", "fp32", 32, gpu)};
  int threads = 1;
  for (const double rate : rates) {
    runs.push_back(runs_of("resnet20", "cpu", "fp32", 32, rate, "/threads=" + std::to_string(threads), repetitions));
    for (auto& run : runs.back()) run.device.threads = threads;
    threads *= 2;
  }
  return runs;
}

// More repetitions of a number of threads say no more of the law: its residuals are those of the numbers of threads.
TEST(ClaimTrends, CoresTakeOnePointANumberOfThreads) {
  const std::vector<double> rates{100, 190, 410, 780};
  auto once = thread_sweep(rates, 3600, 1), often = thread_sweep(rates, 3600, 5);
  for (std::size_t i = 1; i < once.size(); ++i) {
    once[i].front().throughput->samples_per_second = rates[i - 1];
    for (auto& run : often[i]) run.throughput->samples_per_second = rates[i - 1];
  }
  const ClaimAnswer of_once = answer_to("dozens-of-cores", once), of_often = answer_to("dozens-of-cores", often);
  ASSERT_TRUE(of_once.measured_ci95 && of_often.measured_ci95);
  EXPECT_DOUBLE_EQ(of_often.measured_ci95->first, of_once.measured_ci95->first);
  EXPECT_DOUBLE_EQ(of_often.measured_ci95->second, of_once.measured_ci95->second);
}

// Where the law may never reach the GPU, the interval is open above, which says enough of a claim that has no upper bound.
TEST(ClaimTrends, CoresWithoutAnUpperEndAreJudged) {
  const auto runs = thread_sweep({100, 194, 370, 672}, 2000);
  const ClaimAnswer answer = answer_to("dozens-of-cores", runs);
  ASSERT_TRUE(answer.measured_ci95) << answer.reason;
  EXPECT_GT(answer.measured_ci95->first, 24);
  EXPECT_TRUE(std::isinf(answer.measured_ci95->second));
  EXPECT_EQ(answer.verdict, Verdict::reproduced);
  EXPECT_THAT(answer.reason, HasSubstr("the interval is open"));
  const std::vector<NamedResult> results{result_of(runs)};
  const Json json = claims_json(embedded_claims(), judge(embedded_claims().claims, results));
  for (const Json& claim : json["claims"]) {
    if (claim["id"] != "dozens-of-cores") continue;
    EXPECT_TRUE(claim["measured_ci95"][1].is_null()) << claim;
  }
  EXPECT_THAT(claims_text(embedded_claims(), judge(embedded_claims().claims, results)), HasSubstr(", ∞] cores"));
}

TEST(ClaimTrends, CoresAreOfTheSameWorkAsTheGpu) {
  const auto verdict = [](auto change) {
    auto runs = thread_sweep({100, 200, 400, 800}, 3600);
    for (auto& run : runs.front()) change(run.workload);
    return answer_to("dozens-of-cores", runs).verdict;
  };
  EXPECT_EQ(verdict([](Workload&) {}), Verdict::reproduced);
  EXPECT_EQ(verdict([](Workload& work) { work.dataset = "digits"; }), Verdict::not_testable);
  EXPECT_EQ(verdict([](Workload& work) { work.seed = 1; }), Verdict::reproduced);
}

// On a smaller CPU the extrapolation alone can answer, and then number, unit and claimed range are all its own.
TEST(ClaimTrends, AClaimOfAnyHasTheQuantityOfThePartThatSpeaks) {
  const ClaimAnswer answer = answer_to("cpu-128-cores", thread_sweep({100, 200, 400, 800}, 3600));
  EXPECT_NEAR(*answer.measured, 36, 0.5);
  EXPECT_EQ(answer.unit, "cores");
  EXPECT_THAT(answer.quantity, HasSubstr("extrapolated"));
  EXPECT_EQ(answer.claimed.high, 128);
  EXPECT_FALSE(answer.claimed.low);
  EXPECT_EQ(answer.verdict, Verdict::reproduced);
  EXPECT_THAT(answer.reason, HasSubstr("extrapolated 36 cores, which holds"));
}

TEST(ClaimTrends, CoresNeedAThreadSweep) {
  auto runs = thread_sweep({100, 200, 400, 800}, 3600);
  const ClaimAnswer reached = answer_to("dozens-of-cores", runs);
  EXPECT_EQ(reached.verdict, Verdict::reproduced) << reached.reason;
  EXPECT_NEAR(*reached.measured, 36, 0.5);
  EXPECT_THAT(reached.conditions, HasSubstr("an extrapolation"));
  runs.resize(3);
  const ClaimAnswer few = answer_to("dozens-of-cores", runs);
  EXPECT_EQ(few.verdict, Verdict::not_testable);
  EXPECT_THAT(few.reason, HasSubstr("too few points: 2"));
}

}  // namespace
}  // namespace epochbench
