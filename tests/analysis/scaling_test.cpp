// Laws of scaling: known parameters come back, and what data do not carry is refused.
#include "src/analysis/sweep/scaling.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/made_curves.h"

namespace epochbench {
namespace {

using testing::HasSubstr;
using testing::Optional;

constexpr int kCores[] = {1, 2, 4, 8, 16, 32};

std::vector<CoresRate> points_of(double one, double sigma, double kappa) {
  std::vector<CoresRate> points;
  for (const double n : kCores) points.push_back({n, one * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))});
  return points;
}

TEST(FitScaling, FindsKnownParameters) {
  for (const double one : {1e-6, 3.0, 1e9}) {
    const ScalingFit amdahl = fit_scaling(points_of(one, 0.07, 0), ScalingLaw::amdahl);
    EXPECT_NEAR(amdahl.one_core_rate / one, 1, 1e-9);
    EXPECT_NEAR(amdahl.sigma, 0.07, 1e-9);
    EXPECT_EQ(amdahl.kappa, 0);
    EXPECT_LT(amdahl.residual, 1e-9);
    EXPECT_NEAR(*amdahl.highest_rate / one, 1 / 0.07, 1e-6);
    EXPECT_FALSE(amdahl.cores_at_highest) << "only approached";
    const ScalingFit usl = fit_scaling(points_of(one, 0.03, 0.0005), ScalingLaw::usl);
    EXPECT_NEAR(usl.one_core_rate / one, 1, 1e-9);
    EXPECT_NEAR(usl.sigma, 0.03, 1e-9);
    EXPECT_NEAR(usl.kappa, 0.0005, 1e-11);
    EXPECT_NEAR(*usl.cores_at_highest, std::sqrt(0.97 / 0.0005), 1e-4);
    EXPECT_EQ(usl.law, ScalingLaw::usl);
  }
}

TEST(FitScaling, KeepsToTheBounds) {
  std::vector<CoresRate> superlinear, falling;
  for (const double n : kCores) {
    superlinear.push_back({n, std::pow(n, 1.2)});
    falling.push_back({n, 10 / n});
  }
  for (const ScalingLaw law : {ScalingLaw::amdahl, ScalingLaw::usl}) {
    const ScalingFit up = fit_scaling(superlinear, law);
    EXPECT_EQ(up.sigma, 0);
    EXPECT_EQ(up.kappa, 0);
    EXPECT_FALSE(up.highest_rate);
    EXPECT_GT(up.residual, 0.1) << "no such law, and the residual says it";
    const ScalingFit down = fit_scaling(falling, law);
    EXPECT_GE(down.kappa, 0);
    EXPECT_LE(down.sigma, 1);
  }
  EXPECT_EQ(fit_scaling(falling, ScalingLaw::amdahl).sigma, 1);
  const ScalingFit usl = fit_scaling(falling, ScalingLaw::usl);
  EXPECT_GT(usl.kappa, 0);
  EXPECT_EQ(usl.cores_at_highest, 1);
}

TEST(FitScaling, IsTheLeastOfAllThatKeepToTheBounds) {
  // Neighbors of the solution, also along the bounds, are no better.
  std::mt19937_64 engine(1);
  const auto uniform = [&] { return static_cast<double>(engine() >> 11) * 0x1p-53; };
  const auto squares = [](const std::vector<CoresRate>& points, const ScalingFit& fit) {
    double sum = 0;
    for (const CoresRate& point : points) sum += std::pow(point.rate / rate_of(fit, point.cores) - 1, 2);
    return sum;
  };
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<CoresRate> points = points_of(5, 0.1 * uniform(), 0.001 * uniform());
    for (CoresRate& point : points) point.rate *= 1 + 0.3 * (uniform() - 0.5);
    const ScalingFit best = fit_scaling(points, ScalingLaw::usl);
    EXPECT_NEAR(std::sqrt(squares(points, best) / 6), best.residual, 1e-9);
    for (int step = 0; step < 200; ++step) {
      ScalingFit other = best;
      other.one_core_rate *= 1 + 0.02 * (uniform() - 0.5);
      other.sigma = std::clamp(best.sigma + 0.02 * (uniform() - 0.5), 0.0, 1.0);
      other.kappa = std::max(0.0, best.kappa + 0.0005 * (uniform() - 0.5));
      EXPECT_GE(squares(points, other), squares(points, best) * (1 - 1e-9));
    }
  }
}

TEST(CoresFor, InvertsTheLaw) {
  for (const ScalingLaw law : {ScalingLaw::amdahl, ScalingLaw::usl}) {
    const ScalingFit fit = fit_scaling(points_of(4, 0.05, law == ScalingLaw::usl ? 0.0004 : 0), law);
    for (const double cores : {1.0, 7.5, 40.0}) EXPECT_NEAR(*cores_for(fit, rate_of(fit, cores)), cores, 1e-6 * cores);
    EXPECT_NEAR(*cores_for(fit, 2), 0.5, 1e-9) << "below one core's rate, the fraction of it";
    EXPECT_FALSE(cores_for(fit, *fit.highest_rate * 1.001));
  }
  const ScalingFit linear = fit_scaling(points_of(4, 0, 0), ScalingLaw::usl);
  EXPECT_NEAR(*cores_for(linear, 4000), 1000, 1e-3);
  const ScalingFit serial = fit_scaling(points_of(4, 1, 0), ScalingLaw::amdahl);
  EXPECT_FALSE(cores_for(serial, 4.1));
}

TEST(CoresNeeded, IsExactWithoutNoise) {
  const std::vector<double> gpu{80, 80};
  const CoresNeeded needed = cores_needed(points_of(1, 0.005, 0), ScalingLaw::amdahl, "m/cuda/fp32/b8", gpu);
  EXPECT_EQ(needed.contender, "m/cuda/fp32/b8");
  EXPECT_NEAR(*needed.cores, 80 * 0.995 / (1 - 80 * 0.005), 1e-6);
  EXPECT_NEAR(*needed.cores_ci95.first, *needed.cores, 1e-3);
  EXPECT_NEAR(*needed.cores_ci95.second, *needed.cores, 1e-3);
  EXPECT_FALSE(needed.reason);
}

TEST(CoresNeeded, SaysWhereTheLawNeverGetsThere) {
  const CoresNeeded peaked = cores_needed(points_of(1, 0.02, 0.002), ScalingLaw::usl, "g", std::vector<double>{500});
  EXPECT_FALSE(peaked.cores || peaked.cores_ci95.first || peaked.cores_ci95.second);
  EXPECT_THAT(peaked.reason, Optional(HasSubstr("it peaks at 9.39 times one core, with 22.1 cores")));
  const CoresNeeded serial = cores_needed(points_of(1, 0.1, 0), ScalingLaw::amdahl, "g", std::vector<double>{10.5});
  EXPECT_FALSE(serial.cores);
  EXPECT_THAT(serial.reason, Optional(HasSubstr("any number of cores stays below 10 times one core")));
}

// The interval holds the true number in about 95 % of noisy sweeps. With 300 of them, fewer than 90 % come of a true 95 % with
// a probability below 1e-3.
TEST(CoresNeeded, IntervalHoldsTheTruth) {
  constexpr int kTrials = 300;
  std::mt19937_64 engine(7);
  std::normal_distribution<double> normal;
  const ScalingFit truth = fit_scaling(points_of(10, 0.004, 0), ScalingLaw::amdahl);
  const double expected = *cores_for(truth, 600);
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<CoresRate> points = points_of(10, 0.004, 0);
    for (CoresRate& point : points) point.rate *= std::exp(0.01 * normal(engine));
    const CoresNeeded needed = cores_needed(points, ScalingLaw::amdahl, "g", std::vector<double>{600});
    held += needed.cores_ci95.first.value_or(INFINITY) <= expected && expected <= needed.cores_ci95.second.value_or(INFINITY);
  }
  EXPECT_GE(held, kTrials * 90 / 100);
  std::printf("held the truth in %d of %d\n", held, kTrials);
}

Result sweep_of(const std::vector<int>& cores) {
  Result result;
  for (const int n : cores)
    result.runs.push_back(made_point("cpu", "fp32", 8, 10.0 * n / (1 + 0.02 * (n - 1)), "/threads=" + std::to_string(n)));
  return result;
}

TEST(Scaling, TakesFourPoints) {
  const Result result = sweep_of({1, 2});
  const ScalingAnswer answer = scaling_of(curves_of(result, Axis::threads).at(0), result);
  EXPECT_EQ(answer.reason, "too few points: 2, at least 4");
  EXPECT_EQ(answer.points, 2);
  EXPECT_TRUE(answer.fits.empty() && answer.extrapolations.empty());
  const Result three = sweep_of({1, 2, 4}), four = sweep_of({1, 2, 4, 8});
  EXPECT_EQ(scaling_of(curves_of(three, Axis::threads).at(0), three).reason, "too few points: 3, at least 4");
  EXPECT_EQ(scaling_of(curves_of(four, Axis::threads).at(0), four).fits.size(), 2u);
}

TEST(Scaling, ComparesWithGpusThatDidTheSameWork) {
  Result result = sweep_of({1, 2, 3, 4, 8});
  add(result, made_batch("cuda", "fp32", 8, {200, 202}));
  add(result, made_batch("cuda", "fp32", 16, {300}));  // another batch
  result.runs[4].status = RunStatus::failed;           // 8 threads
  const ScalingAnswer answer = scaling_of(curves_of(result, Axis::threads).at(0), result);
  EXPECT_EQ(answer.points, 4);
  EXPECT_EQ(answer.max_cores, 4);
  ASSERT_EQ(answer.fits.size(), 2u);
  EXPECT_NEAR(answer.fits[0].sigma, 0.02, 1e-9);
  ASSERT_EQ(answer.extrapolations.size(), 2u);
  EXPECT_EQ(answer.extrapolations[0].law, ScalingLaw::amdahl);
  EXPECT_EQ(answer.extrapolations[0].contender, "m/cuda/fp32/b8");
  EXPECT_NEAR(answer.extrapolations[0].contender_rate, 201, 0.01);
  EXPECT_NEAR(*answer.extrapolations[0].cores, 20.1 * 0.98 / (1 - 20.1 * 0.02), 0.01);
  result.runs.resize(5);
  EXPECT_THAT(scaling_of(curves_of(result, Axis::threads).at(0), result).reason, Optional(HasSubstr("no GPU")));
}

}  // namespace
}  // namespace epochbench
