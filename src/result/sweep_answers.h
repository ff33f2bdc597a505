// What the points of a sweep say together: the key `answers` of a sweep's result.
//
// A curve is the set of runs that differ only in the swept value; its name is theirs without that value: "resnet20/cpu/fp32"
// over batch. The values come from src/analysis/sweep/curves.h and src/analysis/sweep/scaling.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "epochbench/precision.h"
#include "src/base/fields.h"

namespace epochbench {

// ranks: processes that share a batch of one size (strong scaling); ranks_weak: each with a batch of one size.
enum class Axis : std::uint8_t { batch, width, samples, threads, ranks, ranks_weak };
constexpr auto texts_of(Axis) { return std::array{"batch", "width", "samples", "threads", "ranks", "ranks_weak"}; }
inline constexpr Axis kAxes[] = {Axis::batch, Axis::width, Axis::samples, Axis::threads, Axis::ranks, Axis::ranks_weak};

enum class CrossingIn : std::uint8_t { time, cost };
constexpr auto texts_of(CrossingIn) { return std::array{"time", "cost"}; }

enum class ScalingLaw : std::uint8_t { amdahl, usl };
constexpr auto texts_of(ScalingLaw) { return std::array{"amdahl", "usl"}; }

struct CurveBest {
  std::string curve, device;
  Precision precision = Precision::fp32;
  std::optional<std::int64_t> value;                           // the axis' value with the highest rate
  std::optional<double> rate;                                  // there, in the answers' measure; of both if two are as fast
  std::optional<std::vector<std::int64_t>> indistinguishable;  // other values whose rate may be as high, at 95 %
  std::optional<std::string> reason;                           // why some of it is empty or in doubt
};

void fields(auto& visit, Is<CurveBest> auto& best) {
  VISIT(best, curve, device, precision, value, rate, indistinguishable, reason);
}

struct CurveFlattening {
  std::string curve, device;
  Precision precision = Precision::fp32;
  std::optional<std::int64_t> value;                           // the smallest within 5 % of the best
  std::optional<std::pair<std::int64_t, std::int64_t>> range;  // the values it may be, at 95 %
  std::optional<std::string> reason;
};

void fields(auto& visit, Is<CurveFlattening> auto& flattening) {
  VISIT(flattening, curve, device, precision, value, range, reason);
}

struct Crossing {
  std::string baseline, contender;  // curves
  CrossingIn in = CrossingIn::time;
  std::optional<double> value;                                   // where they are equal; interpolated
  std::optional<std::pair<std::int64_t, std::int64_t>> between;  // the measured values on either side
  std::optional<std::pair<double, double>> ci95;
  std::optional<std::string> better_above;  // the curve that is ahead beyond the value
  std::optional<std::string> reason;        // why there is none, or no interval
};

void fields(auto& visit, Is<Crossing> auto& crossing) {
  VISIT(crossing, baseline, contender, in, value, between, ci95, better_above, reason);
}

// A law fitted to the rates of 1, 2, ... cores: N cores reach one_core_rate * N / (1 + sigma (N - 1) + kappa N (N - 1)).
struct ScalingFit {
  ScalingLaw law = ScalingLaw::usl;
  double one_core_rate = 0, sigma = 0, kappa = 0;  // kappa is 0 in Amdahl's law
  double residual = 0;                             // root mean square of measured over fitted, less 1
  std::optional<double> highest_rate;              // with any number of cores; empty: there is no limit
  std::optional<double> cores_at_highest;          // empty: approached, never reached
};

void fields(auto& visit, Is<ScalingFit> auto& fit) {
  VISIT(fit, law, one_core_rate, sigma, kappa, residual, highest_rate, cores_at_highest);
}

// Never a measurement: how many cores would match a measured device, according to the law.
struct CoresNeeded {
  ScalingLaw law = ScalingLaw::usl;
  std::string contender;  // the curve of the device
  double contender_rate = 0;
  std::optional<double> cores;
  std::pair<std::optional<double>, std::optional<double>> cores_ci95;  // an end is empty where it is open
  std::optional<std::string> reason;                                   // why one of them is empty
};

void fields(auto& visit, Is<CoresNeeded> auto& needed) {
  VISIT(needed, law, contender, contender_rate, cores, cores_ci95, reason);
}

struct ScalingAnswer {
  std::string curve;
  int points = 0;
  std::int64_t max_cores = 0;  // measured; the laws extrapolate beyond it
  std::vector<ScalingFit> fits;
  std::vector<CoresNeeded> extrapolations;
  std::optional<std::string> reason;  // why there are no fits, or no extrapolations
};

void fields(auto& visit, Is<ScalingAnswer> auto& scaling) {
  visit("curve", scaling.curve);
  visit("points", scaling.points, {.minimum = 0});
  visit("most_cores_measured", scaling.max_cores);
  VISIT(scaling, fits, extrapolations, reason);
}

// What a number of ranks reaches, measured.
struct RankPoint {
  std::int64_t ranks = 0, batch = 0;  // per update, over all ranks
  double samples_per_second = 0;
  std::optional<double> efficiency;  // samples per second of one rank, relative to the fewest ranks measured
  std::optional<std::pair<double, double>> efficiency_ci95;
  std::optional<double> step_seconds, exposed_seconds;  // exposed: part of a step in which its slowest rank does not compute
  std::optional<double> slowest_over_fastest;           // of the seconds that ranks compute
  std::optional<double> bus_bytes_per_second;           // during the exposed time; empty if ranks hide a part
  std::optional<double> bus_bytes_per_second_alone;     // of such sums with nothing else to do
};

void fields(auto& visit, Is<RankPoint> auto& point) {
  visit("ranks", point.ranks, {.minimum = 1});
  visit("batch", point.batch, {.minimum = 1});
  VISIT(point, samples_per_second, efficiency, efficiency_ci95, step_seconds, exposed_seconds, slowest_over_fastest,
        bus_bytes_per_second);
  visit("bus_bytes_per_second_alone", point.bus_bytes_per_second_alone, {.omitted_if_empty = true});
}

// The time that a rank needs to send to another: latency_seconds + bytes / bytes_per_second (Hockney 1994).
struct NetworkFit {
  double latency_seconds = 0, bytes_per_second = 0;
  double residual = 0;  // root mean square of measured over fitted, less 1
};

void fields(auto& visit, Is<NetworkFit> auto& fit) { VISIT(fit, latency_seconds, bytes_per_second, residual); }

// Never a measurement: what the network model predicts for more ranks.
struct RankPrediction {
  std::string network;  // "as measured", or a name in bench/networks.json
  std::int64_t ranks = 0, batch = 0;
  double samples_per_second = 0, efficiency = 0, step_seconds = 0, exposed_seconds = 0;
};

void fields(auto& visit, Is<RankPrediction> auto& prediction) {
  visit("network", prediction.network);
  visit("ranks", prediction.ranks, {.minimum = 1});
  visit("batch", prediction.batch, {.minimum = 1});
  VISIT(prediction, samples_per_second, efficiency, step_seconds, exposed_seconds);
}

struct RankScaling {
  std::string curve;
  std::vector<RankPoint> points;
  std::optional<NetworkFit> network;      // as measured
  std::vector<RankPrediction> predicted;  // for more ranks than were measured
  std::optional<std::string> reason;      // why no network was fitted, or why nothing is predicted
};

void fields(auto& visit, Is<RankScaling> auto& scaling) { VISIT(scaling, curve, points, network, predicted, reason); }

struct SweepAnswers {
  Axis over = Axis::batch;
  std::string measure;  // of rates: samples_per_second | flops_per_second | samples_per_wall_second
  std::vector<CurveBest> best;
  std::vector<CurveFlattening> flattens_at;
  std::vector<Crossing> crossover, no_crossover;  // those with a value, and those without one
  std::vector<ScalingAnswer> scaling;             // only over threads
  std::vector<RankScaling> rank_scaling = {};     // only over ranks
};

void fields(auto& visit, Is<SweepAnswers> auto& answers) {
  VISIT(answers, over, measure, best, flattens_at);
  visit("crossover", answers.crossover, {.null_if_empty = true});
  VISIT(answers, no_crossover, scaling);
  visit("rank_scaling", answers.rank_scaling, {.omitted_if_empty = true});
}

}  // namespace epochbench
