// Times to a target: medians and intervals with trainings that missed it, by simulation and by hand.
#include "src/analysis/time_to_quality.h"

#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/report/text/answer_text.h"
#include "src/report/text/result_text.h"
#include "support/made_speedup.h"

namespace epochbench {
namespace {

using testing::DoubleEq;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

TEST(CensoredMedian, CountsMissesAsTheSlowest) {
  const std::vector<double> nine{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const CensoredMedian one = censored_median(nine, 1);
  EXPECT_THAT(one.value, Optional(DoubleEq(5.5)));
  EXPECT_THAT(one.low, Optional(DoubleEq(2)));
  EXPECT_THAT(one.high, Optional(DoubleEq(9)));
  EXPECT_FALSE(censored_median(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}, 2).high) << "the ninth of ten is a miss";
  EXPECT_THAT(censored_median(std::vector<double>{1, 2, 3}, 2).value, Optional(DoubleEq(3)));
  EXPECT_FALSE(censored_median(std::vector<double>{1, 2, 3}, 3).value) << "between a time and a miss lies no median";
  EXPECT_THAT(censored_median(std::vector<double>{1, 2, 3, 4, 5}, 0).reason, HasSubstr("6 seeds"));
  EXPECT_THAT(censored_median(std::vector<double>{1, 2, 3, 4, 5, 6}, 0).low, Optional(DoubleEq(1)));
}

TEST(OlympicMean, LeavesOutTheFastestAndTheSlowest) {
  const std::vector<double> five{9, 1, 2, 3, 100};
  EXPECT_THAT(olympic_mean(five, 0), Optional(DoubleEq(14.0 / 3)));
  EXPECT_THAT(olympic_mean(five, 1), Optional(DoubleEq(114.0 / 4))) << "the miss is the slowest";
  EXPECT_FALSE(olympic_mean(five, 2));
  EXPECT_FALSE(olympic_mean(std::vector<double>{1, 2, 3, 4}, 0));
}

// Trainings that never get there with a probability, or are stopped after a time that varies with the device's speed.
struct Censoring {
  double never, max_seconds;
};

// Infinite where half of all trainings or more miss.
double true_median(const Censoring& censoring, double scale, double spread) {
  const double reached = 1 - censoring.never;
  if (reached <= 0.5) return kInfinite;
  // The quantile 0.5 / reached of a log-normal time, by bisection of its distribution function.
  double low = -5, high = 5;
  for (int i = 0; i < 60; ++i) {
    const double z = (low + high) / 2;
    (0.5 * std::erfc(-z / std::sqrt(2.0)) < 0.5 / reached ? low : high) = z;
  }
  const double seconds = scale * std::exp(spread * low);
  return seconds > censoring.max_seconds ? kInfinite : seconds;
}

TEST(CensoredMedian, IntervalsHoldTheTruth) {
  constexpr int kTrials = 2000;
  std::mt19937_64 engine(1);
  std::lognormal_distribution<double> time(std::log(10), 0.3);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const Censoring& censoring : {Censoring{0, 1e9}, {0.1, 1e9}, {0.3, 1e9}, {0.6, 1e9}, {0, 11}, {0.1, 9}})
    for (const std::size_t repetitions : {6u, 10u, 20u}) {
      const double truth = true_median(censoring, 10, 0.3);
      int held = 0;
      for (int trial = 0; trial < kTrials; ++trial) {
        std::vector<double> reached;
        for (std::size_t i = 0; i < repetitions; ++i) {
          const double seconds = time(engine);
          if (uniform(engine) >= censoring.never && seconds <= censoring.max_seconds) reached.push_back(seconds);
        }
        const CensoredMedian median = censored_median(reached, repetitions - reached.size());
        if (reached.empty()) {
          held += std::isinf(truth);
          continue;
        }
        held += median.low.value_or(median.high ? 0 : kInfinite) <= truth && truth <= median.high.value_or(kInfinite);
      }
      EXPECT_GE(held, kTrials * 0.95 - 2 * std::sqrt(kTrials * 0.95 * 0.05)) << censoring.never << " " << repetitions;
    }
}

// Both devices share what the seed makes of a training; each adds noise of its own.
TEST(QualityRatio, IntervalsHoldTheTruthAndNeverFavorTheOneThatMisses) {
  constexpr int kTrials = 1500, kSeeds = 10;
  constexpr double kRatio = 1.5;
  std::mt19937_64 engine(2);
  std::normal_distribution<double> seed(0, 0.3), noise(0, 0.05);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const auto& [baseline_misses, contender_misses] :
       {std::pair(0.0, 0.0), {0.1, 0.0}, {0.0, 0.1}, {0.2, 0.2}, {0.0, 1.0}, {1.0, 0.0}, {0.5, 1.0}, {1.0, 1.0}}) {
    int held = 0, faster = 0, slower = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<SeedPair> pairs;
      for (int i = 0; i < kSeeds; ++i) {
        const double work = std::exp(seed(engine));
        SeedPair pair;
        if (uniform(engine) >= baseline_misses) pair.baseline = kRatio * work * std::exp(noise(engine));
        if (uniform(engine) >= contender_misses) pair.contender = work * std::exp(noise(engine));
        pairs.push_back(pair);
      }
      const Estimate estimate = quality_ratio(pairs);
      held += !estimate.ci95 || (estimate.ci95->first <= kRatio && kRatio <= estimate.ci95->second);
      faster += (estimate.ci95 && estimate.ci95->first > 1) || estimate.value > 1;
      slower += (estimate.ci95 && estimate.ci95->second < 1) || estimate.value < 1;
    }
    if (contender_misses == 1) {
      EXPECT_EQ(faster, 0) << "the contender never reached the target";
    }
    if (baseline_misses == 1) {
      EXPECT_EQ(slower, 0) << "the baseline never reached the target";
    }
    if (contender_misses + baseline_misses < 0.15) {
      EXPECT_GE(held, kTrials * 0.93) << baseline_misses;
    }
    if (contender_misses + baseline_misses == 0) {
      EXPECT_GE(faster, kTrials * 0.99);
    }
  }
}

TEST(QualityRatio, SaysWhatMissesLeaveOpen) {
  std::vector<SeedPair> pairs(10, SeedPair{3.0, 2.0});
  EXPECT_DOUBLE_EQ(quality_ratio(pairs).value, 1.5);
  for (std::size_t i = 0; i < 2; ++i) pairs[i].baseline.reset();
  const Estimate open = quality_ratio(pairs);
  EXPECT_DOUBLE_EQ(open.value, 1.5);
  EXPECT_FALSE(open.ci95);
  EXPECT_THAT(open.reason, HasSubstr("8 of 10 seeds by the baseline, with 10 by the contender; at least 1.50x"));
  pairs.resize(5);
  EXPECT_THAT(quality_ratio(pairs).reason, HasSubstr("takes 6 seeds"));
  EXPECT_THAT(quality_ratio({}).reason, HasSubstr("no seed in common"));
}

// Ten trainings of each device, with seeds 0 to 9; `seconds` below 0: missed after so long, NaN: diverged.
NamedResult trained(const std::function<double(BackendKind backend, int seed)>& seconds) {
  NamedResult named = made_result(
      "a.json", "host", {{"cpu", "fp32", 100, 16, "", "resnet50", 10}, {"cuda", "fp32", 100, 16, "", "resnet50", 10}});
  for (Run& run : named.result.runs) {
    const double taken = seconds(run.device.backend, run.repetition);
    run.settings["until"] = std::string("accuracy=0.9");
    if (run.repetition > 0) run.settings["seed"] = std::int64_t{run.repetition};
    run.workload.seed = static_cast<std::uint64_t>(run.repetition);
    run.timing->stopped_by = taken > 0 ? StopReason::until : StopReason::epochs;
    run.timing->training_seconds = std::fabs(taken);
    run.timing->evaluation_seconds = 0.5;
    run.quality->eval_metric = EvalMetric::accuracy;
    run.quality->eval_value = 0.91;
    if (!std::isnan(taken)) continue;
    run.status = RunStatus::diverged;
    run.timing.reset();
    run.throughput.reset();
  }
  return named;
}

TEST(TimesToQuality, AreMediansOverSeedsWithTheShareThatReachedIt) {
  const NamedResult named = trained([](BackendKind backend, int seed) {
    return backend == BackendKind::cpu || seed > 1 ? 20.0 + seed : seed == 0 ? -90.0 : std::nan("");
  });
  const std::vector<TimeToQuality> times = times_to_quality(named.result.runs);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].repetitions, 10u);
  EXPECT_THAT(times[0].seconds.value, Optional(DoubleEq(24.5)));
  EXPECT_THAT(times[0].mean_seconds, Optional(DoubleEq(24.5)));
  EXPECT_THAT(times[0].joules.value, Optional(DoubleEq(24.5 * 300)));
  EXPECT_THAT(times[0].usd.value, Optional(testing::DoubleNear(24.5 / 3600, 1e-12)));
  EXPECT_THAT(
      time_to_quality(times[0]),
      HasSubstr(
          "(91.0 %) in 10 of 10 repetitions, after 24.5 s, the median (21.0 s to 28.0 s), 500 ms of it evaluation, 24.5 s on "
          "average without the fastest and the slowest"));
  EXPECT_THAT(time_to_quality(times[0]), HasSubstr("7.35 kJ at the power of the timed steps, evaluation too"));
  EXPECT_EQ(times[1].not_reached, 2u) << "a missed target and a training that diverged";
  EXPECT_THAT(times[1].seconds.value, Optional(DoubleEq(26.5)));
  EXPECT_FALSE(times[1].mean_seconds);
  EXPECT_THAT(time_to_quality(times[1]), HasSubstr("in 8 of 10 repetitions, after 26.5 s, the median (at least 23.0 s)"));
}

TEST(TimesToQuality, SayWhatPrecedesTheFirstUse) {
  NamedResult named = trained([](BackendKind, int) { return 10.0; });
  EXPECT_THAT(time_to_quality(times_to_quality(named.result.runs)[0]), testing::Not(HasSubstr("first use"))) << "nothing";
  for (epochbench::Run& run : named.result.runs) run.timing->compile_seconds = 23.6;
  const TimeToQuality time = times_to_quality(named.result.runs)[0];
  EXPECT_THAT(time.first_use_seconds, Optional(DoubleEq(23.6)));
  EXPECT_THAT(time.seconds.value, Optional(DoubleEq(10))) << "which it precedes";
  EXPECT_THAT(time_to_quality(time), HasSubstr("; first use: 23.6 s more to compile"));
}

TEST(TimesToQuality, OfAnOldFileAreWallTime) {
  NamedResult named = trained([](BackendKind, int) { return 10.0; });
  for (epochbench::Run& run : named.result.runs) {
    run.timing->training_seconds.reset();
    run.timing->wall_seconds = 12;
    run.timing->compile_seconds = 1;
  }
  const TimeToQuality time = times_to_quality(named.result.runs)[0];
  EXPECT_TRUE(time.wall_time);
  EXPECT_THAT(time.seconds.value, Optional(DoubleEq(12)));
  EXPECT_THAT(time_to_quality(time), HasSubstr("set-up and evaluation included"));
  EXPECT_FALSE(time.first_use_seconds) << "part of the wall time";
}

TEST(SpeedupToQuality, PairsSeeds) {
  const Speedup speedup = speedup_of(
      {trained([](BackendKind backend, int seed) { return (backend == BackendKind::cpu ? 8.0 : 2.0) * (seed + 1); })},
      SpeedupOf::to_quality);
  ASSERT_EQ(speedup.pairs.size(), 1u);
  EXPECT_DOUBLE_EQ(speedup.pairs[0].ratio.value, 4);
  EXPECT_DOUBLE_EQ(speedup.pairs[0].ratio.ci95->first, 4) << "what a seed makes of a training is on both sides";
  EXPECT_DOUBLE_EQ(speedup.pairs[0].cost.value, 1);
  EXPECT_NEAR(speedup.pairs[0].energy.value, 4.0 * 300 / 700, 1e-9);
  EXPECT_THAT(speedup_text(speedup), HasSubstr("10 of 10"));
}

TEST(SpeedupToQuality, PairsThreadsToo) {
  NamedResult named =
      trained([](BackendKind backend, int seed) { return (backend == BackendKind::cpu ? 8.0 : 2.0) * (seed + 1); });
  for (auto& run : named.result.runs) {
    const bool single = run.device.backend == BackendKind::cpu;
    run.device = {BackendKind::cpu, "Some CPU", single ? 1 : 8, "avx512"};
    if (single) run.settings["threads"] = std::int64_t{1};
  }
  const Speedup speedup = speedup_of({named}, SpeedupOf::to_quality);
  ASSERT_EQ(speedup.pairs.size(), 1u);
  EXPECT_EQ(speedup.pairs[0].compares, Compares::threads);
  EXPECT_DOUBLE_EQ(speedup.pairs[0].ratio.value, 4);
}

TEST(SpeedupToQuality, NeverPrefersADeviceThatMisses) {
  const Speedup speedup = speedup_of(
      {trained([](BackendKind backend, int) { return backend == BackendKind::cpu ? 8.0 : -2.0; })}, SpeedupOf::to_quality);
  ASSERT_EQ(speedup.pairs.size(), 1u);
  EXPECT_FALSE(std::isfinite(speedup.pairs[0].ratio.value));
  EXPECT_FALSE(speedup.pairs[0].ratio.ci95);
  EXPECT_THAT(speedup.pairs[0].ratio.reason, HasSubstr("with 10 of 10 seeds by the baseline, with 0 by the contender"));
  EXPECT_THAT(speedup_json(speedup)["pairs"][0]["contender_reached"].get<int>(), 0);
}

TEST(SpeedupToQuality, LeavesOutWhatTrainedToNoTarget) {
  NamedResult named = made_result("a.json", "host", kCleanPair);
  const Speedup speedup = speedup_of({named}, SpeedupOf::to_quality);
  EXPECT_TRUE(speedup.pairs.empty());
  EXPECT_THAT(reason_of(speedup, "resnet50/cuda/fp32/b16"), HasSubstr("--until"));
}

}  // namespace
}  // namespace epochbench
