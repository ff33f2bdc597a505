#include "src/analysis/sweep/rank_scaling.h"

#include <algorithm>
#include <cmath>

#include "src/base/statistics.h"
#include "src/figures/estimate.h"

namespace epochbench {
namespace {

struct Line {
  double first = 0, second = 0;  // coefficients
};

// The coefficients, not below 0, of first x + second y nearest to z, relative to it.
struct Observation {
  double x, y, z;
};
Line fitted(std::span<const Observation> observations) {
  double xx = 0, xy = 0, yy = 0, xz = 0, yz = 0;
  for (const auto& [x, y, z] : observations) {
    const double u = x / z, v = y / z;
    xx += u * u, xy += u * v, yy += v * v, xz += u, yz += v;
  }
  const double determinant = xx * yy - xy * xy;
  constexpr double kDependent = 1e-9;  // below this, columns point the same way
  const Line both = {(xz * yy - yz * xy) / determinant, (yz * xx - xz * xy) / determinant};
  if (determinant > kDependent * xx * yy && both.first >= 0 && both.second >= 0) return both;
  // On the border one of them is 0: the one that costs less to leave out.
  const Line without_first = {0, yy > 0 ? yz / yy : 0}, without_second = {xx > 0 ? xz / xx : 0, 0};
  const double explained_by_second = yy > 0 ? yz * yz / yy : 0, explained_by_first = xx > 0 ? xz * xz / xx : 0;
  return explained_by_second >= explained_by_first ? without_first : without_second;
}

// One for all repetitions that know theirs; empty if none does.
std::optional<RankMeasurement> measurement_of(const CurvePoint& point) {
  std::optional<RankMeasurement> sum;
  double count = 0;
  for (const Run* run : point.runs) {
    const auto one = measurement_of(*run);
    if (!one || (sum && one->compute_seconds.size() != sum->compute_seconds.size())) continue;
    ++count;
    if (!sum) {
      sum = one;
      continue;
    }
    sum->step_seconds += one->step_seconds;
    sum->rounds += one->rounds;
    sum->bus_bytes += one->bus_bytes;
    sum->rate_alone += one->rate_alone;
    for (std::size_t i = 0; i < one->compute_seconds.size(); ++i) sum->compute_seconds[i] += one->compute_seconds[i];
  }
  if (!sum) return sum;
  for (double* value : {&sum->step_seconds, &sum->rounds, &sum->bus_bytes, &sum->rate_alone}) *value /= count;
  for (double& value : sum->compute_seconds) value /= count;
  return sum;
}

RankPoint rank_point(const CurvePoint& point, const CurvePoint& base) {
  RankPoint shown;
  shown.ranks = point.value;
  shown.batch = point.runs.front()->workload.batch;
  shown.samples_per_second = point.rate();
  const Estimate ratio = ratio_estimate(base.rates, point.rates);
  const double scale = static_cast<double>(base.value) / static_cast<double>(point.value);
  if (std::isfinite(ratio.value)) shown.efficiency = ratio.value * scale;
  if (ratio.ci95) shown.efficiency_ci95 = {ratio.ci95->first * scale, ratio.ci95->second * scale};
  const auto measured = measurement_of(point);
  if (!measured) return shown;
  shown.step_seconds = measured->step_seconds;
  shown.exposed_seconds = measured->exposed();
  if (measured->fastest() > 0) shown.slowest_over_fastest = measured->slowest() / measured->fastest();
  if (measured->exposed() > 0 && measured->bus_bytes > 0 && !measured->hides)
    shown.bus_bytes_per_second = measured->bus_bytes / measured->exposed();
  if (measured->rate_alone > 0) shown.bus_bytes_per_second_alone = measured->rate_alone;
  return shown;
}

std::optional<NetworkFit> fit_network(std::span<const RankMeasurement> measured) {
  std::vector<Observation> observations;
  for (const RankMeasurement& one : measured)
    if (one.ranks > 1 && one.rounds > 0 && one.bus_bytes > 0 && one.exposed() > 0)
      observations.push_back({one.rounds * static_cast<double>(one.ranks - 1), one.bus_bytes, one.exposed()});
  if (observations.empty()) return std::nullopt;
  Line line = fitted(observations);
  if (observations.size() == 1) line = {0, observations[0].z / observations[0].y};
  if (line.second <= 0) return std::nullopt;  // rates without a limit
  NetworkFit fit{line.first, 1 / line.second, 0};
  for (const auto& [x, y, z] : observations) fit.residual += std::pow(z / (line.first * x + line.second * y) - 1, 2);
  fit.residual = std::sqrt(fit.residual / static_cast<double>(observations.size()));
  return fit;
}

void predict(RankScaling& scaling, const RankModel& model, const std::string& network, double latency_seconds,
             double bytes_per_second, std::int64_t max_ranks, bool weak) {
  const RankPoint &base = scaling.points.front(), &most = scaling.points.back();
  const double rate_of_one = base.samples_per_second / static_cast<double>(base.ranks);
  for (std::int64_t ranks = kMinPredicted; ranks <= std::min(kMaxPredicted, max_ranks); ranks *= 2) {
    const std::int64_t batch = weak ? base.batch / base.ranks * ranks : base.batch;
    if (ranks <= most.ranks || batch % ranks != 0) continue;
    RankPrediction prediction{network, ranks, batch, 0, 0, 0, 0};
    prediction.exposed_seconds = model.exchange_seconds(ranks, latency_seconds, bytes_per_second);
    prediction.step_seconds = model.compute_seconds(ranks, batch) + prediction.exposed_seconds;
    prediction.samples_per_second = static_cast<double>(batch) / prediction.step_seconds;
    prediction.efficiency = prediction.samples_per_second / static_cast<double>(ranks) / rate_of_one;
    scaling.predicted.push_back(prediction);
  }
}

}  // namespace

double RankMeasurement::slowest() const { return std::ranges::max(compute_seconds); }
double RankMeasurement::fastest() const { return std::ranges::min(compute_seconds); }

std::optional<RankMeasurement> measurement_of(const Run& run) {
  if (run.status != RunStatus::ok || !run.timing || run.timing->steps() <= 0) return std::nullopt;
  RankMeasurement measured;
  measured.batch = run.workload.batch;
  measured.step_seconds = run.timing->steps_total_seconds / static_cast<double>(run.timing->steps());
  measured.compute_seconds = {measured.step_seconds};
  if (run.ranks) {
    const Ranks& ranks = *run.ranks;
    if (ranks.step_seconds.empty() || ranks.step_seconds.size() != ranks.communication_seconds.size()) return std::nullopt;
    measured.ranks = ranks.count;
    measured.step_seconds = mean(ranks.step_seconds);
    measured.compute_seconds.clear();
    for (std::size_t i = 0; i < ranks.step_seconds.size(); ++i)
      measured.compute_seconds.push_back(ranks.step_seconds[i] - ranks.communication_seconds[i]);
    measured.rounds = ranks.rounds.value_or(0);
    measured.bus_bytes = ranks.bus_bytes.value_or(0);
    measured.rate_alone = ranks.bus_bytes_per_second_alone.value_or(0);
    measured.hides = run.device.backend == BackendKind::cuda || run.settings.contains("communication_threads");
  }
  const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
  if (!positive(measured.step_seconds) || !std::ranges::all_of(measured.compute_seconds, positive)) return std::nullopt;
  return measured;
}

double RankModel::compute_seconds(std::int64_t ranks, std::int64_t batch) const {
  return slowest_over_fastest *
         (constant_seconds + seconds_per_sample * static_cast<double>(batch) / static_cast<double>(ranks));
}

double RankModel::exchange_seconds(std::int64_t ranks, double latency_seconds, double bytes_per_second) const {
  const auto n = static_cast<double>(ranks);
  return (n - 1) * (rounds * latency_seconds + bytes / n / bytes_per_second);
}

RankModel fit_ranks(std::span<const RankMeasurement> measured) {
  RankModel model;
  std::vector<Observation> computing;
  for (const RankMeasurement& one : measured)
    computing.push_back({1, static_cast<double>(one.batch) / static_cast<double>(one.ranks), one.fastest()});
  const bool one_size = std::ranges::all_of(computing, [&](const Observation& o) { return o.y == computing.front().y; });
  if (one_size)
    for (Observation& observation : computing) observation.x = 0;
  const Line line = fitted(computing);
  model.constant_seconds = line.first;
  model.seconds_per_sample = line.second;
  const RankMeasurement& most = *std::ranges::max_element(measured, {}, &RankMeasurement::ranks);
  model.slowest_over_fastest = most.slowest() / most.fastest();
  if (most.ranks > 1) {
    const auto n = static_cast<double>(most.ranks);
    model.rounds = most.rounds;
    model.bytes = most.bus_bytes * n / (n - 1);
  }
  model.measured = fit_network(measured);
  return model;
}

RankScaling rank_scaling_of(const Curve& curve, Axis axis, std::span<const Network> networks) {
  RankScaling scaling{curve.name, {}, {}, {}, {}};
  std::vector<RankMeasurement> measured;
  const CurvePoint* base = nullptr;
  for (const CurvePoint& point : curve.points) {
    if (point.rates.empty()) continue;
    if (!base) base = &point;
    scaling.points.push_back(rank_point(point, *base));
    if (const auto one = measurement_of(point)) measured.push_back(*one);
  }
  if (scaling.points.size() < 2) {
    scaling.reason = scaling.points.empty() ? "no point was measured" : "only one number of ranks was measured";
    return scaling;
  }
  if (measured.size() < scaling.points.size() || measured.back().rounds <= 0) {
    scaling.reason = "the result does not say how often ranks exchange, so nothing is predicted; measure it again";
    return scaling;
  }
  if (std::ranges::any_of(measured, &RankMeasurement::hides)) {
    scaling.reason =
        "ranks computed while they exchanged, which hides a part of the exchange, so nothing is predicted; CPUs without "
        "--communication-threads show all of it";
    return scaling;
  }
  const RankModel model = fit_ranks(measured);
  const bool weak = axis == Axis::ranks_weak;
  if ((scaling.network = model.measured))
    predict(scaling, model, kMeasuredNetwork, scaling.network->latency_seconds, scaling.network->bytes_per_second,
            kMaxPredicted, weak);
  for (const Network& network : networks)
    predict(scaling, model, network.name, network.latency_seconds, network.bytes_per_second,
            network.max_ranks.value_or(kMaxPredicted), weak);
  if (scaling.predicted.empty())
    scaling.reason = "batch " + std::to_string(scaling.points.front().batch) + " cannot be divided among more ranks";
  return scaling;
}

RankScaling rank_scaling_of(const Curve& curve, Axis axis) { return rank_scaling_of(curve, axis, embedded_networks()); }

}  // namespace epochbench
