// What makes a comparison unfair: each warning alone, what is not said, and what is not a baseline at all.
#include "src/analysis/fairness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/report/text/text_parts.h"
#include "support/made_speedup.h"

namespace epochbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Unfair {
  const char* code;
  ResultChange change;
};

void hold_back_both(NamedResult& result) {
  for (auto& run : result.result.runs) {
    rename(run, run.name + "/without=fusion");
    rename(run, run.name + "/without=fusion");
  }
}

const std::vector<Unfair>& unfair_changes() {
  static const std::vector<Unfair> changes{
      {"unusable", [](NamedResult& named) { named.result.context.build_type = "Debug"; }},
      {"far_from_bound", cpu([](auto& run) { run.efficiency->bound_seconds = 0.05; })},
      {"baseline_below_half_peak", cpu([](auto& run) { run.efficiency->peak_fraction = 0.49; })},
      {"fewer_threads", cpu([](auto& run) { run.device.threads = 7; })},
      {"precision_differs", gpu([](auto& run) { run.precision = Precision::tf32; })},
      {"parity_unverified", gpu([](auto& run) { run.quality->parity_max_relative_difference.reset(); })},
      {"parity_unverified", gpu([](auto& run) { run.quality.reset(); })},
      {"parity_unverified", gpu([](auto& run) {
         run.device.backend = BackendKind::pytorch;
         run.quality->parity_max_relative_difference = 0.1;  // of a file that older versions wrote
       })},
      {"parity_apart", gpu([](auto& run) { run.quality->parity_max_relative_difference = 2e-4; })},
      {"epoch_kind_differs", gpu([](auto& run) { run.timing->epoch_kind = EpochKind::measured; })},
      {"data_waits", gpu([](auto& run) { run.efficiency->data_wait_fraction = 0.11; })},
      {"price_of_other_machine", gpu([](auto& run) {
         run.cost->price_source = "catalog: aws g5.xlarge us-east-1 2026-05-01, not the machine that was measured";
       })},
      {"currency_differs", gpu([](auto& run) { run.cost->currency = "EUR"; })},
      {"foreign_load", cpu([](auto& run) { run.interference->foreign_cpu_cores = run.repetition == 3 ? 0.16 : 0; })},
      {"portable_kernel", cpu([](auto& run) { run.device.isa = "portable"; })},
      {"unused_instruction", cpu([](auto& run) { run.device.isa = "avx2"; })},
      {"kernels_missing",
       [](NamedResult& named) {
         cpu([](auto& run) { run.device.isa = "portable"; })(named);
         named.result.context.cpu_kernels = {{"portable"}};
       }},
      {"noisy_sample", cpu([](auto& run) {
         run.timing->step_seconds_ci95 = {0.15, 0.17};
       })},
      {"noisy_repetitions", cpu([](auto& run) { run.throughput->samples_per_second = 100 + 10 * run.repetition; })},
      {"throttled", gpu([](auto& run) { run.gpu->throttled_steps = run.repetition; })},
      {"energy_in_part", gpu([](auto& run) { run.energy->source = EnergySource::nvml; })},
      {"memory_not_metered", cpu([](auto& run) { run.energy->cpu_includes_memory.reset(); })},
      {"held_back", hold_back_both},
      {"settings_differ", gpu([](auto& run) { rename(run, run.name + "/order=sequential"); })},
      {"unpinned", cpu([](auto& run) { run.device.pinned = run.repetition != 3; })},
      {"dirty_build", [](NamedResult& named) { named.result.context.git_dirty = true; }},
      {"resumed", [](NamedResult& named) { named.result.context.earlier_calls.emplace_back(); }},
      {"blind_choices", gpu([](auto& run) { run.device.blind_seconds = 0.02 * run.timing->step_seconds_median; })},
      {"library_is_faster",
       [](NamedResult& named) {
         named.result.context.cpu.model = "Intel(R) Xeon(R) Processor (family 6, model 167, stepping 1)";
       }},
      {"epoch_samples_differ", gpu([](auto& run) { run.workload.samples_per_epoch = 12'816; })},
  };
  return changes;
}

TEST(Fairness, EveryWarningIsProvokedAlone) {
  for (const Unfair& unfair : unfair_changes()) {
    NamedResult result = made_result("a.json", "host", kCleanPair);
    unfair.change(result);
    const Speedup speedup = speedup_of({result}, SpeedupOf::same_batch);
    ASSERT_EQ(speedup.pairs.size(), 1u) << unfair.code;
    std::vector<Warning> warnings = speedup.pairs[0].warnings;
    if (std::string(unfair.code) != "unusable")  // several are so grave: see unusable_test.cpp
      std::erase_if(warnings, [](const Warning& warning) { return warning.code == WarningCode::unusable; });
    else
      warnings.resize(1);  // of both sides, as one build measured them
    ASSERT_EQ(warnings.size(), 1u) << unfair.code;
    ASSERT_STREQ(name(warnings[0].code), unfair.code);
    const std::string text = to_string(warnings[0]);
    EXPECT_THAT(text, testing::StartsWith(std::string(unfair.code) + ": ")) << "the code, then a sentence";
    EXPECT_GT(text.size(), std::string(unfair.code).size() + 15);
  }
}

TEST(Fairness, NothingIsUnfairAtItsBound) {
  NamedResult result = made_result("a.json", "host", kCleanPair);
  for (auto& run : result.result.runs) {
    run.efficiency->peak_fraction = 0.5;
    run.efficiency->data_wait_fraction = 0.1;
    run.interference->foreign_cpu_cores = 0.15;
    run.timing->step_seconds_median = 1;
    run.timing->step_seconds_ci95 = {0.985, 1.0249};
  }
  gpu([](auto& run) { run.quality->parity_max_relative_difference = 1e-4; })(result);
  EXPECT_THAT(codes_of(speedup_of({result}, SpeedupOf::same_batch).pairs.at(0)), IsEmpty());
}

TEST(Fairness, TellsMachinesAndBuildsApart) {
  auto a = made_result("a.json", "host", {{"cpu", "fp32", 100}}), b = made_result("b.json", "host", {{"cuda", "fp32", 800}});
  EXPECT_THAT(codes_of(speedup_of({a, b}, SpeedupOf::same_batch).pairs[0]), IsEmpty());
  b.result.context.git_sha = "def";
  EXPECT_THAT(codes_of(speedup_of({a, b}, SpeedupOf::same_batch).pairs[0]), ElementsAre("build_differs"));
  b.result.context.host_name.reset();
  b.result.context.git_sha.reset();
  EXPECT_THAT(codes_of(speedup_of({a, b}, SpeedupOf::same_batch).pairs[0]), IsEmpty()) << "not known to be another";
  b.result.context.cpu.model = "Other CPU";
  EXPECT_THAT(codes_of(speedup_of({a, b}, SpeedupOf::same_batch).pairs[0]), ElementsAre("host_differs"));
  const auto text = [&] { return to_string(speedup_of({a, b}, SpeedupOf::same_batch).pairs[0].warnings.at(0)); };
  EXPECT_EQ(text(), "host_differs: measured on different machines: Some CPU and Other CPU");
  b.result.context.cpu.model = "Some CPU (family 26, model 2, stepping 1)";
  EXPECT_EQ(text(), "host_differs: perhaps measured on different machines: Some CPU and " + b.result.context.cpu.model);
  b.result.context.cpu.model = "Some CPU";
  EXPECT_THAT(codes_of(speedup_of({a, b}, SpeedupOf::same_batch).pairs[0]), IsEmpty());
  a.result.context.cpu.l1d_bytes = 32 << 10, b.result.context.cpu.l1d_bytes = 48 << 10;  // Zen 4 and 5, both "AMD EPYC" in a VM
  EXPECT_EQ(text(),
            "host_differs: measured on different machines: Some CPU with 32 KiB of L1 data cache and Some CPU with 48 KiB of "
            "L1 data cache");
  b.result.context.cpu.l1d_bytes.reset();
  a.result.context.cpu.cores = 2, b.result.context.cpu.cores = 16;
  EXPECT_EQ(text(), "host_differs: measured on different machines: Some CPU with 2 cores and Some CPU with 16 cores");
}

TEST(Fairness, NamesTheMissingAmxInstruction) {
  NamedResult result = made_result("a.json", "host", {{"cpu", "bf16", 200}, {"cuda", "bf16", 2000}});
  const Speedup clean = speedup_of({result}, SpeedupOf::same_batch);
  EXPECT_THAT(codes_of(clean.pairs[0]), IsEmpty());
  cpu([](auto& run) { run.device.isa = "avx512_bf16"; })(result);
  const Speedup speedup = speedup_of({result}, SpeedupOf::same_batch);
  ASSERT_THAT(codes_of(speedup.pairs[0]), ElementsAre("unused_instruction"));
  EXPECT_THAT(to_string(speedup.pairs[0].warnings[0]), HasSubstr("the CPU has amx_bf16"));
}

TEST(Fairness, KernelsAreMissingIfTheBuildLacksTheBestOnes) {
  Context context;
  context.cpu.isa = {"avx2", "fma", "avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl", "avx512_bf16", "avx512_vnni"};
  EXPECT_THAT(missing_kernels(context), IsEmpty()) << "an older file does not name its kernels";
  context.cpu_kernels = {{"portable", "avx2", "avx512"}};
  EXPECT_THAT(missing_kernels(context), ElementsAre("avx512_bf16", "avx512_vnni"));
  context.cpu_kernels = {{"portable", "avx2", "avx512", "avx512_bf16", "avx512_vnni"}};
  EXPECT_THAT(missing_kernels(context), IsEmpty()) << "kernels that are not the best may be missing, such as AMX's here";
  context.cpu = {};
  EXPECT_THAT(missing_kernels(context), IsEmpty()) << "a CPU that is not known";
}

TEST(Fairness, NamesTheMissingNeonKernels) {
  NamedResult result = made_result("a.json", "host", {{"cpu", "bf16", 200}, {"cuda", "bf16", 2000}});
  result.result.context.cpu.isa = {"asimd", "bf16", "sve"};
  cpu([](auto& run) { run.device.isa = "neon_bf16"; })(result);
  EXPECT_THAT(codes_of(speedup_of({result}, SpeedupOf::same_batch).pairs[0]), IsEmpty());
  cpu([](auto& run) { run.device.isa = "neon"; })(result);
  const Speedup speedup = speedup_of({result}, SpeedupOf::same_batch);
  ASSERT_THAT(codes_of(speedup.pairs[0]), ElementsAre("unused_instruction"));
  EXPECT_THAT(to_string(speedup.pairs[0].warnings[0]), HasSubstr("the CPU has neon_bf16"));
}

TEST(Fairness, WarnsOfNothingThatIsNotKnown) {
  NamedResult result = made_result("a.json", "", kCleanPair);
  result.result.context.cpu = {};
  result.result.context.git_sha.reset();
  for (auto& run : result.result.runs) {
    const bool gpu = run.device.backend == BackendKind::cuda;
    run.timing.reset();
    run.efficiency.reset();
    run.interference.reset();
    run.gpu.reset();
    run.energy.reset();
    run.cost.reset();
    run.device.isa.reset();
    if (!gpu) run.device.threads.reset();
  }
  const Speedup speedup = speedup_of({result}, SpeedupOf::same_batch);
  ASSERT_EQ(speedup.pairs.size(), 1u);
  EXPECT_THAT(codes_of(speedup.pairs[0]), IsEmpty());
  EXPECT_DOUBLE_EQ(speedup.pairs[0].ratio.value, 8);
  EXPECT_THAT(speedup.pairs[0].cost.reason, HasSubstr("not known"));
}

// A restricted run is not a baseline for one that is not, and the table says why; the other way round they are a pair.
TEST(Fairness, ARestrictedRunIsNotABaseline) {
  const auto answer = [](const ResultChange& change) {
    NamedResult result = made_result("a.json", "host", kCleanPair);
    change(result);
    return speedup_of({result}, SpeedupOf::same_batch);
  };
  const auto refused = [&](const std::string& what, const std::function<void(epochbench::Run&)>& hold_back) {
    const Speedup speedup = answer(cpu(hold_back));
    EXPECT_THAT(speedup.pairs, IsEmpty()) << what;
    EXPECT_THAT(reason_of(speedup, "resnet50/cuda/fp32/b16"), HasSubstr("was restricted on purpose (" + what + ")"));
    EXPECT_THAT(speedup.unpaired.at(0).reason, HasSubstr("a baseline only for runs that were too")) << what;
    EXPECT_EQ(answer(gpu(hold_back)).pairs.size(), 1u) << what << ", of the contender";
  };
  refused("without fusion", [](auto& run) { rename(run, run.name + "/without=fusion"); });
  refused("without fusion, without prefetch", [](auto& run) { rename(run, run.name + "/without=fusion+prefetch"); });
  refused("portable kernels", [](auto& run) { rename(run, run.name + "/gemm=portable"); });
  for (const auto& [what, input] : {std::pair("decoding made slower", Input{1, true, 0.002, Cache::none}),
                                    {"decoding made slower, no loader thread", Input{0, false, 0.002, Cache::decoded}},
                                    {"no loader thread", Input{0, false, 0, Cache::none}}}) {
    const auto hold_back = [input = input](auto& run) { run.input = input; };
    refused(what, hold_back);
    EXPECT_EQ(answer([&](NamedResult& result) {
                cpu(hold_back)(result);
                gpu(hold_back)(result);
              }).pairs.size(),
              1u)
        << what << ", of both";
  }
}

TEST(Fairness, SlowDecodingIsComparedWithWhatDecodesMeanwhileToo) {
  NamedResult result = made_result("a.json", "host", kCleanPair);
  cpu([](auto& run) { run.input = Input{1, true, 0.002, Cache::none}; })(result);
  gpu([](auto& run) { run.input = Input{1, true, 0.002, Cache::decoded}; })(result);
  EXPECT_THAT(reason_of(speedup_of({result}, SpeedupOf::same_batch), "resnet50/cuda/fp32/b16"),
              HasSubstr("slow decoding while steps run"));
}

TEST(Fairness, AnUnrestrictedBaselineIsTakenInstead) {
  const Speedup speedup = speedup_of_runs({{"cpu", "fp32", 10, 16, "/gemm=portable"},
                                           {"cpu", "fp32", 60, 16, "/without=fusion"},
                                           {"cpu", "fp32", 100},
                                           {"cuda", "fp32", 800, 16, "/order=sequential"},
                                           {"cuda", "fp32", 500, 16, "/without=fusion"},
                                           {"cuda", "bf16", 900}});
  EXPECT_THAT(pairs_of(speedup), ElementsAre("resnet50/cuda/fp32/b16/order=sequential : resnet50/cpu/fp32/b16",
                                             "resnet50/cuda/fp32/b16/without=fusion : resnet50/cpu/fp32/b16/without=fusion",
                                             "resnet50/cuda/bf16/b16 : resnet50/cpu/fp32/b16",
                                             "resnet50/cuda/bf16/b16 : resnet50/cuda/fp32/b16/order=sequential",
                                             "resnet50/cpu/fp32/b16 : resnet50/cpu/fp32/b16/gemm=portable",
                                             "resnet50/cpu/fp32/b16 : resnet50/cpu/fp32/b16/without=fusion"));
  EXPECT_THAT(codes_of(speedup.pairs[1]), ElementsAre("held_back"));
}

// Two builds measured the CPU on the machine of the GPU: the one that nothing disturbed is the baseline.
TEST(Fairness, OfTwoBaselinesTheOneWithFewerWarningsIsTaken) {
  NamedResult disturbed = made_result("a.json", "host", {{"cpu", "fp32", 70}}),
              clean = made_result("b.json", "host", {{"cpu", "fp32", 100}}),
              contender = made_result("c.json", "host", {{"cuda", "fp32", 800}});
  disturbed.result.context.git_sha = "one";
  clean.result.context.git_sha = "two";
  cpu([](auto& run) { run.interference->foreign_cpu_cores = 1; })(disturbed);
  const Speedup speedup = speedup_of({disturbed, clean, contender}, SpeedupOf::same_batch);
  ASSERT_EQ(speedup.pairs.size(), 2u);
  EXPECT_EQ(speedup.pairs[0].contender.name, "resnet50/cuda/fp32/b16");
  EXPECT_EQ(speedup.pairs[0].baseline.file, "b.json");
}

TEST(Fairness, ForwardRunsHaveNoParity) {
  NamedResult result = made_result("a.json", "host", kCleanPair);
  for (auto& run : result.result.runs) {
    run.workload.mode = Mode::forward;
    run.quality = Quality{};
  }
  const Speedup speedup = speedup_of({result}, SpeedupOf::same_batch);
  ASSERT_EQ(speedup.pairs.size(), 1u);
  EXPECT_THAT(codes_of(speedup.pairs[0]), IsEmpty());
}

TEST(Fairness, SaysWhatTheProductsOfARunMultiplyIn) {
  NamedResult result = made_result("a.json", "host", {{"cpu", "fp32", 100}, {"cpu", "bf16", 120}});
  for (auto& run : result.result.runs)
    if (run.precision == Precision::bf16) run.device.products = Precision::fp32;
  const Speedup speedup = speedup_of({result}, SpeedupOf::same_batch);
  ASSERT_THAT(codes_of(speedup.pairs[0]), ElementsAre("precision_differs", "widened_products"));
  EXPECT_THAT(to_string(speedup.pairs[0].warnings[1]),
              HasSubstr("resnet50/cpu/bf16/b16 stores its numbers in bf16 and multiplies them in fp32"));
}

}  // namespace
}  // namespace epochbench
