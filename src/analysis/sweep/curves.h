// Rate against size: the points that differ in only one value, from any result, and what they say together.
//
// Pure functions. The rates of a point are one number per repetition, which is a process; steps are never pooled. A point that
// failed has no rates.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/statistics.h"
#include "src/figures/best_choice.h"
#include "src/result/result.h"

namespace epochbench {

inline bool over_ranks(Axis axis) { return axis == Axis::ranks || axis == Axis::ranks_weak; }

// What a rate is on this axis. batch, threads, ranks: throughput. width: flops_per_second, since another width is other work.
// samples: samples_per_wall_second, which includes all of a process's time, so that fixed costs weigh on small data sets.
const char* measure_of(Axis axis);

struct CurvePoint {
  std::int64_t value = 0;        // samples per step, neurons per layer, samples per epoch, threads, or ranks
  std::vector<double> rates;     // above 0, one per repetition that is ok, in order of repetitions
  std::vector<double> usd;       // likewise: for an epoch, on the axis samples for the whole run; empty without a price
  std::vector<const Run*> runs;  // all of them, in the result that the curve was made of

  double rate() const { return geometric_mean(rates); }  // precondition: there are rates
};

struct Curve {
  std::string name;    // a label of its runs' settings without the value: "resnet20/cpu/fp32", "mlp/cpu/fp32/b64"
  std::string work;    // likewise, without device and precision: "mlp/b64"; curves of one work compare devices
  std::string model;   // "mlp:depth=3", without the width if that is the value
  std::string device;  // "cpu", "cuda:0"
  Precision precision = Precision::fp32;
  Precision products = Precision::fp32;  // that products multiply in
  std::vector<CurvePoint> points;        // by value; there is at least one

  const CurvePoint* at(std::int64_t value) const;  // null: none
};

// In the order of their first runs. Runs that were skipped, and those that have no value on the axis (a GPU has no threads),
// are in no curve, nor are those that `wanted` leaves out. A run of one rank is in every curve of what several divide. Points
// to runs of `result`, which must outlive the curves.
std::vector<Curve> curves_of(const Result& result, Axis axis, const std::function<bool(const Run&)>& wanted = {});

// The fastest of the points, and the rates that estimate it. Precondition: at least one, each with rates.
std::pair<BestChoice, std::vector<double>> choose_point(const std::vector<const CurvePoint*>& points);

// The value with the highest rate, and those that cannot be distinguished from it.
CurveBest best_of(const Curve& curve);

// The smallest value whose rate is within 5 % of the best. Its range goes from the first value that may be (the ratio's
// interval ends above 0.95) to the first that must be (it begins there). A curve whose best is its last value, with no other
// within 5 % of it, still rises and has no value; a range then says that it may be flat anyway.
inline constexpr double kFlatFraction = 0.95;
CurveFlattening flattening_of(const Curve& curve);

// Every place where the contender goes from slower to faster than the baseline (or more to less expensive), or back: linear in
// log value and log ratio between neighboring values that both have. If there is none, one entry with the reason. The interval
// is where the ratio's own interval, interpolated likewise, contains 1.
std::vector<Crossing> crossings(const Curve& baseline, const Curve& contender, CrossingIn in);

// The answers of a sweep, over all curves of the result: best, where curves flatten, where they cross, and over threads and
// ranks how these scale. Each curve is compared with the CPU's in its precision and in fp32, and with fp32 on its own device;
// on the axis threads, which a GPU does not have, devices are compared by scaling alone.
SweepAnswers answers_of(const Result& result, Axis axis);

// The same for only these of its curves.
SweepAnswers answers_of(std::span<const Curve> curves, const Result& result, Axis axis);

}  // namespace epochbench
