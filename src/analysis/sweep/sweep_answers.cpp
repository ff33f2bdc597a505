#include "src/analysis/sweep/sweep_answers.h"

#include <utility>

#include "src/analysis/sweep/scaling.h"

namespace epochbench {
namespace {

// Whether the contender is to be compared with the baseline.
bool worth_comparing(const Curve& baseline, const Curve& contender) {
  if (&baseline == &contender) return false;
  if (baseline.device == contender.device) return baseline.precision == "fp32" && contender.precision != "fp32";
  return baseline.device == "cpu" && (baseline.precision == contender.precision || baseline.precision == "fp32");
}

}  // namespace

SweepAnswers answers_of(const Result& result, Axis axis) { return answers_of(curves_of(result, axis), result, axis); }

SweepAnswers answers_of(std::span<const Curve> curves, const Result& result, Axis axis) {
  SweepAnswers answers;
  answers.over = name(axis);
  answers.measure = measure_of(axis);
  for (const Curve& curve : curves) {
    answers.best.push_back(best_of(curve));
    answers.flattens_at.push_back(flattening_of(curve));
    if (axis == Axis::threads) answers.scaling.push_back(scaling_of(curve, result));
  }
  for (const Curve& baseline : curves)
    for (const Curve& contender : curves)
      for (const CrossingIn in : {CrossingIn::time, CrossingIn::cost}) {
        if (!worth_comparing(baseline, contender)) continue;
        for (Crossing& crossing : crossings(baseline, contender, in))
          (crossing.value ? answers.crossover : answers.no_crossover).push_back(std::move(crossing));
      }
  return answers;
}

}  // namespace epochbench
