// How well input feeds a device: groups, utilization, the rule's thresholds and what the text says, of constructed results.
#include "src/analysis/input/input_pipeline.h"

#include <cmath>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/report/text/result_text.h"
#include "support/made_settings.h"

namespace epochbench {
namespace {

using testing::HasSubstr;
using testing::Not;

epochbench::Run run_of(const std::string& name, const Input& input, double rate, double waits, int repetition = 0) {
  epochbench::Run run;
  rename(run, name);
  run.repetition = repetition;
  run.workload.model = "resnet20";
  run.workload.mode = Mode::train;
  run.workload.dataset = "digits";
  run.workload.fingerprint = std::string(32, 'a');
  run.workload.batch = 32;
  run.device = {BackendKind::cpu, "a CPU", 1, "avx2"};
  run.precision = Precision::fp32;
  run.input = input;
  run.throughput = Throughput{rate, std::nullopt};
  run.efficiency = Efficiency{1e9, 0.5, waits, std::nullopt};
  return run;
}

// A starved run, two that are supplied (one competes with the steps), and decoded data.
Result four_runs() {
  return {{},
          {run_of("resnet20/cpu/fp32/b32/loader-threads=0", {0, false, 0.002, Cache::none}, 250, 0.5),
           run_of("resnet20/cpu/fp32/b32/without=prefetch", {1, true, 0.002, Cache::none}, 480, 0.04),
           run_of("resnet20/cpu/fp32/b32/loader-threads=2", {2, true, 0.002, Cache::none}, 375, 0.01),
           run_of("resnet20/cpu/fp32/b32/cache=decoded", {1, true, 0.002, Cache::decoded}, 500, 0)}};
}

TEST(InputState, ByTheThresholdsOfTheArticle) {
  EXPECT_EQ(state_at(0.699), InputState::starved);
  EXPECT_EQ(state_at(0.7), InputState::partly);
  EXPECT_EQ(state_at(0.9), InputState::partly);
  EXPECT_EQ(state_at(0.901), InputState::well);
}

TEST(InputGroups, ComparesWithDecodedDataAndTheWorstWithTheBest) {
  const auto groups = input_groups(four_runs());
  ASSERT_EQ(groups.size(), 1u);
  const InputGroup& group = groups[0];
  EXPECT_EQ(group.workload, "resnet20/cpu/fp32/b32");
  EXPECT_EQ(group.decode_cost_seconds, 0.002);
  EXPECT_FALSE(group.on_gpu);
  ASSERT_EQ(group.rows.size(), 4u);
  EXPECT_EQ(group.decoded, 3u);
  const double fractions[] = {0.5, 0.96, 0.75, 1};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(group.rows[i].of_decoded.value, fractions[i], 1e-12) << i;
    EXPECT_FALSE(group.rows[i].of_decoded.ci95) << "of one repetition";
  }
  EXPECT_NEAR(*group.rows[0].utilization, 0.5, 1e-12);
  EXPECT_EQ(group.rows[0].state, InputState::starved);
  EXPECT_EQ(group.rows[2].state, InputState::well);
  EXPECT_EQ(group.worst, 0u);
  EXPECT_EQ(group.best, 3u);
  EXPECT_NEAR(group.gain.value, 2, 1e-12);
}

TEST(InputGroups, BringsRepetitionsTogether) {
  Result result;
  for (int repetition = 0; repetition < 5; ++repetition) {
    const double noise = 1 + 0.01 * (repetition - 2);
    result.runs.push_back(run_of("resnet20/cpu/fp32/b32/loader-threads=0", {0, false, 0.002, Cache::none}, 250 * noise,
                                 0.5 + 0.01 * (repetition - 2), repetition));
    result.runs.push_back(
        run_of("resnet20/cpu/fp32/b32/cache=decoded", {1, true, 0.002, Cache::decoded}, 500 / noise, 0, repetition));
  }
  const auto groups = input_groups(result);
  ASSERT_EQ(groups.size(), 1u);
  ASSERT_EQ(groups[0].rows.size(), 2u);
  EXPECT_EQ(groups[0].rows[0].rates.size(), 5u);
  EXPECT_NEAR(*groups[0].rows[0].data_wait_fraction, 0.5, 1e-12);
  ASSERT_TRUE(groups[0].gain.ci95);
  EXPECT_LT(groups[0].gain.ci95->first, 2);
  EXPECT_GT(groups[0].gain.ci95->second, 2);
}

TEST(InputGroups, OfAGpuTheBusyFractionCounts) {
  Result result = four_runs();
  for (epochbench::Run& run : result.runs) {
    run.device = {BackendKind::cuda, "a GPU", std::nullopt, std::nullopt};
    run.efficiency->gpu_busy_fraction = 0.8;
  }
  result.runs[0].efficiency->gpu_busy_fraction = std::nullopt;
  const auto groups = input_groups(result);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_TRUE(groups[0].on_gpu);
  EXPECT_FALSE(groups[0].rows[0].utilization) << "waits alone do not show it";
  EXPECT_FALSE(groups[0].rows[0].state);
  EXPECT_EQ(groups[0].rows[1].utilization, 0.8);
  EXPECT_EQ(groups[0].rows[1].state, InputState::partly);
  EXPECT_THAT(input_text(result), HasSubstr("GPU busy"));
}

TEST(InputGroups, WhatDiffersInMoreThanItsInputIsNotCompared) {
  const auto groups_after = [](const std::function<void(epochbench::Run&)>& change) {
    Result result = four_runs();
    change(result.runs[3]);
    const auto groups = input_groups(result);
    return groups.size() == 1 && groups[0].rows.size() == 3 && !groups[0].decoded;
  };
  EXPECT_TRUE(groups_after([](epochbench::Run& run) { run.precision = Precision::bf16; }));
  EXPECT_TRUE(groups_after([](epochbench::Run& run) { run.workload.fingerprint[0] = 'b'; }));
  EXPECT_TRUE(groups_after([](epochbench::Run& run) { run.workload.mode = Mode::forward; }));
  EXPECT_TRUE(groups_after([](epochbench::Run& run) { run.workload.dataset = "cifar10:there"; }));
  EXPECT_TRUE(groups_after([](epochbench::Run& run) { run.device.threads = 2; }));
  EXPECT_TRUE(groups_after([](epochbench::Run& run) { run.input->decode_cost_seconds = 0; }));
  EXPECT_TRUE(groups_after([](epochbench::Run& run) { rename(run, "resnet20/cpu/fp32/b32/cache=decoded/order=sequential"); }));
  EXPECT_TRUE(groups_after([](epochbench::Run& run) { run.status = RunStatus::failed; }));
  EXPECT_TRUE(groups_after([](epochbench::Run& run) { run.input.reset(); }));
}

TEST(InputGroups, WithoutDecodedDataOrWaitsTheReasonStandsInPlaceOfANumber) {
  Result result = four_runs();
  result.runs.pop_back();
  for (epochbench::Run& run : result.runs) run.efficiency->data_wait_fraction = std::nullopt;
  const auto groups = input_groups(result);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_FALSE(std::isfinite(groups[0].rows[0].of_decoded.value));
  EXPECT_THAT(groups[0].rows[0].of_decoded.reason, HasSubstr("--cache decoded"));
  EXPECT_FALSE(groups[0].best || groups[0].worst);
  EXPECT_FALSE(std::isfinite(groups[0].gain.value));
  EXPECT_THAT(groups[0].gain.reason, HasSubstr("waited for data"));
  EXPECT_THAT(input_text(result), Not(HasSubstr("nan")));
}

TEST(InputGroups, RatesOfZeroGiveNoRatio) {
  Result result = four_runs();
  result.runs[3].throughput->samples_per_second = 0;
  const auto groups = input_groups(result);
  EXPECT_FALSE(std::isfinite(groups.at(0).gain.value));
  EXPECT_THAT(input_text(result), testing::AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
}

TEST(InputText, SaysWhatTheRuleSaysAndWhereDecodingTakesCores) {
  const std::string text = input_text(four_runs());
  EXPECT_THAT(text, HasSubstr("input: resnet20/cpu/fp32/b32 on digits, 1 thread, 2.00 ms of decoding added per sample"));
  EXPECT_THAT(text, HasSubstr("starved"));
  EXPECT_THAT(text, HasSubstr("from 0 loader threads to 1 loader thread, decoded data: 2.00x the samples/s\n  no interval: "));
  EXPECT_THAT(text, HasSubstr("2 loader threads: trains at 75.0 % of the rate from memory and waits 1.00 % of the time"));
  EXPECT_THAT(text, Not(HasSubstr("1 loader thread: trains")));
  EXPECT_THAT(text, HasSubstr("less than 70 % of the time needs a faster input first; above 90 %"));
}

TEST(InputText, NamesWhatCameFromTheDisk) {
  Result result = four_runs();
  EXPECT_THAT(input_text(result), Not(HasSubstr("cold")));
  result.runs[2].settings = Settings{{"cold", true}};
  EXPECT_THAT(input_text(result), HasSubstr("  2  yes       none, cold "));
}

TEST(InputText, IsEmptyWhereNothingIsCompared) {
  EXPECT_EQ(input_text(Result{}), "");
  Result one = four_runs();
  one.runs.resize(1);
  EXPECT_EQ(input_text(one), "");
}

}  // namespace
}  // namespace epochbench
