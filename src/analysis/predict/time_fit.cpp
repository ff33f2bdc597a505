#include "src/analysis/predict/time_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "src/base/statistics.h"

namespace epochbench {
namespace {

constexpr double kOutlier = 0.05;                    // ratios nearer to 1 than this count by their square
constexpr double kFirstStep = 1, kLastStep = 1e-4;   // by which the search changes the logarithm of a factor
constexpr double kWanted = 0.8;                      // the share of steps that an interval should contain
constexpr std::array kTails{0.1, 0.05, 0.025, 0.0};  // the share of ratios on either side, the narrowest interval first
constexpr Demands kStart{1.5, 1.5, 2, 1e-12, 1e-4};  // near any sensible fit
constexpr Demands kMin{1, 1, 1, 1e-14, 1e-7};        // ratios by the roofline; the others so small that they say nothing

class Search {
 public:
  Search(const std::vector<const MeasuredStep*>& steps, bool is_gpu) : steps_(steps), is_gpu_(is_gpu) {
    std::map<std::string, int> counts;
    for (const MeasuredStep* step : steps) ++counts[step->device];
    for (const MeasuredStep* step : steps) weights_.push_back(1 / std::sqrt(counts[step->device]));
  }

  Demands factors() const {
    Demands best = kStart;
    for (std::size_t i = 0; i < kDemands; ++i)
      if (std::ranges::none_of(steps_, [&](const MeasuredStep* step) { return step->demands[i] > 0; })) best[i] = 0;
    double least = loss(best);
    for (double step = kFirstStep; step > kLastStep;)
      if (!improve(best, least, step)) step /= 2;
    return best;
  }

 private:
  double loss(const Demands& factors) const {
    double sum = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const double ratio = std::log(expected_seconds(steps_[i]->demands, factors, is_gpu_) / steps_[i]->seconds);
      sum += weights_[i] * std::sqrt(ratio * ratio + kOutlier * kOutlier);
    }
    return sum;
  }

  // Moves along each axis, and along each pair of axes in opposite directions, since one factor often stands in for another.
  bool improve(Demands& best, double& least, double step) const {
    bool improved = false;
    for (std::size_t i = 0; i < kDemands; ++i)
      for (std::size_t j = 0; j < kDemands; ++j)
        for (const double direction : {step, -step}) {
          Demands moved = best;
          moved[i] = best[i] > 0 ? std::max(kMin[i], best[i] * std::exp(direction)) : 0;
          if (j != i) moved[j] = best[j] > 0 ? std::max(kMin[j], best[j] * std::exp(-direction)) : 0;
          const double found = loss(moved);
          if (found < least - 1e-9) {
            best = moved;
            least = found;
            improved = true;
          }
        }
    return improved;
  }

  const std::vector<const MeasuredStep*>& steps_;
  std::vector<double> weights_;
  bool is_gpu_;
};

Demands fit_factors(const std::vector<const MeasuredStep*>& steps, bool is_gpu) { return Search(steps, is_gpu).factors(); }

double log_ratio(const MeasuredStep& step, const Demands& factors, bool is_gpu) {
  return std::log(std::max(step.bound_seconds, expected_seconds(step.demands, factors, is_gpu)) / step.seconds);
}

// Measured over expected, for the steps that `counts` accepts, without a tail on either side.
template <class Counts>
Interval interval_of(const std::vector<MeasuredStep>& steps, const std::vector<LeftOutStep>& left_out, double tail,
                     const Counts& counts) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (counts(steps[i])) ratios.push_back(-left_out[i].log_ratio);
  std::ranges::sort(ratios);
  return {std::exp(quantile(ratios, tail)), std::exp(quantile(ratios, 1 - tail))};
}

template <class Counts>
LeftOutError error_of(const std::vector<MeasuredStep>& steps, const std::vector<LeftOutStep>& left_out, const Counts& counts) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (counts(steps[i])) errors.push_back(std::abs(std::expm1(left_out[i].log_ratio)));
  const int pairs = static_cast<int>(errors.size());
  return {median(std::move(errors)), pairs};
}

std::set<std::string> devices_of(const std::vector<MeasuredStep>& steps) {
  std::set<std::string> devices;
  for (const MeasuredStep& step : steps) devices.insert(step.device);
  return devices;
}

std::vector<LeftOutStep> left_out_ratios(const std::vector<MeasuredStep>& steps, const std::set<std::string>& devices,
                                         bool is_gpu) {
  std::vector<LeftOutStep> left_out(steps.size());
  for (const std::string& device : devices) {
    std::vector<const MeasuredStep*> others;
    for (const MeasuredStep& step : steps)
      if (step.device != device) others.push_back(&step);
    const Demands factors = fit_factors(others, is_gpu);
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (steps[i].device == device) left_out[i].log_ratio = log_ratio(steps[i], factors, is_gpu);
  }
  return left_out;
}

// Records for each step whether it is within the interval of the other devices, and returns the share that is.
double share_within(std::vector<LeftOutStep>& left_out, const std::vector<MeasuredStep>& steps,
                    const std::set<std::string>& devices, double tail) {
  int within = 0;
  for (const std::string& device : devices) {
    const auto others = [&](const MeasuredStep& step) { return step.device != device; };
    const auto [low, high] = interval_of(steps, left_out, tail, others);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].device != device) continue;
      const double ratio = std::exp(-left_out[i].log_ratio);
      left_out[i].within = low <= ratio && ratio <= high;
      within += left_out[i].within;
    }
  }
  return within / static_cast<double>(steps.size());
}

Json error_json(const LeftOutError& error) { return {{"median_error", error.median}, {"pairs", error.pairs}}; }

}  // namespace

Demands fit_factors(const std::vector<MeasuredStep>& steps, bool is_gpu) {
  std::vector<const MeasuredStep*> all;
  for (const MeasuredStep& step : steps) all.push_back(&step);
  return fit_factors(all, is_gpu);
}

FittedFactors fit_with_left_out(const std::vector<MeasuredStep>& steps, bool is_gpu, const std::string& evidence) {
  FittedFactors fitted;
  TimeFactors& kind = fitted.kind;
  const std::set<std::string> devices = devices_of(steps);
  fitted.left_out = left_out_ratios(steps, devices, is_gpu);
  const auto all = [](const MeasuredStep&) { return true; };
  for (const double tail : kTails) {
    kind.within = share_within(fitted.left_out, steps, devices, tail);
    const auto [low, high] = interval_of(steps, fitted.left_out, tail, all);
    kind.low = low;
    kind.high = high;
    if (kind.within >= kWanted) break;
  }
  for (const std::string& device : devices)
    kind.devices[device] = error_of(steps, fitted.left_out, [&](const MeasuredStep& step) { return step.device == device; });
  kind.factors = fit_factors(steps, is_gpu);
  kind.error = error_of(steps, fitted.left_out, all);
  kind.evidence = evidence;
  return fitted;
}

Json time_factors_json(const TimeFactors& kind) {
  Json factors = Json::object(), devices = Json::object();
  for (std::size_t i = 0; i < kDemands; ++i) factors[texts_of(Demand{})[i]] = kind.factors[i];
  for (const auto& [device, error] : kind.devices) devices[device] = error_json(error);
  Json json = error_json(kind.error);
  json["evidence"] = kind.evidence;
  json["factors"] = factors;
  json["low"] = kind.low;
  json["high"] = kind.high;
  json["within"] = kind.within;
  json["devices"] = devices;
  return json;
}

}  // namespace epochbench
