// Which runs cannot carry an answer, and where the reason stands in place of a ratio.
#include "src/analysis/unusable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analysis/series.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/result_text.h"
#include "support/made_speedup.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

// Why a run of the CPU, whose steps take 0.16 s, is unusable after a change.
std::string reason_after(const ResultChange& change) {
  NamedResult named = made_result("a.json", "host", {{"cpu", "fp32", 100}});
  change(named);
  const std::vector<NamedResult> results{named};
  return why_unusable(series_of(results).series.at(0));
}

ResultChange bound(double seconds) {
  return cpu([seconds](auto& run) { run.efficiency->bound_seconds = seconds; });
}

TEST(Unusable, NamesTheReason) {
  EXPECT_EQ(reason_after([](NamedResult&) {}), "");
  EXPECT_THAT(reason_after([](NamedResult& named) { named.result.context.build_type = "Debug"; }), HasSubstr("debug build"));
  EXPECT_THAT(reason_after(cpu([](auto& run) { run.interference->foreign_cpu_cores = 0.6; })), HasSubstr("0.60 CPU cores"));
  EXPECT_THAT(reason_after(cpu([](auto& run) { run.quality->parity_max_relative_difference = 1; })), HasSubstr("losses"));
  EXPECT_THAT(reason_after(cpu([](auto& run) {
                run.gpu = GpuState{};
                run.gpu->throttled_steps = static_cast<std::int64_t>(run.timing->step_seconds.size());
              })),
              HasSubstr("clock was held down"));
  EXPECT_EQ(reason_after(bound(0.01)), "its steps take 16 times their lower bound (the roofline, less what caches can hold)");
}

TEST(Unusable, KnowsWhatIsNoReason) {
  EXPECT_EQ(reason_after(cpu([](auto& run) { run.interference->foreign_cpu_cores = run.repetition == 0 ? 2 : 0; })), "")
      << "one repetition of five";
  EXPECT_EQ(reason_after(cpu([](auto& run) {
              run.gpu = GpuState{};
              run.gpu->throttled_steps = 1;
            })),
            "");
  EXPECT_EQ(reason_after(bound(0.017)), "") << "9.4 times";
  EXPECT_EQ(reason_after(bound(0.004)), "") << "40 times, but a short step is mostly overhead";
  EXPECT_EQ(reason_after(cpu([](auto& run) {
              run.efficiency->bound_seconds = 0.01;
              run.efficiency->data_wait_fraction = 0.9;
            })),
            "")
      << "it waited for data";
  EXPECT_EQ(reason_after([](NamedResult& named) {
              bound(0.01)(named);
              for (auto& run : named.result.runs) rename(run, run.name + "/kernels=portable");
            }),
            "")
      << "slow on purpose";
}

TEST(Unusable, IsNeverADeviceAtItsBest) {
  NamedResult named = made_result("a.json", "host", {{"cpu", "fp32", 100}, {"cuda", "bf16", 800}, {"cuda", "fp16", 900}});
  for (auto& run : named.result.runs)
    if (run.precision == Precision::fp16) run.quality->parity_max_relative_difference = 1;
  const Speedup speedup = speedup_of({named}, SpeedupOf::same_batch);
  EXPECT_EQ(pairs_of(speedup).at(0), "resnet50/cuda/bf16/b16 : resnet50/cpu/fp32/b16");
}

TEST(Unusable, IsSaidInPlaceOfTheRatio) {
  NamedResult named = made_result("a.json", "host", kCleanPair);
  bound(0.01)(named);
  const std::string reason =
      "resnet50/cpu/fp32/b16: its steps take 16 times their lower bound (the roofline, less what caches can hold)";
  EXPECT_THAT(ratios_text(named.result), HasSubstr("cuda fp32 to cpu fp32: " + reason));
  const Speedup speedup = speedup_of({named}, SpeedupOf::same_batch);
  EXPECT_THAT(speedup_text(speedup), HasSubstr("(8.00x)"));
  EXPECT_EQ(speedup_json(speedup)["pairs"][0]["unusable"], reason);
}

}  // namespace
}  // namespace epochbench
