#include "src/analysis/predict/time_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>

#include "src/base/statistics.h"

namespace epochbench {
namespace {

constexpr double kOutlier = 0.05;                      // ratios nearer to 1 than this count by their square
constexpr double kFirstStep = 1, kLastStep = 1e-4;     // by which the search changes the logarithm of a factor
constexpr double kOfDevices = 0.8, kOfSources = 0.75;  // the shares of steps left out that an interval should contain
// Intervals of ratios, the narrowest first: without a share on either side, and stretched in logarithms, since a range over two
// or three sources seldom contains the next one.
struct Width {
  double tail, stretch;
};
constexpr std::array<Width, 7> kWidths{{{0.1, 1}, {0.05, 1}, {0.025, 1}, {0, 1}, {0, 1.25}, {0, 1.5}, {0, 2}}};
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

using LeftOutGroup = std::string MeasuredStep::*;  // whose steps are left out together

struct GroupsLeftOut {
  const std::vector<MeasuredStep>& steps;
  LeftOutGroup group;
  std::vector<LeftOutStep> results = {};  // of each step

  template <class Counts>
  std::vector<double> ratios(const Counts& counts) const {  // log(measured / expected) of the predicted steps that count
    std::vector<double> list;
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (results[i].predicted && counts(steps[i])) list.push_back(-results[i].log_ratio);
    return list;
  }
  std::set<std::string> groups() const {
    std::set<std::string> names;
    for (const MeasuredStep& step : steps) names.insert(step.*group);
    return names;
  }
};

std::set<std::string> launched_devices(const std::vector<const MeasuredStep*>& steps, const Demands& factors) {
  std::set<std::string> devices;
  for (const MeasuredStep* step : steps)
    if (waits_for_launches(step->demands, factors)) devices.insert(step->device);
  return devices;
}

GroupsLeftOut leave_out(const std::vector<MeasuredStep>& steps, LeftOutGroup group, bool is_gpu) {
  GroupsLeftOut left{steps, group, std::vector<LeftOutStep>(steps.size())};
  for (const std::string& name : left.groups()) {
    std::vector<const MeasuredStep*> others;
    for (const MeasuredStep& step : steps)
      if (step.*group != name) others.push_back(&step);
    const Demands factors = fit_factors(others, is_gpu);
    const std::set<std::string> launched = launched_devices(others, factors);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const MeasuredStep& step = steps[i];
      if (step.*group != name) continue;
      left.results[i].log_ratio = log_ratio(step, factors, is_gpu);
      left.results[i].predicted = !is_gpu || !waits_for_launches(step.demands, factors) || launched.contains(step.device);
    }
  }
  return left;
}

// The interval of measured over expected.
Interval interval_of(std::vector<double> log_ratios, const Width& width) {
  std::ranges::sort(log_ratios);
  const double low = quantile(log_ratios, width.tail), high = quantile(log_ratios, 1 - width.tail);
  const double further = (width.stretch - 1) * (high - low) / 2;
  return {std::exp(low - further), std::exp(high + further)};
}

// Records for each step whether it is within the interval of the other groups, and returns the share that is, by group.
std::map<std::string, LeftOutShare> shares_within(GroupsLeftOut& left, const Width& width) {
  std::map<std::string, LeftOutShare> shares;
  for (const std::string& name : left.groups()) {
    const auto [low, high] =
        interval_of(left.ratios([&](const MeasuredStep& step) { return step.*left.group != name; }), width);
    LeftOutShare& share = shares[name];
    for (std::size_t i = 0; i < left.steps.size(); ++i) {
      LeftOutStep& result = left.results[i];
      if (left.steps[i].*left.group != name || !result.predicted) continue;
      const double ratio = std::exp(-result.log_ratio);
      result.within = low <= ratio && ratio <= high;
      ++share.pairs;
      share.within += result.within;
    }
    if (share.pairs > 0) share.within /= share.pairs;
  }
  return shares;
}

double share_of_all(const GroupsLeftOut& left) {
  const auto predicted = std::ranges::count_if(left.results, &LeftOutStep::predicted);
  const auto within = std::ranges::count_if(left.results, &LeftOutStep::within);
  return predicted > 0 ? static_cast<double>(within) / static_cast<double>(predicted) : 0;
}

template <class Counts>
LeftOutError error_of(const GroupsLeftOut& left, const Counts& counts) {
  std::vector<double> errors;
  for (const double ratio : left.ratios(counts)) errors.push_back(std::abs(std::expm1(-ratio)));
  const int pairs = static_cast<int>(errors.size());
  return {pairs > 0 ? median(std::move(errors)) : 0, pairs, 0};
}

}  // namespace

Demands fit_factors(const std::vector<MeasuredStep>& steps, bool is_gpu) {
  std::vector<const MeasuredStep*> all;
  for (const MeasuredStep& step : steps) all.push_back(&step);
  return fit_factors(all, is_gpu);
}

FittedFactors fit_with_left_out(const std::vector<MeasuredStep>& steps, bool is_gpu, const std::string& evidence,
                                const std::string& program) {
  FittedFactors fitted;
  TimeFactors& kind = fitted.kind;
  const auto all = [](const MeasuredStep&) { return true; };
  GroupsLeftOut by_device = leave_out(steps, &MeasuredStep::device, is_gpu),
                by_source = leave_out(steps, &MeasuredStep::source, is_gpu);
  std::vector<double> ratios = by_device.ratios(all);
  std::ranges::copy(by_source.ratios(all), std::back_inserter(ratios));
  for (const Width& width : kWidths) {
    shares_within(by_device, width);
    kind.sources = shares_within(by_source, width);
    kind.within = share_of_all(by_device);
    kind.within_sources = share_of_all(by_source);
    const auto [low, high] = interval_of(ratios, width);
    kind.low = low;
    kind.high = high;
    if (kind.within >= kOfDevices && kind.within_sources >= kOfSources) break;
  }
  kind.factors = fit_factors(steps, is_gpu);
  for (const std::string& device : by_device.groups())
    kind.devices[device] = error_of(by_device, [&](const MeasuredStep& step) { return step.device == device; });
  kind.error = error_of(by_device, all);
  for (const MeasuredStep& step : steps)
    if (is_gpu && waits_for_launches(step.demands, kind.factors)) {
      ++kind.devices[step.device].launched;
      ++kind.error.launched;
    }
  fitted.by_device = std::move(by_device.results);
  fitted.by_source = std::move(by_source.results);
  kind.evidence = evidence;
  kind.program = program;
  kind.max_cores = std::ranges::max_element(steps, {}, &MeasuredStep::cores)->cores;
  return fitted;
}

}  // namespace epochbench
