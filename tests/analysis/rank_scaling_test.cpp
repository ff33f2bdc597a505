// What ranks cost and what is predicted of more, on a simulated network whose truth is known.
#include "src/analysis/sweep/rank_scaling.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_network.h"
#include "support/made_results.h"

namespace epochbench {
namespace {

using test::FakeRanks;
using test::FakeTraining;
using testing::HasSubstr;
using testing::Optional;

constexpr int kSteps = 20;

FakeRanks with_ranks(FakeRanks made, int ranks, Axis axis) {
  made.ranks = ranks;
  if (axis == Axis::ranks_weak) made.batch *= ranks;
  return made;
}

// The run of one process, as its result would have it.
Run run_of(const FakeRanks& made, int repetition, const std::string& more = "") {
  const FakeTraining training(made, kSteps);
  const std::string settings = (made.ranks > 1 ? "/ranks=" + std::to_string(made.ranks) : "") + "/threads=1" + more;
  Run run = made_run({.rate = training.samples_per_second(), .batch = made.batch, .settings = settings}, repetition);
  if (made.ranks > 1) run.ranks = training.ranks();
  return run;
}

Result measured(const FakeRanks& made, const std::vector<int>& ranks, Axis axis) {
  Result result;
  for (int repetition = 0; repetition < 5; ++repetition)
    for (int count : ranks) result.runs.push_back(run_of(with_ranks(made, count, axis), repetition));
  return result;
}

RankScaling scaled(const Result& result, Axis axis, std::span<const Network> networks = {}) {
  const std::vector<Curve> curves = curves_of(result, axis);
  EXPECT_EQ(curves.size(), 1);
  return rank_scaling_of(curves.at(0), axis, networks);
}

struct Case {
  const char* name;
  FakeRanks made;
};
std::vector<Case> cases() {
  return {{"even", {}},
          {"slow rank", {.slow_factor = 1.3}},
          {"slow network", {.slow_factor = 1.1, .latency_seconds = 2e-4, .bytes_per_second = 3e8}},
          {"all latency", {.bucket_bytes = std::vector<double>(200, 1e4), .latency_seconds = 1e-4, .bytes_per_second = 1e10}}};
}

TEST(RankScaling, FindsEfficiencyAndExposedTimeOfAFakeNetworkWithin2Percent) {
  for (const auto& [name, made] : cases())
    for (const Axis axis : {Axis::ranks, Axis::ranks_weak}) {
      const RankScaling scaling = scaled(measured(made, {1, 2, 4, 8}, axis), axis);
      ASSERT_EQ(scaling.points.size(), 4);
      const double one = FakeTraining(with_ranks(made, 1, axis), kSteps).samples_per_second();
      for (const RankPoint& point : scaling.points) {
        SCOPED_TRACE(std::string(name) + (axis == Axis::ranks ? ", strong, " : ", weak, ") + std::to_string(point.ranks));
        FakeRanks with = with_ranks(made, static_cast<int>(point.ranks), axis);
        const FakeTraining truth(with, kSteps);
        with.network = false;
        const double exposed = truth.step_seconds() - FakeTraining(with, kSteps).step_seconds();
        EXPECT_NEAR(*point.efficiency * one * static_cast<double>(point.ranks) / truth.samples_per_second(), 1, 0.02);
        ASSERT_TRUE(point.efficiency_ci95);
        EXPECT_NEAR(*point.exposed_seconds, exposed, 0.02 * exposed);
        EXPECT_NEAR(*point.slowest_over_fastest, point.ranks > 1 ? made.slow_factor : 1, 0.02);
      }
    }
}

TEST(RankScaling, Predicts8To64RanksFrom4Within10Percent) {
  for (const auto& [name, made] : cases())
    for (const Axis axis : {Axis::ranks, Axis::ranks_weak}) {
      const RankScaling scaling = scaled(measured(made, {1, 2, 4}, axis), axis);
      ASSERT_TRUE(scaling.network) << name;
      EXPECT_NEAR(scaling.network->latency_seconds / made.latency_seconds, 1, 0.05) << name;
      EXPECT_LT(scaling.network->residual, 0.01);
      int seen = 0;
      for (const RankPrediction& predicted : scaling.predicted) {
        if (predicted.ranks > 64) continue;
        ++seen;
        SCOPED_TRACE(std::string(name) + ", " + std::to_string(predicted.ranks));
        const FakeTraining truth(with_ranks(made, static_cast<int>(predicted.ranks), axis), kSteps);
        EXPECT_NEAR(predicted.samples_per_second / truth.samples_per_second(), 1, 0.1);
        EXPECT_NEAR(predicted.step_seconds / truth.step_seconds(), 1, 0.1);
      }
      EXPECT_EQ(seen, 4);
    }
}

TEST(RankScaling, PredictsPowersOfTwoUpTo1024WithEachNetworkThatJoinsSoMany) {
  const std::vector<Network> networks{{"a", "a box", 1e-6, 1e11, 8}, {"b", "b", 1e-5, 1e9, std::nullopt}};
  const Result weak = measured({}, {1, 2}, Axis::ranks_weak), strong = measured({}, {1, 2}, Axis::ranks);
  std::map<std::string, std::vector<std::int64_t>> ranks;
  for (const RankPrediction& each : scaled(weak, Axis::ranks_weak, networks).predicted) {
    ranks[each.network].push_back(each.ranks);
    EXPECT_EQ(each.batch, 64 * each.ranks);
  }
  const std::vector<std::int64_t> all{8, 16, 32, 64, 128, 256, 512, 1024};
  EXPECT_EQ(ranks, (std::map<std::string, std::vector<std::int64_t>>{{"as measured", all}, {"a box", {8}}, {"b", all}}));
  const RankScaling divided = scaled(strong, Axis::ranks, networks);
  EXPECT_EQ(divided.predicted.back().ranks, 64) << "a batch of 64 has no more parts";
  EXPECT_EQ(divided.network->latency_seconds, 0) << "two ranks do not say which part is latency";
}

TEST(RankScaling, SaysWhyNothingIsPredicted) {
  Result result = measured({}, {1, 2}, Axis::ranks);
  for (epochbench::Run& run : result.runs)
    if (run.ranks) run.ranks->rounds.reset();
  EXPECT_THAT(scaled(result, Axis::ranks).reason, Optional(HasSubstr("does not say how often ranks exchange")));
  result = measured({}, {1}, Axis::ranks);
  for (int ranks : {2, 4}) result.runs.push_back(run_of(with_ranks({}, ranks, Axis::ranks), 0, "/communication-threads=1"));
  const RankScaling hides = scaled(result, Axis::ranks);
  ASSERT_EQ(hides.points.size(), 3);
  EXPECT_GT(*hides.points[2].exposed_seconds, 0);
  EXPECT_EQ(hides.points[2].bus_bytes_per_second, std::nullopt);
  EXPECT_TRUE(hides.predicted.empty());
  EXPECT_THAT(hides.reason, Optional(HasSubstr("hides a part of the exchange")));
  EXPECT_THAT(scaled(measured({.batch = 6}, {1, 2}, Axis::ranks), Axis::ranks).reason,
              Optional(HasSubstr("batch 6 cannot be divided")));
  EXPECT_THAT(scaled(measured({}, {2}, Axis::ranks), Axis::ranks).reason, Optional(HasSubstr("only one number of ranks")));
}

TEST(RankScaling, ShowsTheMeanRateOfSumsAlone) {
  Result result = measured({}, {1, 2}, Axis::ranks);
  EXPECT_EQ(scaled(result, Axis::ranks).points.at(1).bus_bytes_per_second_alone, std::nullopt);
  double rate = 1e9;
  for (epochbench::Run& run : result.runs)
    if (run.ranks) run.ranks->bus_bytes_per_second_alone = rate += 1e9;  // 2 to 6
  EXPECT_EQ(scaled(result, Axis::ranks).points.at(1).bus_bytes_per_second_alone, 4e9);
}

TEST(RankScaling, WithoutARankAloneComparesWithTheFewest) {
  const RankScaling scaling = scaled(measured({}, {2, 4}, Axis::ranks_weak), Axis::ranks_weak);
  EXPECT_EQ(scaling.points.at(0).efficiency, 1);
  const auto rate = [](int ranks) {
    return FakeTraining(with_ranks({}, ranks, Axis::ranks_weak), kSteps).samples_per_second();
  };
  EXPECT_NEAR(*scaling.points.at(1).efficiency, rate(4) / 2 / rate(2), 1e-9);
}

TEST(RankCurves, OneRankBelongsToThoseThatDivideMore) {
  Result result = measured({}, {1, 2}, Axis::ranks);
  for (int repetition = 0; repetition < 5; ++repetition)
    result.runs.push_back(run_of(with_ranks({.slow_factor = 1.5}, 2, Axis::ranks), repetition, "/shard=optimizer"));
  const std::vector<Curve> curves = curves_of(result, Axis::ranks);
  ASSERT_EQ(curves.size(), 2);
  EXPECT_THAT(curves[1].name, HasSubstr("shard=optimizer"));
  ASSERT_EQ(curves[1].points.size(), 2);
  EXPECT_EQ(curves[1].points[0].value, 1);
  EXPECT_EQ(curves[1].points[0].rates, curves[0].points[0].rates);
}

TEST(RankCurves, OfOneBatchAndOfOneBatchPerRankDiffer) {
  const Result weak = measured({}, {1, 2, 4}, Axis::ranks_weak);
  EXPECT_EQ(curves_of(weak, Axis::ranks_weak).size(), 1);
  EXPECT_EQ(curves_of(weak, Axis::ranks).size(), 3) << "of each batch a curve";
}

TEST(Networks, AreReadWithTheirSources) {
  EXPECT_GE(embedded_networks().size(), 5);
  for (const Network& network : embedded_networks()) {
    EXPECT_GT(network.bytes_per_second, 1e9) << network.id;
    EXPECT_LT(network.latency_seconds, 1e-4) << network.id;
  }
  const auto text = [](const std::string& source) {
    return R"({"sources": {"a": {}}, "networks": [{"id": "x", "name": "X", "bytes_per_second": 1, "rate_source": "a",
              "latency_seconds": 1, "latency_source": ")" +
           source + R"(", "most_ranks": null}]})";
  };
  EXPECT_EQ(parse_networks(text("a"), "file").size(), 1);
  EXPECT_THROW(parse_networks(text("b"), "file"), std::exception);
}

}  // namespace
}  // namespace epochbench
