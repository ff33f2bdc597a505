// The time that cases still take, in simulated suites by a fake clock.
#include "src/session/time_left.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/lookup.h"
#include "src/case/case_block.h"
#include "src/data/dataset_sizes.h"
#include "src/worker/stopping_rule.h"

namespace epochbench {
namespace {

// What a case really does; what is expected of it may be far off.
struct Simulated {
  std::string model;
  double step_seconds;      // really
  double expected_seconds;  // of a step, before anything ran
  StopSpec stop;
  double automatic_seconds = 0;  // that the automatic rule takes here
  double first_seconds = 0;      // that only its first repetition takes, to compile
};

ExpectedCase expected(const Simulated& one) {
  ExpectedCase expected;
  expected.name = one.model;
  expected.kinds = {one.model + "/cpu/fp32", "cpu/fp32", "cpu"};
  expected.step_seconds = one.expected_seconds;
  expected.batch = 8;
  expected.steps_per_epoch = 100;
  expected.warmup = 3;
  expected.stop = one.stop;
  expected.first_seconds = one.first_seconds;
  return expected;
}

std::int64_t steps_of(const Simulated& one) {
  if (one.stop.steps) return *one.stop.steps;
  if (one.stop.epochs) return *one.stop.epochs * 100;
  const double seconds = one.stop.min_time_seconds.value_or(one.automatic_seconds);
  return std::max<std::int64_t>(3, static_cast<std::int64_t>(std::ceil(seconds / one.step_seconds)));
}

class Suite {
 public:
  Suite(std::vector<Simulated> cases, int repetitions) : repetitions_(static_cast<std::size_t>(repetitions)) {
    for (int i = 0; i < repetitions; ++i) cases_.insert(cases_.end(), cases.begin(), cases.end());
  }

  // Runs it, and keeps what was said at the end of each step.
  void run() {
    std::vector<ExpectedCase> all;
    for (const Simulated& one : cases_) all.push_back(expected(one));
    TimeLeft left(all, {}, [this] { return now_; });
    first_ = left.of_all();
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      left.begin(i);
      advance(left, kSetUp + (i < cases_.size() / repetitions_ ? cases_[i].first_seconds : 0));
      for (int step = 0; step < 3; ++step) advance(left, cases_[i].step_seconds);
      Progress progress;
      progress.phase = "measure";
      for (std::int64_t step = 1; step <= steps_of(cases_[i]); ++step) {
        now_ += cases_[i].step_seconds;
        progress.steps = step;
        progress.rate = 8 / cases_[i].step_seconds;
        left.update(progress);
        said_.push_back({now_, left.of_case(), left.of_all()});
      }
      left.end(true);
      ends_.push_back(now_);
    }
  }

  double total() const { return now_; }
  double first() const { return first_; }

  // The largest error of the whole duration that was said from a moment on, relative.
  double worst_from(double seconds) const {
    double worst = 0;
    for (const Said& said : said_)
      if (said.at >= seconds) worst = std::max(worst, std::fabs(said.at + said.all - now_) / now_);
    return worst;
  }
  // The worst error relative to the time left itself, as long as that is at least `least` seconds.
  double worst_of_left_from(double seconds, double least) const {
    double worst = 0;
    for (const Said& said : said_)
      if (said.at >= seconds && now_ - said.at >= least)
        worst = std::max(worst, std::fabs(said.all - (now_ - said.at)) / (now_ - said.at));
    return worst;
  }

 private:
  static constexpr double kSetUp = 0.7;
  struct Said {
    double at, one, all;
  };
  void advance(TimeLeft& left, double seconds) {
    now_ += seconds;
    said_.push_back({now_, left.of_case(), left.of_all()});
  }

  std::vector<Simulated> cases_;
  std::size_t repetitions_;
  double now_ = 0, first_ = 0;
  std::vector<Said> said_;
  std::vector<double> ends_;
};

StopSpec steps(std::int64_t count) {
  StopSpec stop;
  stop.steps = count;
  return stop;
}

StopSpec epochs(std::int64_t count) {
  StopSpec stop;
  stop.epochs = count;
  return stop;
}

StopSpec at_least(double seconds) {
  StopSpec stop;
  stop.min_time_seconds = seconds;
  return stop;
}

TEST(TimeLeft, OfFixedStepsIsRightOnceACaseRuns) {
  // Steps last 3 times what their FLOPs say, more or less.
  Suite suite({{"resnet50", 1.5, 0.5, steps(60)}, {"bert-base", 2.0, 0.6, steps(40)}, {"resnet20", 0.2, 0.08, steps(200)}}, 1);
  suite.run();
  EXPECT_LE(suite.worst_from(60), 0.3);
  EXPECT_LE(suite.worst_of_left_from(60, 10), 0.3);
}

TEST(TimeLeft, OfRepetitionsIsThatOfTheFirst) {
  // Expectations that are wrong in both directions.
  Suite suite({{"a", 0.4, 2.0, steps(50)}, {"b", 0.9, 0.1, steps(40)}}, 6);
  suite.run();
  EXPECT_LE(suite.worst_from(60), 0.3);
  EXPECT_LE(suite.worst_of_left_from(60, 10), 0.3);
}

TEST(TimeLeft, OfTheAutomaticRuleLearnsWhenItEnds) {
  Suite suite({{"a", 0.02, 0.01, {}, 9}, {"b", 0.3, 0.1, {}, 12}, {"c", 0.05, 0.03, {}, 10}, {"d", 0.5, 0.2, {}, 8}}, 5);
  suite.run();
  EXPECT_GT(suite.first(), suite.total() / 4);
  EXPECT_LE(suite.worst_from(60), 0.3);
  EXPECT_LE(suite.worst_of_left_from(60, 20), 0.3);
}

TEST(TimeLeft, OfLongStepsIsThreeOfThem) {
  Suite suite({{"large", 40, 30, {}, 30}, {"larger", 60, 45, {}, 30}}, 2);
  suite.run();
  EXPECT_LE(suite.worst_from(60), 0.3);
}

TEST(TimeLeft, OfAMinimumTimeAndOfEpochsIsTheirs) {
  Suite suite({{"a", 0.1, 0.08, at_least(60)}, {"b", 0.3, 0.2, epochs(2)}}, 2);
  suite.run();
  EXPECT_LE(suite.worst_from(60), 0.3);
  EXPECT_LE(suite.worst_of_left_from(60, 10), 0.3);
}

TEST(TimeLeft, OfATargetIsAQuarterOfItsEpochsOrNearlyAllWhereTheRateFalls) {
  ExpectedCase one = expected({.model = "a", .step_seconds = 1, .expected_seconds = 1, .stop = {}});
  one.stop.epochs = 6;
  one.stop.until = Until{EvalMetric::accuracy, 0.9};
  double now = 0;
  const auto left = [&](std::int64_t steps) {
    TimeLeft all({one}, {}, [&] { return now; });
    if (steps == 0) return all.of_all();
    all.begin(0);
    Progress progress;
    progress.steps = steps;
    progress.rate = 8;
    all.update(progress);
    return all.of_all();
  };
  EXPECT_NEAR(left(0), 0.25 * 600, 5);
  EXPECT_NEAR(left(100), 50, 1);
  EXPECT_NEAR(left(300), 150, 1) << "half of what its epochs still allow";
  one.falls = true;
  EXPECT_NEAR(left(0), 0.9 * 600, 5);
  EXPECT_NEAR(left(300), 240, 1);
}

TEST(TimeLeft, AGpuWarmsUpByTimeAndIsTimedForThreeSeconds) {
  const ExpectedCase cpu = expected({"a", 0.001, 0.001, at_least(1)});  // 3 steps, then 1 s
  ExpectedCase gpu = cpu;
  gpu.warmup.reset();
  gpu.queues = true;
  EXPECT_NEAR(TimeLeft({gpu}).duration(0) - TimeLeft({cpu}).duration(0), 2 - 0.003 + 3 - 1, 1e-9);
}

TEST(TimeLeft, SkippedCasesTakeNone) {
  ExpectedCase one = expected({"a", 1, 1, steps(100)});
  one.skipped = true;
  EXPECT_EQ(TimeLeft({one, one}).of_all(), 0);
}

// Other processes take 1.6 of two cores, so a fifth is left, and noise takes longer to settle.
TEST(TimeLeft, OfACaseBesideOtherProcessesIsOnWhatTheyLeave) {
  DatasetSizes sizes;
  const PlannedCase planned = plan_case(expand({{"model", {{"resnet20"}, "--model"}}}).front(), sizes);
  const ExpectedCase alone = expected_case(planned, 4e11, 2), beside = expected_case(planned, 4e11, 2, 1.6);
  EXPECT_NEAR(beside.step_seconds / alone.step_seconds, 5, 1e-9);
  EXPECT_GT(TimeLeft({beside}).duration(0), 2 * TimeLeft({alone}).duration(0));
  EXPECT_EQ(expected_case(planned, 4e11, 2, 0.1).step_seconds, alone.step_seconds) << "an idle machine's services";
  EXPECT_TRUE(std::isfinite(expected_case(planned, 4e11, 2, 2.5).step_seconds));
}

TEST(TimeLeft, OnlyTheFirstRepetitionCompiles) {
  Suite suite({{"eager", 0.1, 0.1, steps(100)}, {"compiled", 0.1, 0.1, steps(100), 0, 50}}, 5);
  suite.run();
  EXPECT_NEAR(suite.first(), suite.total(), 0.1 * suite.total());
  EXPECT_LT(suite.worst_of_left_from(0, 5), 0.15);
}

TEST(TimeLeft, PytorchTakesLongerThanThisProgram) {
  const auto expected_by = [](Framework framework, const char* compile) {
    DatasetSizes sizes;
    PlannedCase planned = plan_case(expand({{"model", {{"resnet20"}, "--model"}}}).front(), sizes);
    planned.spec.framework = framework;
    planned.spec.compile = compile;
    return expected_case(planned, 4e11, 2);
  };
  const ExpectedCase ours = expected_by(Framework::epochbench, "eager"), eager = expected_by(Framework::pytorch, "eager"),
                     compiled = expected_by(Framework::pytorch, "default");
  EXPECT_GT(eager.step_seconds, ours.step_seconds);
  EXPECT_GT(eager.set_up_seconds, ours.set_up_seconds);
  EXPECT_EQ(eager.first_seconds, 0);
  EXPECT_GT(compiled.first_seconds, 10);
  for (const std::string& kind : eager.kinds) EXPECT_FALSE(contains(ours.kinds, kind)) << kind;
}

TEST(TimeLeft, ACaseThatFailedSaysNothingOfOthers) {
  double now = 0;
  const ExpectedCase one = expected({"a", 1, 1, steps(100)});
  TimeLeft left({one, one}, {}, [&] { return now; });
  const double before = left.duration(1);
  left.begin(0);
  now += 0.1;
  left.end(false);
  EXPECT_EQ(left.duration(1), before);
  EXPECT_EQ(left.of_case(), 0);
  EXPECT_EQ(left.of_all(), before);
}

TEST(TimeLeft, IsNoMoreThanTheBudget) {
  double now = 0;
  const TimeLeft left({expected({"a", 1, 1, steps(100)})}, 30, [&] { return now; });
  EXPECT_EQ(left.of_all(), 30);
  now += 20;
  EXPECT_EQ(left.of_all(), 10);
}

TEST(MeanDurations, AreOfTheirOwnNameElseOfAll) {
  MeanDurations durations;
  EXPECT_FALSE(durations.of("a"));
  durations.add("a", 2);
  durations.add("a", 4);
  durations.add("b", 9);
  EXPECT_EQ(durations.of("a"), 3);
  EXPECT_EQ(durations.of("c"), 5);
  EXPECT_FALSE(durations.own("c"));
}

TEST(AboutSeconds, AreRounded) {
  EXPECT_EQ(about_seconds(0), "5 s");
  EXPECT_EQ(about_seconds(18), "20 s");
  EXPECT_EQ(about_seconds(44), "40 s");
  EXPECT_EQ(about_seconds(92), "1.5 min");
  EXPECT_EQ(about_seconds(118), "2 min");
  EXPECT_EQ(about_seconds(299), "5 min");
  EXPECT_EQ(about_seconds(660), "11 min");
  EXPECT_EQ(about_seconds(7200), "2.00 h");
}

}  // namespace
}  // namespace epochbench
