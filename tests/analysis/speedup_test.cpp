// Which runs are paired, and what is said of a pair: constructed results.
#include "src/analysis/speedup/speedup.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/report/text/answer_text.h"
#include "src/report/text/text_parts.h"
#include "support/made_speedup.h"

namespace epochbench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

TEST(Speedup, OfACleanPairIsExactAndWithoutWarning) {
  const Speedup speedup = speedup_of_runs(kCleanPair);
  ASSERT_EQ(speedup.pairs.size(), 1u);
  EXPECT_THAT(speedup.unpaired, IsEmpty());
  const SpeedupPair& pair = speedup.pairs[0];
  EXPECT_EQ(pair.baseline.name, "resnet50/cpu/fp32/b16");
  EXPECT_EQ(pair.contender.name, "resnet50/cuda/fp32/b16");
  EXPECT_DOUBLE_EQ(pair.ratio.value, 8);
  EXPECT_DOUBLE_EQ(pair.ratio.ci95->first, 8);
  EXPECT_DOUBLE_EQ(pair.cost.value, 2) << "8 times faster at 4 times the price";
  EXPECT_NEAR(pair.energy.value, 8.0 * 3 / 7, 1e-12);
  EXPECT_THAT(codes_of(pair), IsEmpty());
}

// The only pair of the CPU at `cpu_rate` and the GPU at 800 samples/s, batch 16, with these rooflines of a step.
SpeedupPair explained_pair(double cpu_rate, double cpu_roofline, double gpu_roofline, double launched) {
  NamedResult named = made_result("a.json", "host", {{"cpu", "fp32", cpu_rate}, {"cuda", "fp32", 800}});
  for (auto& run : named.result.runs) {
    const bool gpu = run.device.backend == BackendKind::cuda;
    run.efficiency->roofline_seconds = gpu ? gpu_roofline : cpu_roofline;
    run.efficiency->launched_roofline_seconds = gpu ? launched : cpu_roofline;
  }
  return speedup_of({named}, SpeedupOf::same_batch).pairs.at(0);
}

TEST(Speedup, IsSiliconTimesSoftware) {
  const SpeedupPair pair = explained_pair(100, 0.04, 0.01, 0.0105);
  ASSERT_TRUE(pair.parts);
  EXPECT_DOUBLE_EQ(pair.parts->silicon, 4);
  EXPECT_EQ(pair.parts->launches, 1) << "a twentieth is not noticed";
  EXPECT_DOUBLE_EQ(pair.parts->software.value, 2);
  EXPECT_DOUBLE_EQ(pair.parts->software.ci95->first, 2);
  EXPECT_DOUBLE_EQ(pair.parts->baseline_times, 4);
  EXPECT_DOUBLE_EQ(pair.parts->contender_times, 2);
  EXPECT_EQ(explanation(pair), "4.00x silicon × 2.00x software: cpu fp32 takes 4.0 times its roofline, cuda fp32 2.0 times");
}

TEST(Speedup, OfACrippledSideChangesTheSoftwareOnly) {
  const SpeedupPair whole = explained_pair(100, 0.04, 0.01, 0.01), crippled = explained_pair(50, 0.04, 0.01, 0.01);
  EXPECT_DOUBLE_EQ(crippled.ratio.value, 2 * whole.ratio.value);
  EXPECT_DOUBLE_EQ(crippled.parts->silicon, whole.parts->silicon);
  EXPECT_DOUBLE_EQ(crippled.parts->software.value, 2 * whole.parts->software.value);
  EXPECT_DOUBLE_EQ(crippled.parts->baseline_times, 2 * whole.parts->baseline_times);
  EXPECT_DOUBLE_EQ(crippled.parts->contender_times, whole.parts->contender_times);
}

TEST(Speedup, NamesWhatLaunchesTake) {
  const SpeedupPair pair = explained_pair(100, 0.04, 0.005, 0.016);
  EXPECT_DOUBLE_EQ(pair.parts->launches, 0.005 / 0.016);
  EXPECT_DOUBLE_EQ(pair.parts->silicon * pair.parts->launches * pair.parts->software.value, pair.ratio.value);
  EXPECT_DOUBLE_EQ(pair.parts->contender_times, 0.02 / 0.016);
  EXPECT_THAT(explanation(pair), HasSubstr("8.00x silicon × 0.313x launches × 3.20x software"));
  EXPECT_THAT(speedup_json({{pair}, {}})["pairs"][0]["parts"]["launches"].get<double>(), 0.005 / 0.016);
}

TEST(Speedup, HasNoPartsWithoutARooflineOfBothSides) {
  const Speedup speedup = speedup_of_runs(kCleanPair);
  EXPECT_FALSE(speedup.pairs[0].parts);
  EXPECT_EQ(explanation(speedup.pairs[0]), "");
  EXPECT_TRUE(speedup_json(speedup)["pairs"][0]["parts"].is_null());
  EXPECT_THAT(speedup_text(speedup), Not(HasSubstr("silicon")));
}

TEST(Speedup, PairsEveryPrecisionAsTheContractSays) {
  const Speedup speedup = speedup_of_runs(
      {{"cpu", "fp32", 100}, {"cpu", "bf16", 200}, {"cuda", "fp32", 800}, {"cuda", "tf32", 1600}, {"cuda", "bf16", 3000}});
  EXPECT_THAT(pairs_of(speedup), UnorderedElementsAre("resnet50/cpu/bf16/b16 : resnet50/cpu/fp32/b16",    //
                                                      "resnet50/cuda/fp32/b16 : resnet50/cpu/fp32/b16",   //
                                                      "resnet50/cuda/tf32/b16 : resnet50/cpu/fp32/b16",   //
                                                      "resnet50/cuda/bf16/b16 : resnet50/cpu/bf16/b16",   //
                                                      "resnet50/cuda/bf16/b16 : resnet50/cuda/fp32/b16",  //
                                                      "resnet50/cuda/bf16/b16 : resnet50/cuda/tf32/b16"));
}

TEST(Speedup, PairsInt8WithWiderPrecisionsOfItsDevice) {
  EXPECT_THAT(
      pairs_of(speedup_of_runs({{"cpu", "fp32", 100}, {"cpu", "bf16", 200}, {"cpu", "int8", 400}})),
      UnorderedElementsAre("resnet50/cpu/bf16/b16 : resnet50/cpu/fp32/b16", "resnet50/cpu/int8/b16 : resnet50/cpu/fp32/b16",
                           "resnet50/cpu/int8/b16 : resnet50/cpu/bf16/b16"));
}

TEST(Speedup, PairsOurKernelsAsTheBaselineOfTheFastest) {
  const Speedup speedup = speedup_of_runs({{"cpu", "fp32", 100}, {"cpu", "fp32", 110, 16, "/kernels=fastest"}});
  EXPECT_THAT(pairs_of(speedup), ElementsAre("resnet50/cpu/fp32/b16/kernels=fastest : resnet50/cpu/fp32/b16"));
  EXPECT_DOUBLE_EQ(speedup.pairs[0].ratio.value, 1.1);
  EXPECT_EQ(speedup.pairs[0].compares, Compares::parts);
  EXPECT_EQ(speedup.pairs[0].lacks, "best kernels");
}

// Also where the fastest run is the baseline of a GPU: it lacks nothing that the GPU has.
TEST(Speedup, TheFastestOfAllKernelsIsABaselineOfAGpu) {
  const Speedup speedup = speedup_of_runs({{"cpu", "fp32", 110, 16, "/kernels=fastest"}, {"cuda", "fp32", 800}});
  EXPECT_THAT(pairs_of(speedup), ElementsAre("resnet50/cuda/fp32/b16 : resnet50/cpu/fp32/b16/kernels=fastest"));
  EXPECT_THAT(codes_of(speedup.pairs[0]), ElementsAre("settings_differ"));
}

TEST(Speedup, TakesTheFastestOfSeveralPlacements) {
  const Speedup speedup = speedup_of_runs({{"cpu", "fp32", 60},
                                           {"cpu", "fp32", 100, 16, "/threads=6"},
                                           {"cpu", "fp32", 50, 16, "/pin=none"},
                                           {"cuda", "fp32", 800}});
  EXPECT_THAT(pairs_of(speedup), ElementsAre("resnet50/cuda/fp32/b16 : resnet50/cpu/fp32/b16/threads=6",
                                             "resnet50/cpu/fp32/b16 : resnet50/cpu/fp32/b16/threads=6"));
  EXPECT_THAT(reason_of(speedup, "resnet50/cpu/fp32/b16/pin=none"), HasSubstr("slower than resnet50/cpu/fp32/b16/threads=6"));
}

// What `run` prints below its table, with its subject left out of the notes.
TEST(Speedup, PairsACompleteCaseWithTheSameCaseWithoutAPart) {
  NamedResult result = made_result(
      "a.json", "host",
      {{.rate = 128}, {.rate = 100, .settings = "/without=winograd"}, {.rate = 40, .settings = "/kernels=portable"}});
  for (auto& run : result.result.runs) {
    if (!run.settings.contains("without") && !run.settings.contains("kernels")) continue;
    run.device.isa = "portable";
    run.efficiency->peak_fraction = 0.1;
    run.quality->parity_max_relative_difference = 1e-6;
  }
  const Speedup speedup = speedup_of({result}, SpeedupOf::same_batch);
  EXPECT_THAT(pairs_of(speedup), ElementsAre("resnet50/cpu/fp32/b16 : resnet50/cpu/fp32/b16/without=winograd",
                                             "resnet50/cpu/fp32/b16 : resnet50/cpu/fp32/b16/kernels=portable"));
  EXPECT_DOUBLE_EQ(speedup.pairs[0].ratio.value, 1.28);
  EXPECT_EQ(speedup.pairs[0].lacks, "without winograd");
  EXPECT_EQ(speedup.pairs[1].lacks, "portable kernels");
  for (const SpeedupPair& pair : speedup.pairs) {
    EXPECT_EQ(pair.compares, Compares::parts);
    EXPECT_THAT(codes_of(pair), IsEmpty());
  }
  EXPECT_THAT(speedup.unpaired, IsEmpty());
  for (auto& run : result.result.runs) run.quality->parity_max_relative_difference.reset();
  EXPECT_THAT(codes_of(speedup_of({result}, SpeedupOf::same_batch).pairs.at(0)), ElementsAre("parity_unverified"));
}

TEST(Speedup, NotesWhatACompleteCaseLacksItself) {
  NamedResult result = made_result("a.json", "host", {{.rate = 128}, {.rate = 100, .settings = "/without=winograd"}});
  for (auto& run : result.result.runs) {
    run.quality->parity_max_relative_difference = 1e-6;
    run.input = Input{1, true, 0.002, Cache::none};
    run.device.isa = "avx2";
  }
  const Speedup speedup = speedup_of({result}, SpeedupOf::same_batch);
  ASSERT_EQ(speedup.pairs.size(), 1u);
  EXPECT_EQ(speedup.pairs[0].lacks, "without winograd");
  EXPECT_THAT(codes_of(speedup.pairs[0]), ElementsAre("unused_instruction", "held_back"));
  EXPECT_EQ(speedup.pairs[0].warnings[0].run, "resnet50/cpu/fp32/b16");
  EXPECT_EQ(speedup.pairs[0].warnings[1].first, "decoding made slower");
}

TEST(Speedup, PairsMoreThreadsWithTheFewest) {
  NamedResult result = made_result(
      "a.json", "host", {{.rate = 100}, {.rate = 55, .settings = "/threads=2"}, {.rate = 30, .settings = "/threads=1"}});
  for (auto& run : result.result.runs) {
    if (run.device.threads == 1) run.efficiency->peak_fraction = 0.1;
    if (run.device.threads != 8) run.quality->parity_max_relative_difference = 1e-6;
  }
  const Speedup speedup = speedup_of({result}, SpeedupOf::same_batch);
  EXPECT_THAT(pairs_of(speedup), ElementsAre("resnet50/cpu/fp32/b16 : resnet50/cpu/fp32/b16/threads=1",
                                             "resnet50/cpu/fp32/b16/threads=2 : resnet50/cpu/fp32/b16/threads=1"));
  EXPECT_EQ(speedup.pairs[0].compares, Compares::threads);
  EXPECT_THAT(codes_of(speedup.pairs[0]), IsEmpty());
  EXPECT_THAT(codes_of(speedup.pairs[1]), ElementsAre("fewer_threads"));
  EXPECT_EQ(speedup.pairs[1].warnings[0].run, "resnet50/cpu/fp32/b16/threads=2");
  EXPECT_THAT(speedup_of({result}, SpeedupOf::best_batch).pairs, IsEmpty());
}

TEST(Speedup, PairsNoThreadsOfOtherWorkOrMachines) {
  const auto pairs_after = [](const ResultChange& change) {
    NamedResult result = made_result("a.json", "host", {{.rate = 100}, {.rate = 30, .settings = "/threads=1"}});
    change(result);
    return speedup_of({result}, SpeedupOf::same_batch).pairs.size();
  };
  const auto of_one_thread = [](auto change) {
    return cpu([change](auto& run) {
      if (run.device.threads == 1) change(run);
    });
  };
  EXPECT_EQ(pairs_after([](NamedResult&) {}), 1u);
  EXPECT_EQ(pairs_after(of_one_thread([](auto& run) { run.workload.fingerprint = "other"; })), 0u);
  EXPECT_EQ(pairs_after(of_one_thread([](auto& run) { run.workload.dataset = "digits"; })), 0u);
  EXPECT_EQ(pairs_after(of_one_thread([](auto& run) { run.settings["order"] = std::string("sequential"); })), 0u);
  const auto one = made_result("a.json", "here", {{.rate = 30, .settings = "/threads=1"}}),
             two = made_result("b.json", "there", {{.rate = 100}});
  const Speedup speedup = speedup_of({one, two}, SpeedupOf::same_batch);
  ASSERT_EQ(speedup.pairs.size(), 1u);
  EXPECT_EQ(speedup.pairs[0].compares, Compares::devices_or_precisions) << "two machines";
}

TEST(Speedup, PrefersABaselineWithTheSameSettings) {
  const Speedup speedup = speedup_of_runs({{"cpu", "fp32", 100},
                                           {"cpu", "fp32", 300, 16, "/order=sequential/threads=4"},
                                           {"cuda", "fp32", 800},
                                           {"cuda", "fp32", 900, 16, "/order=sequential"},
                                           {"cuda", "fp32", 700, 16, "/without=graph-capture"}});
  EXPECT_THAT(pairs_of(speedup),
              ElementsAre("resnet50/cuda/fp32/b16 : resnet50/cpu/fp32/b16",
                          "resnet50/cuda/fp32/b16/order=sequential : resnet50/cpu/fp32/b16/order=sequential/threads=4",
                          "resnet50/cuda/fp32/b16/without=graph-capture : resnet50/cpu/fp32/b16",
                          "resnet50/cuda/fp32/b16 : resnet50/cuda/fp32/b16/without=graph-capture"));
  EXPECT_THAT(codes_of(speedup.pairs[2]), ElementsAre("settings_differ"));
}

TEST(Speedup, RefusesWorkThatIsNotTheSame) {
  const auto refused = [](const ResultChange& change, const std::string& reason) {
    NamedResult result = made_result("a.json", "host", kCleanPair);
    change(result);
    const Speedup speedup = speedup_of({result}, SpeedupOf::same_batch);
    EXPECT_THAT(speedup.pairs, IsEmpty()) << reason;
    ASSERT_EQ(speedup.unpaired.size(), 2u) << reason;
    EXPECT_THAT(reason_of(speedup, "resnet50/cuda/fp32/b16"), HasSubstr(reason));
  };
  const auto of_gpu = [](auto change) {
    return [change](NamedResult& result) {
      for (auto& run : result.result.runs)
        if (run.device.backend == BackendKind::cuda) change(run);
    };
  };
  refused(of_gpu([](auto& run) { run.workload.fingerprint = "other"; }), "fingerprint");
  refused(of_gpu([](auto& run) { run.workload.mode = Mode::forward; }), "mode");
  refused(of_gpu([](auto& run) { run.workload.dataset = "digits"; }), "data set (synthetic)");
  refused(of_gpu([](auto& run) {
            run.workload.model = "resnet18";
            run.workload.fingerprint = "other";
          }),
          "no run of this workload on a CPU");
}

TEST(Speedup, PoolsSeedsAsRepetitions) {
  NamedResult result = made_result("a.json", "host", kCleanPair);
  for (epochbench::Run& run : result.result.runs) {
    run.workload.seed = static_cast<std::uint64_t>(run.repetition);
    if (run.repetition > 0) rename(run, run.name + "/seed=" + std::to_string(run.repetition));
    run.repetition = 0;
  }
  const epochbench::Speedup speedup = speedup_of({result}, SpeedupOf::same_batch);
  ASSERT_EQ(speedup.pairs.size(), 1u);
  EXPECT_EQ(speedup.pairs[0].baseline.name, "resnet50/cpu/fp32/b16");
  EXPECT_EQ(speedup.pairs[0].contender.rates.size(), 5u);
  EXPECT_TRUE(speedup.pairs[0].ratio.ci95);
  EXPECT_THAT(speedup.unpaired, IsEmpty());
}

TEST(Speedup, LeavesOutRunsThatSayNothing) {
  NamedResult result = made_result("a.json", "host", {{"cpu", "fp32", 100}, {"cuda", "fp32", 800}, {"cuda", "bf16", 0}});
  result.result.runs[1].status = RunStatus::out_of_memory;
  result.result.runs[1].message = "needs 5 GB";
  const Speedup speedup = speedup_of({result}, SpeedupOf::same_batch);
  ASSERT_EQ(speedup.pairs.size(), 1u);
  EXPECT_EQ(speedup.pairs[0].contender.rates.size(), 4u);
  EXPECT_THAT(speedup.pairs[0].ratio.reason, HasSubstr("the baseline has 5, the contender 4"));
  EXPECT_EQ(reason_of(speedup, "resnet50/cuda/fp32/b16"), "out of memory: needs 5 GB");
  EXPECT_EQ(reason_of(speedup, "resnet50/cuda/bf16/b16"), "it has no throughput above 0");
  EXPECT_THAT(speedup.unpaired[1].repetitions, ElementsAre(0, 1, 2, 3, 4));
}

TEST(Speedup, OfTwoCpuFilesTakesTheFirstAsBaseline) {
  const auto a = made_result("a.json", "here", {{"cpu", "fp32", 100}}),
             b = made_result("b.json", "there", {{"cpu", "fp32", 150}});
  const Speedup speedup = speedup_of({a, b}, SpeedupOf::same_batch);
  ASSERT_EQ(speedup.pairs.size(), 1u);
  EXPECT_EQ(speedup.pairs[0].baseline.file, "a.json");
  EXPECT_DOUBLE_EQ(speedup.pairs[0].ratio.value, 1.5);
  EXPECT_THAT(codes_of(speedup.pairs[0]), ElementsAre("host_differs")) << "their losses are equal, so parity is shown";
}

TEST(Speedup, PairsAcrossFilesAndPrefersTheGpusOwnMachine) {
  const auto a = made_result("a.json", "here", {{"cpu", "fp32", 100}});
  const auto b = made_result("b.json", "there", {{"cpu", "fp32", 50}, {"cuda", "fp32", 800}});
  const Speedup speedup = speedup_of({a, b}, SpeedupOf::same_batch);
  ASSERT_EQ(speedup.pairs.size(), 3u);
  EXPECT_EQ(speedup.pairs[0].baseline.file, "b.json");
  EXPECT_DOUBLE_EQ(speedup.pairs[0].ratio.value, 16);
  EXPECT_THAT(codes_of(speedup.pairs[0]), IsEmpty());
  EXPECT_EQ(speedup.pairs[1].baseline.file, "a.json");
  EXPECT_THAT(codes_of(speedup.pairs[1]), ElementsAre("host_differs"));
  EXPECT_EQ(speedup.pairs[2].baseline.file, "a.json");
  EXPECT_EQ(speedup.pairs[2].contender.name, "resnet50/cpu/fp32/b16");
}

TEST(Speedup, ComparesLossesOfFilesThatWereMeasuredApart) {
  const auto codes_where = [](std::vector<double> losses) {
    const auto a = made_result("a.json", "host", {{"cpu", "fp32", 100}});
    auto b = made_result("b.json", "host", {{"cpu", "fp32", 150}});
    b.result.context.git_sha = "def";
    for (auto& run : b.result.runs) run.quality->loss = losses;
    return codes_of(speedup_of({a, b}, SpeedupOf::same_batch).pairs.at(0));
  };
  EXPECT_THAT(codes_where({7.0, 6.9, 6.8}), ElementsAre("build_differs"));
  EXPECT_THAT(codes_where({7.0, 6.9, 6.7}), ElementsAre("parity_apart", "build_differs"));
  EXPECT_THAT(codes_where({}), ElementsAre("parity_unverified", "build_differs"));
}

// Files without a host name may be of different machines.
TEST(Speedup, PairsWithinAFileWhereMachinesAreNotKnown) {
  auto a = made_result("a.json", "", kCleanPair), b = made_result("b.json", "", kCleanPair);
  for (auto& run : b.result.runs) run.throughput->samples_per_second *= 2;
  const Speedup speedup = speedup_of({a, b}, SpeedupOf::same_batch);
  ASSERT_EQ(speedup.pairs.size(), 3u);
  EXPECT_EQ(speedup.pairs[0].baseline.file + speedup.pairs[0].contender.file, "a.jsona.json");
  EXPECT_EQ(speedup.pairs[1].baseline.file + speedup.pairs[1].contender.file, "b.jsonb.json");
  EXPECT_EQ(speedup.pairs[2].baseline.file + speedup.pairs[2].contender.name, "a.jsonresnet50/cpu/fp32/b16");
}

TEST(Speedup, WithoutACpuTakesTheFirstFilesGpu) {
  auto a = made_result("a.json", "here", {{"cuda", "bf16", 100}}), b = made_result("b.json", "there", {{"cuda", "bf16", 150}});
  const Speedup speedup = speedup_of({a, b}, SpeedupOf::same_batch);
  ASSERT_EQ(speedup.pairs.size(), 1u);
  EXPECT_EQ(speedup.pairs[0].contender.file, "b.json");
  NamedResult two_cards = made_result("a.json", "here", {{"cuda", "bf16", 100}, {"cuda", "bf16", 150, 16, "/device=cuda:1"}});
  for (auto& run : two_cards.result.runs)
    if (run.name.find("cuda:1") != std::string::npos) run.device.name = "Other GPU";
  EXPECT_THAT(pairs_of(speedup_of({two_cards}, SpeedupOf::same_batch)),
              ElementsAre("resnet50/cuda/bf16/b16/device=cuda:1 : resnet50/cuda/bf16/b16"));
  EXPECT_THAT(pairs_of(speedup_of_runs({{"cuda", "fp32", 100}, {"cuda", "tf32", 300}})),
              ElementsAre("resnet50/cuda/tf32/b16 : resnet50/cuda/fp32/b16"));
}

TEST(Speedup, PoolsRepetitionsOfOneMachineAndCountsACopyOnce) {
  auto a = made_result("a.json", "host", kCleanPair), b = a;
  b.path = "b.json";
  for (auto& run : b.result.runs) run.timing->wall_seconds += 1;  // measured again
  const Speedup pooled = speedup_of({a, b}, SpeedupOf::same_batch);
  ASSERT_EQ(pooled.pairs.size(), 1u);
  EXPECT_EQ(pooled.pairs[0].baseline.rates.size(), 10u);
  const Speedup copied = speedup_of({a, a}, SpeedupOf::same_batch);
  EXPECT_EQ(copied.pairs[0].baseline.rates.size(), 5u);
  EXPECT_THAT(reason_of(copied, "resnet50/cpu/fp32/b16"), HasSubstr("the same measurement is in a.json"));
}

TEST(Speedup, LeavesOutDisturbedRepetitionsThatAnotherFileHasUndisturbed) {
  const auto a = made_result("a.json", "host", kCleanPair);
  auto b = a;
  b.path = "b.json";
  for (auto& run : b.result.runs) {
    run.timing->wall_seconds += 1;  // measured again
    run.throughput->samples_per_second *= 0.7;
    run.interference->foreign_cpu_cores = run.device.backend == BackendKind::cpu && run.repetition < 2 ? 0.3 : 0.0;
  }
  for (const std::vector<NamedResult>& files : {std::vector{a, b}, {b, a}}) {
    const Speedup speedup = speedup_of(files, SpeedupOf::same_batch);
    ASSERT_EQ(speedup.pairs.size(), 1u);
    EXPECT_EQ(speedup.pairs[0].baseline.rates.size(), 8u);
    EXPECT_EQ(speedup.pairs[0].contender.rates.size(), 10u);
    EXPECT_THAT(codes_of(speedup.pairs[0]), Not(Contains("foreign_load")));
    ASSERT_EQ(speedup.unpaired.size(), 1u);
    EXPECT_EQ(speedup.unpaired[0].file, "b.json");
    EXPECT_THAT(speedup.unpaired[0].repetitions, ElementsAre(0, 1));
    EXPECT_THAT(speedup.unpaired[0].reason, HasSubstr("another file has it without"));
  }
  const Speedup alone = speedup_of({b}, SpeedupOf::same_batch);
  EXPECT_EQ(alone.pairs.at(0).baseline.rates.size(), 5u) << "within one file they count, and are marked";
  EXPECT_THAT(codes_of(alone.pairs[0]), Contains("foreign_load"));
  for (auto& run : b.result.runs) run.interference->foreign_cpu_cores = 0.3;
  const Speedup all_of_b = speedup_of({b, a}, SpeedupOf::same_batch);
  EXPECT_EQ(all_of_b.pairs.at(0).baseline.file, "a.json") << "the file that its repetitions are of";
  EXPECT_EQ(all_of_b.pairs[0].baseline.rates.size(), 5u);
  for (auto& run : b.result.runs) run.workload.seed += 1;
  EXPECT_EQ(speedup_of({a, b}, SpeedupOf::same_batch).pairs.at(0).baseline.rates.size(), 10u) << "no other has that seed";
}

TEST(Speedup, PairsPytorchWithOursOnTheSameDevice) {
  const Speedup speedup = speedup_of_runs({{"cpu", "fp32", 100},
                                           {"cpu", "bf16", 220},
                                           {"pytorch", "fp32", 80, 16, "/compile=default/threads=8"},
                                           {"pytorch", "bf16", 150, 16, "/threads=8"}});
  EXPECT_THAT(pairs_of(speedup),
              ElementsAre("resnet50/cpu/bf16/b16 : resnet50/cpu/fp32/b16",
                          "resnet50/pytorch/fp32/b16/compile=default/threads=8 : resnet50/cpu/fp32/b16",
                          "resnet50/pytorch/bf16/b16/threads=8 : resnet50/cpu/bf16/b16",
                          "resnet50/pytorch/bf16/b16/threads=8 : resnet50/pytorch/fp32/b16/compile=default/threads=8"));
}

TEST(Speedup, AtTheBestBatchComparesDevicesWhateverTheirBatch) {
  const std::vector<MadeRun> runs{{"cpu", "fp32", 90, 8},
                                  {"cpu", "fp32", 100, 16},
                                  {"cpu", "fp32", 95, 64},
                                  {"cuda", "fp32", 800, 64},
                                  {"cuda", "fp32", 1000, 256}};
  const Speedup speedup = speedup_of_runs(runs, SpeedupOf::best_batch);
  EXPECT_THAT(pairs_of(speedup), ElementsAre("resnet50/cuda/fp32/b256 : resnet50/cpu/fp32/b16"));
  EXPECT_DOUBLE_EQ(speedup.pairs[0].ratio.value, 10);
  EXPECT_TRUE(speedup.pairs[0].best_batch);
  EXPECT_THAT(codes_of(speedup.pairs[0]), ElementsAre("batch_differs"));
  EXPECT_THAT(reason_of(speedup, "resnet50/cuda/fp32/b64"), HasSubstr("slower than resnet50/cuda/fp32/b256"));
  EXPECT_THAT(pairs_of(speedup_of_runs(runs)), ElementsAre("resnet50/cuda/fp32/b256 : resnet50/cpu/fp32/b16",  // at their best
                                                           "resnet50/cuda/fp32/b64 : resnet50/cpu/fp32/b64"));
}

// The batches of the CPU are as fast: even repetitions choose the other one than odd ones.
TEST(Speedup, OfTheBestBatchIsEstimatedByRepetitionsThatDidNotChooseIt) {
  NamedResult result =
      made_result("a.json", "host", {{"cpu", "fp32", 100, 16}, {"cpu", "fp32", 100, 64}, {"cuda", "fp32", 1000, 256}});
  const std::vector<double> of_16{110, 90, 110, 90, 110}, of_64{95, 108, 95, 108, 95};
  for (auto& run : result.result.runs)
    if (run.device.backend == BackendKind::cpu)
      run.throughput->samples_per_second =
          (run.workload.batch == 16 ? of_16 : of_64).at(static_cast<std::size_t>(run.repetition));
  const SpeedupPair pair = speedup_of({result}, SpeedupOf::best_batch).pairs.at(0);
  EXPECT_EQ(pair.baseline.name, "resnet50/cpu/fp32/b16");
  EXPECT_NEAR(pair.baseline.rate, std::pow(95 * 95 * 95 * 90 * 90.0, 0.2), 1e-9);
  EXPECT_NEAR(pair.ratio.value, 1000 / pair.baseline.rate, 1e-9);
  EXPECT_THAT(codes_of(pair), Contains("fastest_in_doubt"));
  for (auto& run : result.result.runs)
    if (run.device.backend == BackendKind::cpu && run.workload.batch == 64) run.throughput->samples_per_second = 50;
  EXPECT_THAT(codes_of(speedup_of({result}, SpeedupOf::best_batch).pairs.at(0)), Not(Contains("fastest_in_doubt")));
}

TEST(Speedup, OfTheBestBatchOfSingleRepetitionsSaysThatItMayLookTooFast) {
  const NamedResult result = made_result("a.json", "host",
                                         {{.rate = 100, .batch = 16, .repetitions = 1},
                                          {.rate = 90, .batch = 64, .repetitions = 1},
                                          {.backend = "cuda", .rate = 1000, .repetitions = 1}});
  const SpeedupPair pair = speedup_of({result}, SpeedupOf::best_batch).pairs.at(0);
  ASSERT_THAT(codes_of(pair), Contains("fastest_in_doubt"));
  EXPECT_THAT(to_string(pair.warnings.back()),
              HasSubstr("b16 was chosen as the fastest of 2 by the repetitions that estimate it"));
}

// No CPU has fp16, and its other precisions are as fast.
TEST(Speedup, OfTheFastestOtherPrecisionIsEstimatedByRepetitionsThatDidNotChooseIt) {
  NamedResult result = made_result(
      "a.json", "host", {{"cpu", "fp32", 100}, {"cpu", "bf16", 100}, {"cuda", "fp16", 1000}, {"cuda", "fp16", 4000, 64}});
  const std::vector<double> of_fp32{110, 90, 110, 90, 110}, of_bf16{95, 108, 95, 108, 95};
  for (auto& run : result.result.runs)
    if (run.device.backend == BackendKind::cpu)
      run.throughput->samples_per_second =
          (run.precision == Precision::fp32 ? of_fp32 : of_bf16).at(static_cast<std::size_t>(run.repetition));
  const Speedup speedup = speedup_of({result}, SpeedupOf::same_batch);
  const auto pair = std::ranges::find_if(speedup.pairs, [](const SpeedupPair& each) {
    return each.contender.name == "resnet50/cuda/fp16/b16" && each.baseline.name.find("/cpu/") != std::string::npos;
  });
  ASSERT_NE(pair, speedup.pairs.end());
  EXPECT_EQ(pair->baseline.name, "resnet50/cpu/fp32/b16");
  EXPECT_NEAR(pair->baseline.rate, std::pow(95 * 95 * 95 * 90 * 90.0, 0.2), 1e-9);
  EXPECT_THAT(codes_of(*pair), Contains("fastest_in_doubt"));
}

TEST(Speedup, OfTheFastestPrecisionNamesThoseThatDidNotFinish) {
  NamedResult result = made_result("a.json", "host", {{"cpu", "fp32", 100}, {"cuda", "fp32", 1000}, {"cuda", "fp16", 4000}});
  const auto doubts = [&] {
    std::vector<std::string> texts;
    const SpeedupPair pair = speedup_of({result}, SpeedupOf::same_batch).pairs.at(0);
    for (const Warning& warning : pair.warnings)
      if (warning.code == WarningCode::fastest_in_doubt) texts.push_back(to_string(warning));
    return texts;
  };
  EXPECT_THAT(doubts(), IsEmpty());
  for (auto& run : result.result.runs)
    if (run.precision == Precision::fp16) run.status = RunStatus::interrupted;
  EXPECT_THAT(
      doubts(),
      ElementsAre("fastest_in_doubt: resnet50/cuda/fp16/b16 did not finish, so resnet50/cuda/fp32/b16 may not be the fastest"));
}

TEST(Speedup, BeginsWithEachDeviceAtItsBest) {
  const Speedup speedup = speedup_of_runs({{"cpu", "fp32", 100},
                                           {"cpu", "bf16", 250},
                                           {"cpu", "bf16", 300, 8},
                                           {"cuda", "fp32", 800},
                                           {"cuda", "tf32", 1600},
                                           {"cuda", "bf16", 3000},
                                           {"cuda", "fp16", 2900},
                                           {"cuda", "fp16", 6000, 64}});
  ASSERT_FALSE(speedup.pairs.empty());
  const SpeedupPair& best = speedup.pairs[0];
  EXPECT_EQ(pairs_of(speedup)[0], "resnet50/cuda/fp16/b64 : resnet50/cpu/bf16/b8");
  EXPECT_TRUE(best.each_at_best);
  EXPECT_DOUBLE_EQ(best.ratio.value, 20);
  EXPECT_THAT(codes_of(best), ElementsAre("precision_differs", "batch_differs"));
  EXPECT_EQ(std::ranges::count_if(speedup.pairs, &SpeedupPair::each_at_best), 1);
  EXPECT_EQ(reason_of(speedup, "resnet50/cuda/fp16/b64"), "(paired)");
  EXPECT_THAT(pairs_of(speedup), Contains("resnet50/cuda/fp16/b16 : resnet50/cpu/bf16/b16"))
      << "without fp16 on the CPU, its fastest of that batch";
  EXPECT_THAT(pairs_of(speedup), Not(Contains("resnet50/cuda/bf16/b16 : resnet50/cpu/fp32/b16")));
}

TEST(Speedup, OfDevicesAtTheirBestLeavesOutWhatWasRestrictedOnPurpose) {
  const Speedup speedup =
      speedup_of_runs({{"cpu", "fp32", 100, 16, "/without=fusion"}, {"cpu", "fp32", 90}, {"cuda", "bf16", 900}});
  EXPECT_EQ(pairs_of(speedup)[0], "resnet50/cuda/bf16/b16 : resnet50/cpu/fp32/b16");
  EXPECT_TRUE(speedup.pairs[0].each_at_best);
}

TEST(Speedup, OfDevicesAtTheirBestIsSaidOnceForAPairOfOneBatchAndPrecision) {
  const Speedup speedup = speedup_of_runs(kCleanPair);
  ASSERT_EQ(speedup.pairs.size(), 1u);
  EXPECT_TRUE(speedup.pairs[0].each_at_best);
  EXPECT_FALSE(speedup_of_runs({{"cpu", "fp32", 100}, {"cpu", "bf16", 200}}).pairs[0].each_at_best) << "one device alone";
}

TEST(Speedup, AtTheBestBatchKeepsOtherWorkApart) {
  NamedResult result = made_result("a.json", "host", {{"cpu", "fp32", 100, 16}, {"cuda", "fp32", 800, 64}});
  for (auto& run : result.result.runs)
    if (run.device.backend == BackendKind::cuda) run.workload.optimizer = "adamw lr=0.1";
  EXPECT_THAT(speedup_of({result}, SpeedupOf::best_batch).pairs, IsEmpty());
  const auto with_rates = [](double cpu_rate, double gpu_rate) {
    NamedResult chosen = made_result("a.json", "host", {{"cpu", "fp32", 100, 16}, {"cuda", "fp32", 800, 64}});
    for (auto& run : chosen.result.runs) {
      const double rate = run.device.backend == BackendKind::cuda ? gpu_rate : cpu_rate;
      rename(run, run.name + "/learning-rate=" + std::to_string(rate));
      run.workload.optimizer = "sgd lr=" + std::to_string(rate) + " momentum=0.9";
    }
    return speedup_of({chosen}, SpeedupOf::best_batch).pairs.size();
  };
  EXPECT_EQ(with_rates(0.1, 0.1), 1u);
  EXPECT_EQ(with_rates(0.1, 0.2), 0u) << "learning rates that were chosen are not those that follow the batch";
}

TEST(Speedup, RefusesCostsWithoutARatio) {
  NamedResult result = made_result("a.json", "host", kCleanPair);
  gpu([](auto& run) { run.cost->currency = "EUR"; })(result);
  Speedup speedup = speedup_of({result}, SpeedupOf::same_batch);
  EXPECT_TRUE(std::isnan(speedup.pairs[0].cost.value));
  EXPECT_EQ(speedup.pairs[0].cost.reason, "costs in EUR and USD are not compared");
  cpu([](auto& run) { run.cost->currency = "EUR"; })(result);
  EXPECT_DOUBLE_EQ(speedup_of({result}, SpeedupOf::same_batch).pairs[0].cost.value, 2) << "one currency, whichever";
  cpu([](auto& run) { run.cost->usd_per_epoch = 0; })(result);
  speedup = speedup_of({result}, SpeedupOf::same_batch);
  EXPECT_TRUE(std::isnan(speedup.pairs[0].cost.value));
  EXPECT_THAT(speedup.pairs[0].cost.reason, HasSubstr("is 0 or less"));
}

// Whatever numbers stand in a file, what comes out is a finite number, or null with a reason.
TEST(Speedup, SurvivesAbsurdNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double absurd : {0.0, nan, 1e308, 1e-308, -1.0}) {
    NamedResult result = made_result("a.json", "host", kCleanPair);
    cpu([&](auto& run) {
      run.timing->step_seconds = {absurd};
      run.timing->step_seconds_median = run.timing->epoch_seconds = run.timing->wall_seconds = absurd;
      run.timing->step_seconds_ci95 = {absurd, absurd};
      run.efficiency = Efficiency{absurd, absurd, absurd, absurd};
      run.interference->foreign_cpu_cores = absurd;
      run.quality->loss = {absurd};
      run.energy->joules_per_epoch = absurd;
      run.cost->usd_per_epoch = absurd;
    })(result);
    gpu([&](auto& run) {
      run.throughput->samples_per_second = absurd;
      run.quality->parity_max_relative_difference = absurd;
    })(result);
    const Speedup speedup = speedup_of({result}, SpeedupOf::same_batch);
    const bool positive = absurd > 0;
    ASSERT_EQ(speedup.pairs.size(), positive ? 1u : 0u) << absurd;
    const std::string text = speedup_text(speedup) + print_json(speedup_json(speedup));
    for (const char* no_number : {"nan", "inf", "NaN", "Inf"}) EXPECT_THAT(text, testing::Not(HasSubstr(no_number))) << absurd;
    for (const SpeedupPair& pair : speedup.pairs)
      for (const Estimate* estimate : {&pair.ratio, &pair.cost, &pair.energy})
        EXPECT_TRUE(std::isfinite(estimate->value) || !estimate->reason.empty()) << absurd;
  }
}

TEST(SpeedupJson, HasTheContractsKeys) {
  const Json json = speedup_json(speedup_of_runs({{"cpu", "fp32", 100}, {"cuda", "fp32", 800}, {"cpu", "fp32", 9, 64}}));
  const Json& pair = json["pairs"][0];
  EXPECT_EQ(pair["workload"], "resnet50, train, synthetic, batch 16");
  EXPECT_EQ(pair["baseline"], "resnet50/cpu/fp32/b16");
  EXPECT_DOUBLE_EQ(pair["ratio"].get<double>(), 8);
  EXPECT_EQ(pair["ratio_ci95"].size(), 2u);
  EXPECT_DOUBLE_EQ(pair["cost_ratio"].get<double>(), 2);
  EXPECT_GT(pair["energy_ratio"].get<double>(), 1);
  EXPECT_TRUE(pair["warnings"].is_array());
  EXPECT_EQ(pair["batch"], "same");
  EXPECT_EQ(pair["compares"], "devices_or_precisions");
  EXPECT_EQ(pair["baseline_repetitions"], 5);
  EXPECT_EQ(json["unpaired"][0]["name"], "resnet50/cpu/fp32/b64");
  EXPECT_THAT(json["unpaired"][0]["reason"].get<std::string>(), HasSubstr("batch (16)"));
}

TEST(SpeedupText, NumbersEachNoteOnce) {
  std::vector<MadeRun> runs{{"cpu", "fp32", 100}, {"cuda", "fp32", 800}, {"cuda", "tf32", 900}};
  for (MadeRun& run : runs) run.repetitions = 3;
  const std::string text = speedup_text(speedup_of_runs(runs));
  EXPECT_THAT(text, HasSubstr("8.00x"));
  EXPECT_THAT(text, HasSubstr("[1] no interval: an interval takes 5 repetitions per side"));
  EXPECT_THAT(text, HasSubstr("[2] precision_differs: tf32 against strict fp32"));
  EXPECT_THAT(text, HasSubstr("[1][2]"));
  EXPECT_EQ(text.find("[3]"), std::string::npos);
  EXPECT_THAT(speedup_text(speedup_of_runs({{"cpu", "fp32", 100, 8}, {"cuda", "fp32", 800, 64}}, SpeedupOf::best_batch)),
              HasSubstr("each device at its own best batch"));
}

TEST(Speedup, PairsRunsInOnePrecisionOnlyIfTheirProductsAreTooExceptAtTheirBest) {
  const auto widen = [](NamedResult result) {
    for (auto& run : result.result.runs)
      if (run.device.backend == BackendKind::cpu && run.precision == Precision::bf16) run.device.products = Precision::fp32;
    return result;
  };
  const std::vector<MadeRun> made{{"cpu", "fp32", 100}, {"cpu", "bf16", 120}, {"cuda", "bf16", 3000}};
  const Speedup speedup = speedup_of({widen(made_result("a.json", "host", made))}, SpeedupOf::same_batch);
  EXPECT_THAT(pairs_of(speedup),
              ElementsAre("resnet50/cuda/bf16/b16 : resnet50/cpu/bf16/b16",  // each at its best
                          "resnet50/cpu/bf16/b16 : resnet50/cpu/fp32/b16", "resnet50/cuda/bf16/b16 : resnet50/cpu/fp32/b16"));
  EXPECT_TRUE(speedup.pairs[0].each_at_best);
  EXPECT_THAT(codes_of(speedup.pairs[0]), ElementsAre("widened_products"));

  const Speedup machines = speedup_of(
      {made_result("a.json", "here", {{"cpu", "bf16", 400}}), widen(made_result("b.json", "there", {{"cpu", "bf16", 120}}))},
      SpeedupOf::same_batch);
  EXPECT_THAT(pairs_of(machines), IsEmpty());
  EXPECT_EQ(machines.unpaired.at(1).reason,
            "products of resnet50/cpu/bf16/b16 are in bf16, and those of this run in fp32, so they are not compared");

  NamedResult kernels = made_result("a.json", "host", {{"cpu", "bf16", 400}, {"cpu", "bf16", 40, 16, "/gemm=portable"}});
  EXPECT_EQ(speedup_of({kernels}, SpeedupOf::same_batch).pairs.size(), 1u);
  for (auto& run : kernels.result.runs)
    if (run.settings.contains("kernels")) run.device.products = Precision::fp32;
  EXPECT_THAT(pairs_of(speedup_of({kernels}, SpeedupOf::same_batch)), IsEmpty()) << "kernels that widen are another question";
}

}  // namespace
}  // namespace epochbench
