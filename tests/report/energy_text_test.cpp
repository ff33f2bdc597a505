// What people read of energy and of a throttled GPU.
#include <gmock/gmock.h>

#include "src/report/text/result_text.h"
#include "support/made_settings.h"

namespace epochbench {
namespace {

using testing::HasSubstr;
using testing::Not;

Run run_of(const std::string& name) {
  Run run;
  rename(run, name);
  run.timing = Timing{};
  run.timing->step_seconds.assign(10, 0.1);
  run.throughput = Throughput{10, std::nullopt};
  run.energy = Energy{};
  return run;
}

Run measured_run(const std::string& name) {
  Run run = run_of(name);
  run.energy->source = EnergySource::rapl;
  run.energy->joules_per_epoch = run.energy->cpu_joules_per_epoch = 12340;
  run.energy->idle_watts = 45;
  return run;
}

std::string row_of(const Run& run) {
  Result result;
  result.runs = {run};
  return summary(result);
}

TEST(EnergyCell, IsTheSumOrTheOnePartThatIsKnown) {
  EXPECT_THAT(row_of(measured_run("a")), HasSubstr("  12.3 kJ"));
  epochbench::Run part = run_of("b");
  EXPECT_THAT(row_of(part), Not(HasSubstr(" J")));
  part.energy->gpu_joules_per_epoch = 500;
  EXPECT_THAT(row_of(part), HasSubstr("  GPU 500 J"));
  part.energy.reset();
  EXPECT_THAT(row_of(part), Not(HasSubstr(" J")));
}

TEST(EnergyRemarks, AreSilentWhereThereIsNothingToSay) {
  Result result;
  EXPECT_EQ(energy_remarks(result), "");
  result.runs = {run_of("a")};
  result.runs[0].energy.reset();
  EXPECT_EQ(energy_remarks(result), "");
  result.runs[0].status = RunStatus::failed;
  result.runs[0].energy = Energy{};
  result.runs[0].energy->reason = "nothing of a run that failed";
  EXPECT_EQ(energy_remarks(result), "");
}

TEST(EnergyRemarks, TellAReasonOnceAndOfWhichRuns) {
  Result result;
  for (const char* name : {"a", "b", "c"}) {
    result.runs.push_back(run_of(name));
    result.runs.back().energy->reason = "CPU: no counter";
  }
  EXPECT_EQ(energy_remarks(result), "energy: not known: CPU: no counter\n");
  result.runs.push_back(measured_run("d"));
  EXPECT_EQ(energy_remarks(result),
            "energy: a and 2 more: not known: CPU: no counter\n"
            "energy: d: idle draw before the first run 45.0 W, not subtracted\n");
}

TEST(EnergyRemarks, LeaveManyToTheResult) {
  Result result;
  for (int i = 0; i < 9; ++i) {
    result.runs.push_back(measured_run("run " + std::to_string(i)));
    result.runs.back().energy->idle_watts.reset();
    result.runs.back().energy->remarks = {"remark " + std::to_string(i)};
  }
  const std::string text = energy_remarks(result);
  EXPECT_THAT(text, HasSubstr("energy: run 2: remark 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("remark 3")));
  EXPECT_THAT(text, HasSubstr("energy: 6 more such lines in the result\n"));
}

TEST(EnergyRemarks, NameTheRunThatWasThrottledMost) {
  Result result;
  for (const std::int64_t steps : {0, 2, 5}) {
    result.runs.push_back(measured_run("throttled " + std::to_string(steps)));
    result.runs.back().energy->idle_watts.reset();
    result.runs.back().gpu = GpuState{};
    result.runs.back().gpu->throttled_steps = steps;
    result.runs.back().gpu->throttle_reasons = {"sw_power_cap", "hw_slowdown"};
  }
  EXPECT_EQ(energy_remarks(result),
            "throttled: the GPU's clock was held down in 2 runs, during 50.0 % of the steps of throttled 5 "
            "(sw_power_cap, hw_slowdown)\n");
  result.runs.resize(1);
  EXPECT_EQ(energy_remarks(result), "");
}

TEST(Remarks, NameTheRunOfWhichMostWasChosenBlindly) {
  Result result;
  for (const double share : {0.005, 0.02, 0.3}) {
    result.runs.push_back(measured_run("blind " + std::to_string(result.runs.size())));
    result.runs.back().timing->step_seconds_median = 0.1;
    result.runs.back().device.blind_seconds = share * 0.1;
  }
  EXPECT_THAT(remarks(result),
              HasSubstr("blind: 30.0 % of a step of blind 2, and less of 1 other run, runs algorithms that no time was left "
                        "to compare with others; another call compares what is left\n"));
  result.runs.resize(1);
  EXPECT_THAT(remarks(result), Not(HasSubstr("blind: ")));
}

TEST(Summary, HasAColumnOfEnergyWhereSomethingWasMeasured) {
  Result result;
  result.runs = {run_of("a")};
  EXPECT_THAT(summary(result), Not(HasSubstr("energy/epoch")));
  result.runs.push_back(measured_run("b"));
  EXPECT_THAT(summary(result), HasSubstr("energy/epoch"));
  EXPECT_THAT(summary(result), HasSubstr("12.3 kJ"));
}

}  // namespace
}  // namespace epochbench
