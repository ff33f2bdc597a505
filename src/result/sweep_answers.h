// What the points of a sweep say together: the key `answers` of a sweep's result.
//
// A curve is the runs that differ in nothing but the swept value, and is known by their name without it:
// "resnet20/cpu/fp32" over batch. The values come from src/analysis/sweep/curves.h and src/analysis/sweep/scaling.h.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/fields.h"

namespace epochbench {

struct CurveBest {
  std::string curve, device, precision;
  std::optional<std::int64_t> value;                           // of the highest rate
  std::optional<double> rate;                                  // there, in the answers' measure
  std::optional<std::vector<std::int64_t>> indistinguishable;  // other values whose rate may be as high, at 95 %
  std::optional<std::string> reason;                           // why something of it is empty
};

void fields(auto& visit, Is<CurveBest> auto& best) {
  visit("curve", best.curve);
  visit("device", best.device);
  visit("precision", best.precision);
  visit("value", best.value);
  visit("rate", best.rate);
  visit("indistinguishable", best.indistinguishable);
  visit("reason", best.reason);
}

struct CurveFlattening {
  std::string curve, device, precision;
  std::optional<std::int64_t> value;                           // the smallest within 5 % of the best
  std::optional<std::pair<std::int64_t, std::int64_t>> range;  // the values that may be it, at 95 %
  std::optional<std::string> reason;
};

void fields(auto& visit, Is<CurveFlattening> auto& flattening) {
  visit("curve", flattening.curve);
  visit("device", flattening.device);
  visit("precision", flattening.precision);
  visit("value", flattening.value);
  visit("range", flattening.range);
  visit("reason", flattening.reason);
}

struct Crossing {
  std::string baseline, contender;                               // curves
  std::string in;                                                // time | cost
  std::optional<double> value;                                   // where they are equal; interpolated
  std::optional<std::pair<std::int64_t, std::int64_t>> between;  // the measured values on either side
  std::optional<std::pair<double, double>> ci95;
  std::optional<std::string> better_above;  // the curve that is ahead beyond the value
  std::optional<std::string> reason;        // why there is none, or no interval
};

void fields(auto& visit, Is<Crossing> auto& crossing) {
  visit("baseline", crossing.baseline);
  visit("contender", crossing.contender);
  visit("in", crossing.in);
  visit("value", crossing.value);
  visit("between", crossing.between);
  visit("ci95", crossing.ci95);
  visit("better_above", crossing.better_above);
  visit("reason", crossing.reason);
}

// A law fitted to the rates of 1, 2, ... cores, N of them doing one_core_rate * N / (1 + sigma (N - 1) + kappa N (N - 1)).
struct ScalingFit {
  std::string law;                                 // amdahl | usl
  double one_core_rate = 0, sigma = 0, kappa = 0;  // kappa is 0 in Amdahl's law
  double residual = 0;                             // root mean square of measured over fitted, less 1
  std::optional<double> highest_rate;              // that any number of cores reaches; empty: there is no limit
  std::optional<double> cores_at_highest;          // empty: only approached
};

void fields(auto& visit, Is<ScalingFit> auto& fit) {
  visit("law", fit.law);
  visit("one_core_rate", fit.one_core_rate);
  visit("sigma", fit.sigma);
  visit("kappa", fit.kappa);
  visit("residual", fit.residual);
  visit("highest_rate", fit.highest_rate);
  visit("cores_at_highest", fit.cores_at_highest);
}

// Never a measurement: how many cores the law asks for to be as fast as a device that was measured.
struct CoresNeeded {
  std::string law, contender;  // amdahl | usl, and the curve of the device
  double contender_rate = 0;
  std::optional<double> cores, cores_low, cores_high;  // and its 95 % interval; an end is empty where it is open
  std::optional<std::string> reason;                   // why one of them is empty
};

void fields(auto& visit, Is<CoresNeeded> auto& needed) {
  visit("law", needed.law);
  visit("contender", needed.contender);
  visit("contender_rate", needed.contender_rate);
  visit("cores", needed.cores);
  visit("cores_ci95", ends(needed.cores_low, needed.cores_high));
  visit("reason", needed.reason);
}

struct ScalingAnswer {
  std::string curve;
  int points = 0;
  std::int64_t most_cores = 0;  // measured; beyond, the laws extrapolate
  std::vector<ScalingFit> fits;
  std::vector<CoresNeeded> extrapolations;
  std::optional<std::string> reason;  // why there are no fits, or no extrapolations
};

void fields(auto& visit, Is<ScalingAnswer> auto& scaling) {
  visit("curve", scaling.curve);
  visit("points", within(scaling.points, 0, std::numeric_limits<int>::max()));
  visit("most_cores_measured", scaling.most_cores);
  visit("fits", scaling.fits);
  visit("extrapolations", scaling.extrapolations);
  visit("reason", scaling.reason);
}

struct SweepAnswers {
  std::string over;     // batch | width | samples | threads
  std::string measure;  // of rates: samples_per_second | flops_per_second | samples_per_wall_second
  std::vector<CurveBest> best;
  std::vector<CurveFlattening> flattens_at;
  std::vector<Crossing> crossover, no_crossover;  // those with a value, and those without one
  std::vector<ScalingAnswer> scaling;             // over threads alone
};

void fields(auto& visit, Is<SweepAnswers> auto& answers) {
  visit("over", answers.over);
  visit("measure", answers.measure);
  visit("best", answers.best);
  visit("flattens_at", answers.flattens_at);
  visit("crossover", null_if_empty(answers.crossover));
  visit("no_crossover", answers.no_crossover);
  visit("scaling", answers.scaling);
}

}  // namespace epochbench
