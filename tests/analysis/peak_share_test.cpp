// Which peak a share refers to, and what is shown of a share.
#include "src/analysis/peak_share.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analysis/fairness.h"
#include "src/analysis/series.h"
#include "src/report/export/export_formats.h"
#include "support/made_speedup.h"

namespace epochbench {
namespace {

using testing::Contains;
using testing::Not;
using testing::Optional;

// Runs of 100 GFLOP/s; the first process reached 200, a later one 250 and more bytes.
NamedResult of_two_processes(const std::vector<MadeRun>& runs = {{.repetitions = 1}}) {
  NamedResult named = made_result("a.json", "host", runs);
  CpuInfo& cpu = named.result.context.cpu;
  cpu.peak_threads = 8;
  cpu.peak_flops_per_second = {{"fp32", 200e9}, {"bf16", std::nullopt}};
  cpu.memory_bandwidth_bytes_per_second = 10e9;
  cpu.peak_processes = {{0, {{"fp32", 200e9}, {"bf16", std::nullopt}}, 10e9}, {60, {{"fp32", 250e9}}, 12e9}};
  for (auto& run : named.result.runs) run.efficiency->peak_fraction = 0.5;
  return named;
}

TEST(PeakShare, IsOfTheBestProcessNotTheFirst) {
  NamedResult named = of_two_processes();
  use_best_peaks(named.result);
  EXPECT_THAT(named.result.runs[0].efficiency->peak_fraction, Optional(0.4));
  EXPECT_THAT(named.result.context.cpu.peak_flops_per_second.at("fp32"), Optional(250e9)) << "as the heading shows";
  EXPECT_FALSE(named.result.context.cpu.peak_flops_per_second.at("bf16"));
  EXPECT_THAT(named.result.context.cpu.memory_bandwidth_bytes_per_second, Optional(12e9));
}

TEST(PeakShare, OfOtherPrecisionsAndGpusStays) {
  NamedResult named = of_two_processes({{.precision = "bf16", .repetitions = 1}, {.backend = "cuda", .repetitions = 1}});
  use_best_peaks(named.result);
  for (const auto& run : named.result.runs) EXPECT_THAT(run.efficiency->peak_fraction, Optional(0.5)) << run.name;
}

// Bursts between turns have the threads of the run; those of all threads are the machine's.
TEST(PeakShare, TurnsHaveBurstsOfTheirOwnThreads) {
  NamedResult named = of_two_processes({{.repetitions = 2}, {.settings = "/threads=1", .repetitions = 2}});
  auto& runs = named.result.runs;  // all threads, one, all, one
  runs[1].turns = Turns{.worker = "epochbench", .peak_flops_per_second = 110e9};
  runs[2].turns = Turns{.worker = "epochbench", .peak_flops_per_second = 400e9};
  use_best_peaks(named.result);
  EXPECT_THAT(runs[0].efficiency->peak_fraction, Optional(0.25)) << "the best burst of the file, beside another run";
  EXPECT_THAT(runs[1].efficiency->peak_fraction, Optional(testing::DoubleEq(100.0 / 110)));
  EXPECT_THAT(runs[3].efficiency->peak_fraction, Optional(testing::DoubleEq(100.0 / 110))) << "though it took no turns";
  EXPECT_THAT(named.result.context.cpu.peak_flops_per_second.at("fp32"), Optional(400e9));
}

TEST(PeakShare, OfFewerThreadsThanAnyBurstIsOfTheMachine) {
  NamedResult named = of_two_processes({{.settings = "/threads=2", .repetitions = 1}});
  use_best_peaks(named.result);
  EXPECT_THAT(named.result.runs[0].efficiency->peak_fraction, Optional(0.4));
  EXPECT_EQ(CpuPeaks(named.result).of(named.result.runs[0], Precision::fp32)->threads, 8);
}

TEST(PeakShare, ABoundOfALowerPeakIsForgotten) {
  NamedResult named = of_two_processes();
  named.result.runs[0].efficiency->bound_seconds = 1;
  use_best_peaks(named.result);
  EXPECT_FALSE(named.result.runs[0].efficiency->bound_seconds);
  named.result.runs[0].efficiency->bound_seconds = 1;
  use_best_peaks(named.result);
  EXPECT_THAT(named.result.runs[0].efficiency->bound_seconds, Optional(1)) << "the peaks are the same";
}

TEST(PeakShare, IsShownUpTo100Percent) {
  NamedResult named = made_result("a.json", "host", {{.repetitions = 2}});
  auto& runs = named.result.runs;
  runs[0].efficiency->peak_fraction = 1.2;
  runs[1].efficiency->peak_fraction = 0.81;
  EXPECT_TRUE(exceeds_peak(runs[0]));
  EXPECT_FALSE(exceeds_peak(runs[1]));
  EXPECT_THAT(kPeakShare.value(runs[0]), Optional(1.0));
  EXPECT_THAT(kPeakShare.value(runs[1]), Optional(0.81));
  EXPECT_DOUBLE_EQ(summarize(measured_cases(runs).at(0).runs, kPeakShare)->value, 0.9)
      << "the geometric mean of what is shown of each";
  runs[0].efficiency.reset();
  EXPECT_FALSE(kPeakShare.value(runs[0]));
}

// A weak baseline is one that is slow beside direct kernels at the best peak of the file: neither the first peak nor the share
// that is shown decides.
TEST(PeakShare, OfTheBestPeakSaysWhetherABaselineIsWeak) {
  NamedResult named = of_two_processes({{"cpu", "fp32", 110}, {"cuda", "fp32", 800}});
  cpu([](auto& run) { run.efficiency->peak_fraction = 0.55; })(named);
  EXPECT_THAT(codes_of(speedup_of({named}, SpeedupOf::same_batch).pairs.at(0)), Not(Contains("baseline_below_half_peak")));
  use_best_peaks(named.result);
  const Speedup speedup = speedup_of({named}, SpeedupOf::same_batch);
  const auto& warnings = speedup.pairs.at(0).warnings;
  const auto weak = std::ranges::find(warnings, WarningCode::baseline_below_half_peak, &Warning::code);
  ASSERT_NE(weak, warnings.end());
  EXPECT_DOUBLE_EQ(weak->value, 0.44);
  cpu([](auto& run) { run.efficiency->peak_fraction = run.repetition == 0 ? 1.7 : 0.3; })(named);
  EXPECT_THAT(codes_of(speedup_of({named}, SpeedupOf::same_batch).pairs.at(0)), Not(Contains("baseline_below_half_peak")))
      << "0.58 on average as counted, and 0.44 as shown";
}

}  // namespace
}  // namespace epochbench
