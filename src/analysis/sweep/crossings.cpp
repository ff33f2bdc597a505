// Where two curves cross, only between measured values (nothing is extrapolated), and all answers of a sweep.
#include <algorithm>
#include <cmath>
#include <utility>

#include "epochbench/precision.h"
#include "src/analysis/sweep/curves.h"
#include "src/analysis/sweep/rank_scaling.h"
#include "src/analysis/sweep/scaling.h"
#include "src/figures/estimate.h"

namespace epochbench {
namespace {

// How many times as good the contender is at a value that both curves have. Logarithms; empty: no interval.
struct Advantage {
  std::int64_t value;
  double ratio;
  std::optional<std::pair<double, double>> interval;
  std::string reason;
};

std::vector<Advantage> advantages(const Curve& baseline, const Curve& contender, CrossingIn in) {
  std::vector<Advantage> all;
  for (const CurvePoint& a : baseline.points) {
    const CurvePoint* b = contender.at(a.value);
    if (!b) continue;
    const auto& from = in == CrossingIn::time ? a.rates : b->usd;
    const auto& to = in == CrossingIn::time ? b->rates : a.usd;
    if (from.empty() || to.empty()) continue;
    const Estimate ratio = ratio_estimate(from, to);
    if (!(ratio.value > 0) || !std::isfinite(ratio.value)) continue;
    Advantage advantage{a.value, std::log(ratio.value), std::nullopt, ratio.reason};
    if (const auto fewest = std::min(from.size(), to.size()); fewest < kMinRepetitions)
      advantage.reason = too_few_per_point(fewest);
    if (ratio.ci95 && ratio.ci95->first > 0) advantage.interval = {std::log(ratio.ci95->first), std::log(ratio.ci95->second)};
    all.push_back(std::move(advantage));
  }
  return all;
}

// Where the line through (x0, y0) and (x1, y1), x in logarithms, is 0. Precondition: y0 != y1.
double root(std::int64_t x0, double y0, std::int64_t x1, double y1) {
  const double from = std::log(static_cast<double>(x0)), to = std::log(static_cast<double>(x1));
  return std::exp(from + (to - from) * y0 / (y0 - y1));
}

bool surely_apart(const Advantage& at) { return at.interval && (at.interval->first > 0 || at.interval->second < 0); }

// From the point `at` outward by `step`, the end of the stretch on which the interval contains 1. Empty: an interval is
// missing, or the measured values end before the stretch does; `reason` says which.
std::optional<double> end_of_stretch(const std::vector<Advantage>& all, std::ptrdiff_t at, std::ptrdiff_t step,
                                     std::string& reason) {
  for (; at >= 0 && at < std::ssize(all); at += step) {
    const Advantage& outer = all[static_cast<std::size_t>(at)];
    const Advantage& inner = all[static_cast<std::size_t>(at - step)];
    if (!outer.interval || !inner.interval) {
      reason = outer.interval ? inner.reason : outer.reason;
      return std::nullopt;
    }
    if (!surely_apart(outer)) continue;
    const bool above = outer.interval->first > 0;
    return above ? root(outer.value, outer.interval->first, inner.value, inner.interval->first)
                 : root(outer.value, outer.interval->second, inner.value, inner.interval->second);
  }
  reason = "the curves cannot be distinguished up to the end of the measured values";
  return std::nullopt;
}

const char* better(CrossingIn in) { return in == CrossingIn::time ? "faster" : "cheaper"; }

std::string why_none(const std::vector<Advantage>& all, const Curve& baseline, const Curve& contender, CrossingIn in) {
  if (all.empty()) {
    const auto lacks_price = [](const Curve& curve) {
      return std::ranges::all_of(curve.points, [](const CurvePoint& point) { return point.usd.empty(); });
    };
    if (in == CrossingIn::cost && (lacks_price(baseline) || lacks_price(contender)))
      return "no price is known for " + (lacks_price(baseline) ? baseline.name : contender.name);
    return "no value was measured on both";
  }
  const auto [lowest, highest] = std::ranges::minmax(all, {}, &Advantage::ratio);
  const bool above = highest.ratio > 0, below = lowest.ratio < 0;
  const std::string subject = !above && !below ? "neither is" : (above ? contender.name : baseline.name) + " is";
  if (all.size() == 1)
    return "only " + std::to_string(all[0].value) + " was measured on both: " + subject + " " + better(in) + " there";
  return "no crossing between " + std::to_string(all.front().value) + " and " + std::to_string(all.back().value) + ": " +
         subject + " " + better(in) + " throughout";
}

// Whether the contender is to be compared with the baseline.
bool worth_comparing(const Curve& baseline, const Curve& contender) {
  if (&baseline == &contender) return false;
  if (baseline.device == contender.device)
    return baseline.precision == Precision::fp32 && contender.precision != Precision::fp32;
  const bool alike = baseline.precision == contender.precision && baseline.products == contender.products;
  return baseline.device == name(DeviceKind::cpu) && (alike || baseline.precision == Precision::fp32);
}

}  // namespace

std::vector<Crossing> crossings(const Curve& baseline, const Curve& contender, CrossingIn in) {
  const Crossing none{baseline.name, contender.name, in, {}, {}, {}, {}, {}};
  const std::vector<Advantage> all = advantages(baseline, contender, in);
  std::vector<Crossing> found;
  std::ptrdiff_t before = -1;  // the last point at which the curves are not equal
  for (std::ptrdiff_t at = 0; at < std::ssize(all); ++at) {
    const Advantage& here = all[static_cast<std::size_t>(at)];
    if (here.ratio == 0) continue;
    const std::ptrdiff_t last = std::exchange(before, at);
    if (last < 0 || (all[static_cast<std::size_t>(last)].ratio > 0) == (here.ratio > 0)) continue;
    const Advantage& there = all[static_cast<std::size_t>(last)];
    Crossing crossing = none;
    // Equal at points in between: the middle of these.
    crossing.value = at == last + 1 ? root(there.value, there.ratio, here.value, here.ratio)
                                    : std::sqrt(static_cast<double>(all[static_cast<std::size_t>(last + 1)].value) *
                                                static_cast<double>(all[static_cast<std::size_t>(at - 1)].value));
    crossing.between = {there.value, here.value};
    crossing.better_above = here.ratio > 0 ? contender.name : baseline.name;
    std::string reason;
    const auto low = end_of_stretch(all, last, -1, reason), high = end_of_stretch(all, at, 1, reason);
    if (low && high)
      crossing.ci95 = {*low, *high};
    else
      crossing.reason = reason;
    found.push_back(std::move(crossing));
  }
  if (!found.empty()) return found;
  found.push_back(none);
  found.back().reason = why_none(all, baseline, contender, in);
  return found;
}

SweepAnswers answers_of(const Result& result, Axis axis) { return answers_of(curves_of(result, axis), result, axis); }

SweepAnswers answers_of(std::span<const Curve> curves, const Result& result, Axis axis) {
  SweepAnswers answers;
  answers.over = axis;
  answers.measure = measure_of(axis);
  for (const Curve& curve : curves) {
    answers.best.push_back(best_of(curve));
    answers.flattens_at.push_back(flattening_of(curve));
    if (axis == Axis::threads) answers.scaling.push_back(scaling_of(curve, result));
    if (over_ranks(axis)) answers.rank_scaling.push_back(rank_scaling_of(curve, axis));
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
