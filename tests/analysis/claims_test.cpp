// Verdicts from constructed results: what a GPU, a CPU or neither would say.
#include "src/analysis/claims/claims.h"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analysis/claims/claim_kinds.h"
#include "tests/support/made_claims.h"

namespace epochbench {
namespace {

using testing::HasSubstr;
using Interval = std::pair<double, double>;

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
    return answer_to("cnn-transformer-4-8x",
                     {runs_of("resnet50", "cpu", "fp32", 16, 100), runs_of("resnet50", "cuda", "fp32", 16, 100 * resnet),
                      runs_of("bert-base", "cpu", "fp32", 8, 10), runs_of("bert-base", "cuda", "fp32", 8, 10 * bert)});
  };
  const ClaimAnswer holds = verdict(5, 6);
  EXPECT_EQ(holds.verdict, Verdict::reproduced);
  EXPECT_NEAR(*holds.measured, 5, 1e-9);
  EXPECT_LT(holds.measured_ci95->first, 5);
  EXPECT_GT(holds.measured_ci95->second, 5);
  EXPECT_EQ(holds.parts.size(), 2u);
  EXPECT_NEAR(*part_of(holds, "bert-base").measured, 6, 1e-9);
  EXPECT_THAT(holds.conditions, HasSubstr("fp32 on NVIDIA H200, batch 16, against fp32 on AMD EPYC, 2 threads"));
  EXPECT_EQ(verdict(20, 30).verdict, Verdict::exceeded);
  EXPECT_EQ(verdict(20, 6).verdict, Verdict::exceeded);
  EXPECT_EQ(verdict(5, 2).verdict, Verdict::not_reproduced);
  EXPECT_EQ(verdict(8, 6).verdict, Verdict::undecided);
}

TEST(Claims, AreUndecidedUnderFiveRepetitions) {
  const ClaimAnswer answer = answer_to(
      "cnn-transformer-4-8x", {runs_of("resnet50", "cpu", "fp32", 16, 100, "", 4), runs_of("resnet50", "cuda", "fp32", 16, 500),
                               runs_of("bert-base", "cpu", "fp32", 8, 10), runs_of("bert-base", "cuda", "fp32", 8, 60)});
  EXPECT_EQ(answer.verdict, Verdict::undecided);
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
  EXPECT_EQ(verdict([](epochbench::Run& run) { run.workload.mode = "forward"; }), Verdict::not_testable);
  EXPECT_EQ(verdict([](epochbench::Run& run) { rename(run, run.name + "/without=fusion"); }), Verdict::not_testable);
  EXPECT_EQ(verdict([](epochbench::Run& run) { rename(run, run.name + "/device=cuda:1"); }), Verdict::reproduced);
  EXPECT_EQ(verdict([](epochbench::Run& run) { run.status = RunStatus::failed; }), Verdict::not_testable);
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
  EXPECT_THAT(answer(15).reason, HasSubstr("bert-base 5x, not_reproduced"));
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
  EXPECT_EQ(answer.parts.size(), 8u);
  EXPECT_EQ(part_of(answer, "bf16-over-fp32/resnet50").verdict, Verdict::exceeded);
  EXPECT_EQ(part_of(answer, "bf16-over-tf32/resnet50").verdict, Verdict::reproduced);
  EXPECT_NEAR(*part_of(answer, "fp16-over-tf32/bert-base").measured, 8.0 / 3, 1e-9);
}

// Memory does not depend on chance, so one run of each side is enough.
TEST(Claims, MemoryNeedsNoRepetitions) {
  std::vector<std::vector<epochbench::Run>> runs;
  for (const char* model : {"resnet50", "bert-base"})
    for (const auto& [precision, bytes] : {std::pair{"fp32", 1000}, {"fp16", 600}}) {
      runs.push_back(runs_of(model, "cuda", precision, 16, 100));
      runs.back().resize(1);
      runs.back().front().memory = Memory{bytes, bytes, {}, {}};
    }
  const ClaimAnswer memory = part_of(answer_to("fp16-memory", runs), "memory/resnet50");
  EXPECT_EQ(memory.verdict, Verdict::reproduced) << memory.reason;
  EXPECT_NEAR(*memory.measured, 0.6, 1e-12);
}

TEST(Claims, LessMemoryIsReproducedBelowOne) {
  const auto answer = [](std::int64_t fp16_bytes) {
    std::vector<std::vector<epochbench::Run>> runs;
    for (const char* model : {"resnet50", "bert-base"})
      for (const auto& [precision, bytes] : {std::pair{"fp32", std::int64_t{1000}}, {"fp16", fp16_bytes}}) {
        runs.push_back(runs_of(model, "cuda", precision, 16, bytes == 1000 ? 100 : 300));
        for (auto& run : runs.back()) run.memory = Memory{bytes, bytes + run.repetition, {}, {}};
      }
    return answer_to("fp16-memory", runs);
  };
  EXPECT_EQ(answer(600).verdict, Verdict::reproduced);
  EXPECT_NEAR(*answer(600).measured, 0.6, 0.001);
  EXPECT_EQ(answer(1200).verdict, Verdict::not_reproduced);
  EXPECT_EQ(part_of(answer(-4), "memory/resnet50").verdict, Verdict::not_testable)
      << "0 bytes and fewer were counted by nobody";
}

std::vector<epochbench::Run> with_losses(const std::string& backend, std::uint64_t seed, double error) {
  auto runs = runs_of("lenet5", backend, "fp32", 64, 100, "/seed=" + std::to_string(seed), 1);
  for (auto& run : runs) {
    run.workload.seed = seed;
    run.workload.dataset = "digits";
    run.quality = Quality{};
    for (int i = 0; i < 12; ++i) run.quality->loss.push_back(2.0 * (1 + (i % 2 ? error : -error)));
  }
  return runs;
}

TEST(Claims, ErrorsAreThoseBesideTheReference) {
  const auto answer = [](double cpu, double gpu, bool with_reference = true) {
    std::vector<std::vector<epochbench::Run>> runs;
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const double spread = 1 + 0.01 * static_cast<double>(seed);
      if (with_reference) runs.push_back(with_losses("reference", seed, 0));
      runs.push_back(with_losses("cpu", seed, cpu * spread));
      if (gpu > 0) runs.push_back(with_losses("cuda", seed, gpu));
    }
    return answer_to("numerical-stability", runs);
  };
  EXPECT_EQ(part_of(answer(3e-6, 1e-6), "ratio/lenet5").verdict, Verdict::reproduced);
  EXPECT_NEAR(*part_of(answer(3e-6, 1e-6), "ratio/lenet5").measured, 3.06, 0.01);
  EXPECT_EQ(answer(3e-6, 1e-6).verdict, Verdict::undecided) << "one model is not most";
  EXPECT_EQ(part_of(answer(1e-6, 3e-6), "ratio/lenet5").verdict, Verdict::not_reproduced);
  EXPECT_EQ(answer(1e-6, 0).verdict, Verdict::not_testable);
  EXPECT_NEAR(*part_of(answer(1e-6, 0), "cpu-error/lenet5").measured, 1.02e-6, 1e-9);
  EXPECT_THAT(part_of(answer(1e-6, 0), "ratio/lenet5").reason, HasSubstr("no GPU"));
  std::vector<std::vector<epochbench::Run>> one_goes_astray;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    one_goes_astray.push_back(with_losses("reference", seed, 0));
    one_goes_astray.push_back(with_losses("cpu", seed, seed == 3 ? 1e-3 : 1e-7));
  }
  const ClaimAnswer error = part_of(answer_to("numerical-stability", one_goes_astray), "cpu-error/lenet5");
  EXPECT_NEAR(*error.measured, std::pow(1e-3 * std::pow(1e-7, 4), 0.2), 1e-8);
  EXPECT_GT(error.measured_ci95->first, 0);
  EXPECT_FALSE(part_of(answer(1e-6, 0, false), "cpu-error/lenet5").measured);
}

// Runs as `epochbench run` records them: 3 steps of warm-up, then 7 more of epoch 0 with --steps, or epoch 1 with --epochs.
TEST(Claims, ErrorsAreOfTheSameBatches) {
  const auto error = [](const char* kind, const char* reference_kind, int warmup = 3) {
    std::vector<std::vector<epochbench::Run>> runs;
    for (std::uint64_t seed = 1; seed <= 5; ++seed)
      for (const auto& [backend, epoch_kind] : {std::pair{"cpu", kind}, {"reference", reference_kind}}) {
        runs.push_back(with_losses(backend, seed, 0));
        epochbench::Run& run = runs.back().front();
        run.timing->epoch_kind = epoch_kind;
        run.timing->warmup_steps = warmup;
        std::vector<double>& losses = run.quality->loss;
        const bool other_batches = run.timing->epoch_kind == "measured";
        for (std::size_t i = 0; i < losses.size(); ++i)
          losses[i] *= (backend == std::string("cpu") ? 1 + 1e-7 : 1) *
                       (other_batches && i >= static_cast<std::size_t>(warmup) ? 1.05 : 1);
      }
    return part_of(answer_to("numerical-stability", runs), "cpu-error/lenet5");
  };
  ASSERT_TRUE(error("projected", "projected").measured);
  EXPECT_NEAR(*error("projected", "projected").measured, 1e-7, 1e-12);
  EXPECT_NEAR(error("measured", "measured").measured.value_or(1), 1e-7, 1e-12);
  EXPECT_NEAR(error("measured", "projected", 10).measured.value_or(1), 1e-7, 1e-12);
  EXPECT_FALSE(error("measured", "projected").measured);
  EXPECT_THAT(error("measured", "projected").reason, HasSubstr("of the same batches"));
}

NamedResult machine(double bandwidth, double fp32) {
  NamedResult named = result_of({});
  named.result.context.cpu.memory_bandwidth_bytes_per_second = bandwidth;
  named.result.context.cpu.peak_flops_per_second["fp32"] = fp32;
  return named;
}

TEST(Claims, PeaksNeedSeveralResultsForAnInterval) {
  const ClaimAnswer one = answer_to("hbm-vs-cpu", std::vector{machine(40e9, 1e12)});
  EXPECT_EQ(part_of(one, "cpu-fp32").verdict, Verdict::undecided);
  EXPECT_DOUBLE_EQ(*part_of(one, "cpu-fp32").measured, 1);
  EXPECT_EQ(part_of(one, "cpu-fp32").reason,
            "an interval takes 5 results of this machine, each with its peaks measured once, and there is 1");
  EXPECT_EQ(part_of(one, "cpu-bandwidth-bytes").verdict, Verdict::undecided) << "it might reach more";
  EXPECT_EQ(part_of(one, "cpu-bandwidth-bits").verdict, Verdict::exceeded) << "it reached more";
  EXPECT_EQ(part_of(one, "gpu-fp32").verdict, Verdict::not_testable);
  std::vector<NamedResult> five;
  for (int i = 0; i < 5; ++i) five.push_back(machine(40e9 + 1e8 * i, 1e12 + 1e9 * i));
  const ClaimAnswer several = answer_to("hbm-vs-cpu", five);
  EXPECT_EQ(part_of(several, "cpu-bandwidth-bytes").verdict, Verdict::not_reproduced);
  EXPECT_EQ(part_of(several, "cpu-bandwidth-bits").verdict, Verdict::exceeded);
  EXPECT_EQ(part_of(several, "cpu-fp32").verdict, Verdict::reproduced);
}

TEST(Claims, MemoryOfAGpuIsCountedAndNotMeasured) {
  NamedResult named = machine(40e9, 1e12);
  named.result.context.gpus.emplace_back();
  named.result.context.gpus[0].name = "NVIDIA H200";
  named.result.context.gpus[0].memory_bytes = 150'000'000'000;
  const ClaimAnswer answer = answer_to("bandwidth-h100-h200", std::vector{named});
  EXPECT_EQ(part_of(answer, "h200-memory").verdict, Verdict::reproduced);
  EXPECT_THAT(part_of(answer, "h200-bandwidth").reason, HasSubstr("was not measured"));
  EXPECT_THAT(part_of(answer, "h100-memory").reason, HasSubstr("no H100"));
}

std::vector<epochbench::Run> with_memory(const std::string& model, const std::string& mode, double bytes_a_parameter) {
  auto runs = runs_of(model, "cpu", "fp32", 1, 10, mode == "train" ? "" : "/mode=" + mode);
  for (auto& run : runs) {
    run.workload.mode = mode;
    const auto bytes = static_cast<std::int64_t>(bytes_a_parameter * 1e6);
    run.memory = Memory{bytes, bytes + 100 * run.repetition, {}, {}};
  }
  return runs;
}

TEST(Claims, WeightsAreArithmeticAndTrainingIsMeasured) {
  const ClaimAnswer answer =
      answer_to("memory-7b", {with_memory("bert-base", "train", 17), with_memory("bert-base", "forward", 4.5)});
  EXPECT_EQ(part_of(answer, "weights-fp32").verdict, Verdict::reproduced);
  EXPECT_DOUBLE_EQ(*part_of(answer, "weights-fp32").measured, 28);
  EXPECT_DOUBLE_EQ(*part_of(answer, "weights-fp16").measured, 14);
  EXPECT_NEAR(*part_of(answer, "forward").measured, 31.5, 0.01);
  EXPECT_EQ(part_of(answer, "forward").verdict, Verdict::reproduced);
  EXPECT_NEAR(*part_of(answer, "training").measured, 119, 0.01);
  EXPECT_EQ(answer.verdict, Verdict::not_reproduced);
  EXPECT_EQ(part_of(answer_to("memory-7b", std::vector<NamedResult>{}), "weights-fp32").verdict, Verdict::reproduced);
}

TEST(Claims, TrainingTakesTheWeightsSeveralTimes) {
  const ClaimAnswer answer = answer_to("memory-model-size", {with_memory("bert-base", "train", 17)});
  EXPECT_EQ(answer.verdict, Verdict::not_reproduced);
  EXPECT_NEAR(*part_of(answer, "measured/bert-base").measured, 4.25, 0.001);
  EXPECT_EQ(part_of(answer, "planned/bert-base").verdict, Verdict::not_testable) << "nobody planned it here";
  EXPECT_EQ(part_of(answer, "measured/resnet50").verdict, Verdict::not_testable);
}

TEST(Claims, StarvedAndFed) {
  const auto run = [](double wait, double rate, const std::string& cache, double decode_cost = 0.0002) {
    auto runs = runs_of("lenet5", "cpu", "fp32", 64, rate,
                        (cache == "none" ? "" : "/cache=" + cache) + std::string("/decode-cost=0.0002/loader-threads=0"));
    for (auto& one : runs) {
      one.workload.dataset = "digits";
      one.input = Input{0, false, decode_cost, cache};
      one.efficiency = Efficiency{1e9, {}, wait + 0.0001 * one.repetition, {}};
    }
    return runs;
  };
  const ClaimAnswer answer = answer_to("feed-the-beast", {run(0.6, 400, "none"), run(0.01, 1000, "decoded")});
  EXPECT_EQ(answer.verdict, Verdict::reproduced);
  EXPECT_NEAR(*part_of(answer, "starved").measured, 0.4, 0.001);
  EXPECT_NEAR(*part_of(answer, "cached").measured, 0.99, 0.001);
  EXPECT_NEAR(*part_of(answer, "gain").measured, 2.5, 1e-9);
  EXPECT_THAT(part_of(answer, "gain").conditions, HasSubstr("cache=decoded"));
  EXPECT_EQ(part_of(answer_to("feed-the-beast", {run(0.2, 400, "none"), run(0.01, 1000, "decoded")}), "starved").verdict,
            Verdict::not_reproduced)
      << "fed to 80 %, however slowly it trains";
  auto fed = run(0, 1000, "decoded");  // 96, 98 and 100 %: the interval of their mean ends above 100 %
  for (std::size_t i = 0; i < fed.size(); ++i) fed[i].efficiency->data_wait_fraction = i < 2 ? 0.02 * (2.0 - double(i)) : 0;
  EXPECT_EQ(part_of(answer_to("feed-the-beast", {run(0.6, 400, "none"), fed}), "cached").verdict, Verdict::reproduced);
  EXPECT_THAT(answer_to("feed-the-beast", {run(0.6, 400, "none")}).reason, HasSubstr("beside others of decoded data"));
  EXPECT_EQ(answer_to("feed-the-beast", {run(0.6, 400, "none", 0), run(0.01, 1000, "decoded", 0)}).verdict,
            Verdict::not_testable)
      << "nothing made decoding slow";
}

// What could not be tested hides nothing that could: the worst of the tested parts leads, and the others are named.
TEST(Claims, WhatIsNotTestableHidesNoOtherPart) {
  const auto cpu = runs_of("resnet50", "cpu", "fp32", 16, 100);
  const ClaimAnswer half = answer_to("cnn-transformer-4-8x", {cpu, runs_of("resnet50", "cuda", "fp32", 16, 500)});
  EXPECT_EQ(half.verdict, Verdict::reproduced);
  EXPECT_EQ(half.reason, "not testable here: bert-base");
  const ClaimAnswer worst = answer_to("cnn-transformer-4-8x", {cpu, runs_of("resnet50", "cuda", "fp32", 16, 300)});
  EXPECT_EQ(worst.verdict, Verdict::not_reproduced);
  EXPECT_EQ(worst.reason, "for resnet50; not testable here: bert-base");
  const ClaimAnswer weights = answer_to("memory-7b", std::vector<NamedResult>{});
  EXPECT_EQ(weights.verdict, Verdict::reproduced);
  EXPECT_EQ(weights.reason, "not testable here: forward-planned, forward-fp16-planned, training-planned, forward, training");
  EXPECT_EQ(answer_to("cnn-transformer-4-8x", {cpu}).verdict, Verdict::not_testable);
}

// That a CPU drops frames says nothing about GPUs; that it drops none refutes the claim by itself.
TEST(Claims, APartThatDoesNotCarryTheClaimCanOnlyRefuteIt) {
  const auto answer = [](double cpu, double gpu) {
    std::vector<std::vector<epochbench::Run>> runs{
        runs_of("resnet50:height=2160,width=3840", "cpu", "fp32", 1, cpu, "/mode=forward")};
    if (gpu > 0) runs.push_back(runs_of("resnet50:height=2160,width=3840", "cuda", "fp32", 1, gpu, "/mode=forward"));
    for (auto& part : runs)
      for (auto& run : part) run.workload.mode = "forward";
    return answer_to("real-time", runs);
  };
  EXPECT_EQ(answer(2, 0).verdict, Verdict::not_testable);
  EXPECT_EQ(answer(2, 0).reason, "what could be tested does not carry the claim without gpu-frames, gpu-latency");
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
    EXPECT_THAT(part_of(answer, "resnet50").reason, HasSubstr("has no epochs_per_")) << id;
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
          run.energy = Energy{"nvml", odd, {}, {}, {}, {}};
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
