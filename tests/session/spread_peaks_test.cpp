// When a run measures the peaks again, with a clock of the test.
#include <gtest/gtest.h>

#include "src/session/machine.h"

namespace epochbench {
namespace {

struct Spread {
  CpuInfo cpu;
  double now = 100;
  int measured = 0;

  explicit Spread(double peak = 1) { cpu.peak_flops_per_second["fp32"] = peak; }

  // So many runs of so many seconds, where a process takes one second.
  std::vector<double> moments(std::size_t runs, double seconds_per_run) {
    SpreadPeaks peaks(
        cpu, runs, 1,
        [this] {
          ++measured;
          now += 1;
          MeasuredCpu again;
          again.peak_flops_per_second["fp32"] = 1 + measured;
          return again;
        },
        [this] { return now; });
    for (std::size_t done = 1; done <= runs; ++done) {
      now += seconds_per_run;
      peaks.after_run(done);
    }
    std::vector<double> list;
    for (const PeakProcess& process : cpu.peak_processes) list.push_back(process.seconds);
    return list;
  }
};

TEST(SpreadPeaks, FiveProcessesLieEvenlyOverALongRun) {
  Spread spread;
  EXPECT_EQ(spread.moments(40, 10), (std::vector<double>{0, 100, 201, 302, 403}));
  EXPECT_EQ(*spread.cpu.peak_processes.back().peak_flops_per_second["fp32"], 5);
  EXPECT_EQ(*spread.cpu.peak_flops_per_second["fp32"], 1) << "use_best_peaks takes the best";
}

TEST(SpreadPeaks, AShortRunIsNotLengthenedByMoreThanATwentieth) {
  EXPECT_EQ(Spread().moments(40, 0.1).size(), 1u);
  EXPECT_EQ(Spread().moments(40, 1).size(), 3u) << "one per 20 seconds";
}

TEST(SpreadPeaks, AResumedRunGoesOnWhereItWas) {
  Spread spread;
  spread.cpu.peak_processes = {
      {0, {{"fp32", 1}}, {}}, {50, {{"fp32", 1}}, {}}, {90, {{"fp32", 1}}, {}}, {120, {{"fp32", 1}}, {}}};
  const auto moments = spread.moments(4, 100);
  ASSERT_EQ(moments.size(), 5u);
  EXPECT_GT(moments.back(), 120);
}

TEST(SpreadPeaks, AMachineWithoutPeaksHasNone) {
  Spread spread;
  spread.cpu.peak_flops_per_second.clear();
  EXPECT_TRUE(spread.moments(40, 10).empty());
}

}  // namespace
}  // namespace epochbench
