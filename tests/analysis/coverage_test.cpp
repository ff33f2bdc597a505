// How often intervals of crossings and of laws of scaling hold the truth, of 1,000 simulated sweeps each. (Those of ratios are
// in estimate_test.cpp.)
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/analysis/sweep/curves.h"
#include "src/analysis/sweep/scaling.h"

namespace epochbench {
namespace {

constexpr int kTrials = 1000;
constexpr int kMinHeld = 930;  // of true 950, with a deviation of 7

// The engine's numbers are the same everywhere; the standard library's distributions are not.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : engine_(seed) {}
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::acos(-1.0) * uniform()); }
  double student_5() {  // with 5 degrees of freedom: processes differ so
    double squares = 0;
    for (int i = 0; i < 5; ++i) squares += std::pow(normal(), 2);
    return normal() / std::sqrt(squares / 5);
  }

 private:
  std::mt19937_64 engine_;
};

// Batches of 1 to 64; a rate a repetition, `noise` apart in logarithms.
Curve sweep(const std::string& name, double at, double power, int repetitions, double noise, Noise& random) {
  Curve curve;
  curve.name = curve.work = name;
  curve.precision = Precision::fp32;
  for (int batch = 1; batch <= 64; batch *= 2) {
    CurvePoint point;
    point.value = batch;
    for (int i = 0; i < repetitions; ++i)
      point.rates.push_back(100 * std::pow(batch / at, power) * std::exp(noise * random.student_5()));
    curve.points.push_back(std::move(point));
  }
  return curve;
}

struct Held {
  int truth = 0, intervals = 0;  // of kTrials sweeps: whose interval holds the truth, and that have one
};

// Two curves that cross at a batch of `at`, where the contender's rate grows with the square root of the batch.
Held crossing_coverage(double at, int repetitions) {
  constexpr double kNoise = 0.03;
  Noise random(7);
  Held held;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Curve baseline = sweep("cpu", at, 0, repetitions, kNoise, random),
                contender = sweep("gpu", at, 0.5, repetitions, kNoise, random);
    bool interval = false, truth = false;
    for (const Crossing& crossing : crossings(baseline, contender, CrossingIn::time)) {
      interval = interval || crossing.ci95;
      truth = truth || (crossing.ci95 && crossing.ci95->first <= at && at <= crossing.ci95->second);
    }
    held.intervals += interval;
    held.truth += truth;
  }
  std::printf("crossing at %g, %d repetitions: held the truth in %d of %d\n", at, repetitions, held.truth, held.intervals);
  return held;
}

TEST(Coverage, OfCrossings) {
  for (const int repetitions : {5, 10})
    for (const double at : {8.0, 11.0}) {  // a batch that was measured, and one between two
      const Held held = crossing_coverage(at, repetitions);
      EXPECT_EQ(held.intervals, kTrials);
      EXPECT_GE(held.truth, kMinHeld) << at << ", " << repetitions;
    }
}

// Sweeps over 1 to 32 cores whose points are 1 % apart, and a GPU that equals `cores` of them by 5 repetitions.
Held cores_coverage(ScalingLaw law, double sigma, double kappa, double cores) {
  constexpr double kNoise = 0.01;
  ScalingFit truth;
  truth.one_core_rate = 10;
  truth.sigma = sigma;
  truth.kappa = kappa;
  const double gpu = rate_of(truth, cores);
  Noise random(7);
  Held held;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<CoresRate> points;
    for (const double n : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0})
      points.push_back({n, rate_of(truth, n) * std::exp(kNoise * random.normal())});
    std::vector<double> rates;
    for (int i = 0; i < 5; ++i) rates.push_back(gpu * std::exp(kNoise * random.normal()));
    const CoresNeeded needed = cores_needed(points, law, "gpu", rates);
    constexpr double kOpen = std::numeric_limits<double>::infinity();
    held.intervals += needed.cores_ci95.first && needed.cores_ci95.second;
    held.truth += needed.cores_ci95.first.value_or(kOpen) <= cores && cores <= needed.cores_ci95.second.value_or(kOpen);
  }
  std::printf("sigma %g, kappa %g, %g cores: held the truth in %d of %d, %d intervals closed\n", sigma, kappa, cores,
              held.truth, kTrials, held.intervals);
  return held;
}

TEST(Coverage, OfCoresByAmdahlsLaw) {
  EXPECT_GE(cores_coverage(ScalingLaw::amdahl, 0.02, 0, 24).truth, kMinHeld);
  EXPECT_GE(cores_coverage(ScalingLaw::amdahl, 0.004, 0, 64).truth, kMinHeld);
}

TEST(Coverage, OfCoresByTheUniversalScalabilityLaw) {
  EXPECT_GE(cores_coverage(ScalingLaw::usl, 0.02, 1e-4, 24).truth, kMinHeld);
  EXPECT_GE(cores_coverage(ScalingLaw::usl, 0.004, 1e-5, 64).truth, kMinHeld);
}

}  // namespace
}  // namespace epochbench
