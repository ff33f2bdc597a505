// Verdicts on memory, peaks, numerical errors and input, from constructed results.
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analysis/claims/claim_kinds.h"
#include "src/analysis/claims/claims.h"
#include "tests/support/made_claims.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

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
  const auto error = [](EpochKind kind, EpochKind reference_kind, int warmup = 3) {
    std::vector<std::vector<epochbench::Run>> runs;
    for (std::uint64_t seed = 1; seed <= 5; ++seed)
      for (const auto& [backend, epoch_kind] : {std::pair{"cpu", kind}, {"reference", reference_kind}}) {
        runs.push_back(with_losses(backend, seed, 0));
        epochbench::Run& run = runs.back().front();
        run.timing->epoch_kind = epoch_kind;
        run.timing->warmup_steps = warmup;
        std::vector<double>& losses = run.quality->loss;
        const bool other_batches = run.timing->epoch_kind == EpochKind::measured;
        for (std::size_t i = 0; i < losses.size(); ++i)
          losses[i] *= (backend == std::string("cpu") ? 1 + 1e-7 : 1) *
                       (other_batches && i >= static_cast<std::size_t>(warmup) ? 1.05 : 1);
      }
    return part_of(answer_to("numerical-stability", runs), "cpu-error/lenet5");
  };
  ASSERT_TRUE(error(EpochKind::projected, EpochKind::projected).measured);
  EXPECT_NEAR(*error(EpochKind::projected, EpochKind::projected).measured, 1e-7, 1e-12);
  EXPECT_NEAR(error(EpochKind::measured, EpochKind::measured).measured.value_or(1), 1e-7, 1e-12);
  EXPECT_NEAR(error(EpochKind::measured, EpochKind::projected, 10).measured.value_or(1), 1e-7, 1e-12);
  EXPECT_FALSE(error(EpochKind::measured, EpochKind::projected).measured);
  EXPECT_THAT(error(EpochKind::measured, EpochKind::projected).reason, HasSubstr("of the same batches"));
}

NamedResult machine(double bandwidth, double fp32) {
  NamedResult named = result_of({});
  named.result.context.cpu.memory_bandwidth_bytes_per_second = bandwidth;
  named.result.context.cpu.memory_bytes = 512'000'000'000;
  named.result.context.cpu.peak_flops_per_second["fp32"] = fp32;
  return named;
}

TEST(Claims, PeaksNeedSeveralResultsForAnInterval) {
  const ClaimAnswer one = answer_to("hbm-vs-cpu", std::vector{machine(40e9, 1e12)});
  EXPECT_EQ(part_of(one, "cpu-fp32").verdict, Verdict::undecided);
  EXPECT_DOUBLE_EQ(*part_of(one, "cpu-fp32").measured, 1);
  EXPECT_EQ(
      part_of(one, "cpu-fp32").reason,
      "an interval takes 5 processes that measured this machine's peaks (a run of some minutes has them), and there is 1");
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

// What is said of a CPU with hundreds of GB is not refuted by a small machine.
TEST(Claims, APartWhosePreconditionFailsSaysNothing) {
  std::vector<NamedResult> small;
  for (int i = 0; i < 5; ++i) {
    small.push_back(machine(40e9 + 1e8 * i, 2e12));
    small.back().result.context.cpu.memory_bytes = 25'000'000'000;
  }
  const ClaimAnswer answer = answer_to("hbm-vs-cpu", small);
  for (const char* id : {"cpu-bandwidth-bytes", "cpu-fp32"}) {
    EXPECT_EQ(part_of(answer, id).verdict, Verdict::not_testable) << id;
    EXPECT_EQ(part_of(answer, id).reason, "claimed only where this holds: CPU memory, hundreds of GB");
  }
  EXPECT_EQ(answer.verdict, Verdict::not_testable);
}

TEST(Claims, FiveProcessesOfOneResultDecideItsPeaks) {
  NamedResult named = machine(40e9, 1e12);
  for (int i = 0; i < 5; ++i)
    named.result.context.cpu.peak_processes.push_back({60.0 * i, {{"fp32", 1e12 + 1e9 * i}}, 40e9 + 1e8 * i});
  const ClaimAnswer answer = answer_to("hbm-vs-cpu", std::vector{named});
  EXPECT_EQ(part_of(answer, "cpu-fp32").verdict, Verdict::reproduced);
  EXPECT_EQ(part_of(answer, "cpu-bandwidth-bytes").verdict, Verdict::not_reproduced);
  EXPECT_THAT(part_of(answer, "cpu-fp32").conditions, HasSubstr("5 processes"));
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

std::vector<epochbench::Run> with_memory(const std::string& model, Mode mode, double bytes_a_parameter) {
  auto runs = runs_of(model, "cpu", "fp32", 1, 10, mode == Mode::train ? "" : std::string("/mode=") + name(mode));
  for (auto& run : runs) {
    run.workload.mode = mode;
    const auto bytes = static_cast<std::int64_t>(bytes_a_parameter * 1e6);
    run.memory = Memory{bytes, bytes + 100 * run.repetition, {}, {}};
  }
  return runs;
}

TEST(Claims, WeightsAreArithmeticAndTrainingIsMeasured) {
  const ClaimAnswer answer =
      answer_to("memory-7b", {with_memory("bert-base", Mode::train, 17), with_memory("bert-base", Mode::forward, 4.5)});
  EXPECT_EQ(part_of(answer, "weights-fp32").verdict, Verdict::reproduced);
  EXPECT_DOUBLE_EQ(*part_of(answer, "weights-fp32").measured, 28);
  EXPECT_DOUBLE_EQ(*part_of(answer, "weights-fp16").measured, 14);
  EXPECT_NEAR(*part_of(answer, "forward").measured, 31.5, 0.01);
  EXPECT_EQ(part_of(answer, "forward").verdict, Verdict::reproduced);
  EXPECT_NEAR(*part_of(answer, "training").measured, 119, 0.01);
  EXPECT_EQ(part_of(answer, "training").verdict, Verdict::not_reproduced);
  EXPECT_EQ(answer.verdict, Verdict::reproduced) << "the article speaks of running a model";
  EXPECT_EQ(part_of(answer_to("memory-7b", std::vector<NamedResult>{}), "weights-fp32").verdict, Verdict::reproduced);
}

TEST(Claims, TrainingTakesTheWeightsSeveralTimes) {
  const ClaimAnswer answer = answer_to("memory-model-size", {with_memory("bert-base", Mode::train, 17)});
  EXPECT_EQ(answer.verdict, Verdict::not_reproduced);
  EXPECT_NEAR(*part_of(answer, "measured/bert-base").measured, 4.25, 0.001);
  EXPECT_EQ(part_of(answer, "planned/bert-base").verdict, Verdict::not_testable) << "nobody planned it here";
  EXPECT_EQ(part_of(answer, "measured/resnet50").verdict, Verdict::not_testable);
}

TEST(Claims, StarvedAndFed) {
  const auto run = [](double wait, double rate, Cache cache, double decode_cost = 0.0002) {
    auto runs = runs_of("lenet5", "cpu", "fp32", 64, rate,
                        (cache == Cache::none ? "" : "/cache=" + std::string(name(cache))) +
                            std::string("/decode-cost=0.0002/loader-threads=0"));
    for (auto& one : runs) {
      one.workload.dataset = "digits";
      one.input = Input{0, false, decode_cost, cache};
      one.efficiency = Efficiency{1e9, {}, wait + 0.0001 * one.repetition, {}};
    }
    return runs;
  };
  const ClaimAnswer answer = answer_to("feed-the-beast", {run(0.6, 400, Cache::none), run(0.01, 1000, Cache::decoded)});
  EXPECT_EQ(answer.verdict, Verdict::not_testable) << "slow by construction";
  EXPECT_EQ(part_of(answer, "starved").verdict, Verdict::reproduced);
  EXPECT_NEAR(*part_of(answer, "starved").measured, 0.4, 0.001);
  EXPECT_NEAR(*part_of(answer, "cached").measured, 0.99, 0.001);
  EXPECT_NEAR(*part_of(answer, "gain").measured, 2.5, 1e-9);
  EXPECT_THAT(part_of(answer, "gain").conditions, HasSubstr("cache=decoded"));
  EXPECT_EQ(
      part_of(answer_to("feed-the-beast", {run(0.2, 400, Cache::none), run(0.01, 1000, Cache::decoded)}), "starved").verdict,
      Verdict::not_reproduced)
      << "fed to 80 %, however slowly it trains";
  auto fed = run(0, 1000, Cache::decoded);  // 96, 98 and 100 %: the interval of their mean ends above 100 %
  for (std::size_t i = 0; i < fed.size(); ++i) fed[i].efficiency->data_wait_fraction = i < 2 ? 0.02 * (2.0 - double(i)) : 0;
  EXPECT_EQ(part_of(answer_to("feed-the-beast", {run(0.6, 400, Cache::none), fed}), "cached").verdict, Verdict::reproduced);
  EXPECT_THAT(part_of(answer_to("feed-the-beast", {run(0.6, 400, Cache::none)}), "starved").reason,
              HasSubstr("beside others of decoded data"));
  EXPECT_EQ(answer_to("feed-the-beast", {run(0.6, 400, Cache::none, 0), run(0.01, 1000, Cache::decoded, 0)}).verdict,
            Verdict::not_testable)
      << "nothing made decoding slow";
}

}  // namespace
}  // namespace epochbench
