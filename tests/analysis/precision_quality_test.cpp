// What a precision costs in quality: constructed trainings, paired by seed.
#include "src/analysis/precision_quality.h"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/made_settings.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

Run trained(const std::string& precision, std::uint64_t seed, std::vector<double> accuracies) {
  Run run;
  rename(run, "lenet5/cpu/" + precision + "/b64" + (seed ? "/seed=" + std::to_string(seed) : ""));
  run.workload.seed = seed;
  run.workload.batch = 64;
  run.device.backend = BackendKind::cpu;
  run.precision = from_name<Precision>(precision).value();
  run.timing = Timing{};
  run.timing->stopped_by = StopReason::epochs;
  run.quality = Quality{};
  run.quality->eval_metric = EvalMetric::accuracy;
  run.quality->eval_value = accuracies.empty() ? 0 : accuracies.back();
  run.quality->eval_history = std::move(accuracies);
  return run;
}

// fp32 reaches 0.9 with every seed, bf16 0.9 + those differences.
std::vector<Run> pairs(const std::vector<double>& differences) {
  std::vector<Run> runs;
  for (std::uint64_t seed = 0; seed < differences.size(); ++seed) {
    runs.push_back(trained("fp32", seed, {0.9}));
    runs.push_back(trained("bf16", seed, {0.9 + differences[seed]}));
  }
  return runs;
}

TEST(PrecisionQuality, IsThePairedDifferenceWithStudentsInterval) {
  const auto list = precision_quality(pairs({0.01, 0.02, 0.03, 0.04, 0.05}));
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].workload, "lenet5/cpu/b64");
  EXPECT_EQ(list[0].precision, Precision::bf16);
  EXPECT_EQ(list[0].seeds, 5);
  EXPECT_NEAR(list[0].fp32, 0.9, 1e-12);
  EXPECT_NEAR(list[0].difference.value, 0.03, 1e-12);
  ASSERT_TRUE(list[0].difference.ci95);
  const double half = 2.7764 * std::sqrt(0.00025 / 5);  // t of 4 degrees of freedom; the sample variance is 0.00025
  EXPECT_NEAR(list[0].difference.ci95->first, 0.03 - half, 1e-5);
  EXPECT_NEAR(list[0].difference.ci95->second, 0.03 + half, 1e-5);
}

TEST(PrecisionQuality, IsOfTrainingsAlone) {
  auto runs = pairs({0.01, 0.02, 0.03, 0.04, 0.05});
  for (auto& run : runs) run.workload.mode = Mode::forward;
  EXPECT_TRUE(precision_quality(runs).empty());
}

TEST(PrecisionQuality, TakesTheMeanOfTheLastFiveEvaluationsAndOfRepetitions) {
  std::vector<epochbench::Run> runs{trained("fp32", 0, {0.1, 0.5, 0.6, 0.7, 0.8, 0.9}),
                                    trained("bf16", 0, {0.1, 0.6, 0.6, 0.6, 0.6, 0.6}),
                                    trained("bf16", 0, {0.1, 0.8, 0.8, 0.8, 0.8, 0.8})};
  const auto list = precision_quality(runs);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_NEAR(list[0].fp32, 0.7, 1e-12);
  EXPECT_NEAR(list[0].other, 0.7, 1e-12);
  EXPECT_EQ(list[0].seeds, 1);
}

TEST(PrecisionQuality, SaysWhyThereIsNoInterval) {
  const auto few = precision_quality(pairs({0.01, 0.02}));
  EXPECT_FALSE(few.at(0).difference.ci95);
  EXPECT_EQ(few[0].difference.reason, "an interval takes 5 seeds, and there are 2");
  const auto equal = precision_quality(pairs({0, 0, 0, 0, 0}));
  EXPECT_EQ(equal.at(0).difference.value, 0);
  EXPECT_FALSE(equal[0].difference.ci95);
  EXPECT_THAT(equal[0].difference.reason, HasSubstr("same difference"));
}

TEST(PrecisionQuality, PairsOnlyWhatDiffersInPrecisionAlone) {
  const auto unpaired = [](auto change) {
    std::vector<epochbench::Run> runs = pairs({0.01});
    change(runs[1]);
    return precision_quality(runs).empty();
  };
  EXPECT_FALSE(unpaired([](epochbench::Run&) {}));
  EXPECT_TRUE(unpaired([](epochbench::Run& run) { run.workload.seed = 7; }));
  EXPECT_TRUE(unpaired([](epochbench::Run& run) { rename(run, "lenet5/cpu/bf16/b32"); }));
  EXPECT_TRUE(unpaired([](epochbench::Run& run) { run.device.backend = BackendKind::cuda; }));
  EXPECT_TRUE(unpaired([](epochbench::Run& run) { run.quality->eval_history = {0.5, 0.9}; }));
  EXPECT_TRUE(unpaired([](epochbench::Run& run) { run.quality->eval_history = {std::nan("")}; }));
  EXPECT_TRUE(unpaired([](epochbench::Run& run) { run.quality->eval_history.clear(); }));
  EXPECT_TRUE(unpaired([](epochbench::Run& run) { run.timing->stopped_by = StopReason::until; }));
  EXPECT_TRUE(unpaired([](epochbench::Run& run) { run.status = RunStatus::diverged; }));
  EXPECT_TRUE(precision_quality(std::vector<epochbench::Run>{}).empty());
}

}  // namespace
}  // namespace epochbench
