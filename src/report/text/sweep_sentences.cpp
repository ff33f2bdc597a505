#include "src/report/text/sweep_sentences.h"

#include <cmath>
#include <set>
#include <utility>

#include "src/base/units.h"

namespace epochbench {
namespace {

// "batch 64", "64 samples".
std::string value_text(Axis axis, const std::string& number) {
  switch (axis) {
    case Axis::batch:
      return "batch " + number;
    case Axis::width:
      return "width " + number;
    case Axis::samples:
      return number + " samples";
    case Axis::threads:
      return number + (number == "1" ? " thread" : " threads");
  }
  return number;
}

std::string value_text(Axis axis, std::int64_t value) { return value_text(axis, format_count(value)); }

// Sentences, with names that lack the common prefix.
class Answers {
 public:
  Answers(const SweepAnswers& answers, Axis axis, std::string prefix)
      : answers_(answers), axis_(axis), prefix_(std::move(prefix)) {}

  std::string text() {
    std::string text;
    for (const CurveBest& best : answers_.best) text += "best        " + sentence(best) + "\n";
    for (const CurveFlattening& flattening : answers_.flattens_at) text += "flattens at " + sentence(flattening) + "\n";
    for (const auto* crossings : {&answers_.crossover, &answers_.no_crossover})
      for (const Crossing& crossing : *crossings) text += "crossover   " + sentence(crossing) + "\n";
    for (const ScalingAnswer& scaling : answers_.scaling) text += sentences(scaling);
    for (const std::string& reason : no_intervals_) text += "no interval: " + reason + "\n";
    return text;
  }

 private:
  std::string shortened(const std::string& name) const {
    return !prefix_.empty() && name.rfind(prefix_, 0) == 0 ? name.substr(prefix_.size()) : name;
  }
  // Collects what holds for several sentences, to be written once.
  std::string without_interval(const std::optional<std::string>& reason) {
    if (reason) no_intervals_.insert(*reason);
    return "";
  }

  std::string sentence(const CurveBest& best) {
    const std::string name = shortened(best.curve) + ": ";
    if (!best.value || !best.rate) return name + best.reason.value_or("not known");
    const std::string text = name + value_text(axis_, *best.value) + ", " + rate_text(axis_, *best.rate) +
                             (axis_ == Axis::width ? "" : " samples/s");
    if (!best.indistinguishable) return text + without_interval(best.reason);
    std::string others;
    for (const std::int64_t value : *best.indistinguishable) others += (others.empty() ? "" : ", ") + format_count(value);
    return text + (others.empty() ? "; every other is slower (95 %)" : "; as fast within the noise (95 %): " + others);
  }

  std::string sentence(const CurveFlattening& flattening) {
    const std::string name = shortened(flattening.curve) + ": ";
    if (!flattening.value) {
      const auto range = flattening.range.value_or(std::pair<std::int64_t, std::int64_t>{0, 0});
      return name + flattening.reason.value_or("not known") +
             (range.first == range.second ? "" : "; it may be flat from " + format_count(range.first) + " on (95 %)");
    }
    const std::string text = name + value_text(axis_, *flattening.value) + ", the smallest within 5 % of the best";
    if (!flattening.range) return text + without_interval(flattening.reason);
    const auto [low, high] = *flattening.range;
    return text + (low == high ? "; no other (95 %)" : "; " + format_count(low) + " to " + format_count(high) + " (95 %)");
  }

  std::string sentence(const Crossing& crossing) {
    const std::string pair =
        "in " + crossing.in + ", " + shortened(crossing.baseline) + " and " + shortened(crossing.contender);
    if (!crossing.value || !crossing.between) return pair + ": " + crossing.reason.value_or("not known");
    std::string text = pair + ": " + value_text(axis_, significant(*crossing.value, 3)) + ", between " +
                       format_count(crossing.between->first) + " and " + format_count(crossing.between->second);
    if (crossing.ci95)
      text += "; " + significant(crossing.ci95->first, 3) + " to " + significant(crossing.ci95->second, 3) + " (95 %)";
    else if (!no_intervals_.contains(crossing.reason.value_or("")))
      text += "; no interval: " + crossing.reason.value_or("not known");
    return text + "; above, " + shortened(crossing.better_above.value_or("")) + " is " +
           (crossing.in == "time" ? "faster" : "cheaper");
  }

  std::string sentences(const ScalingAnswer& scaling) {
    const std::string head = "scaling     " + shortened(scaling.curve) + ": ";
    std::string text;
    for (const ScalingFit& fit : scaling.fits) text += head + sentence(fit) + "\n";
    for (const CoresNeeded& cores : scaling.extrapolations)
      text += "extrapolated, not measured (" + std::to_string(scaling.most_cores) + " threads were): " + sentence(cores) + "\n";
    return scaling.reason ? text + head + *scaling.reason + "\n" : text;
  }

  static const char* law_name(const std::string& law) { return law == "amdahl" ? "Amdahl's law" : "the USL"; }

  static std::string sentence(const ScalingFit& fit) {
    std::string text = std::string(law_name(fit.law)) + ", sigma " + significant(fit.sigma, 3);
    if (fit.law == "usl") text += ", kappa " + significant(fit.kappa, 3);
    if (fit.highest_rate) text += ", at most " + significant(*fit.highest_rate / fit.one_core_rate, 3) + " times one core";
    if (fit.cores_at_highest) text += " with " + significant(*fit.cores_at_highest, 3) + " cores";
    return text + "; residual " + format_percent(fit.residual);
  }

  std::string sentence(const CoresNeeded& needed) const {
    const std::string subject = shortened(needed.contender) + " by " + law_name(needed.law) + ": ";
    if (!needed.cores) return subject + needed.reason.value_or("not known");
    const auto end = [](const std::optional<double>& cores) { return cores ? significant(*cores, 3) : "no limit"; };
    return subject + significant(*needed.cores, 3) + " such cores, " + end(needed.cores_low) + " to " + end(needed.cores_high) +
           " (95 %)";
  }

  const SweepAnswers& answers_;
  Axis axis_;
  std::string prefix_;
  std::set<std::string> no_intervals_;
};

}  // namespace

std::string rate_text(Axis axis, double rate) {
  if (axis == Axis::width) return format_si(rate, "FLOP/s");
  return format_rate(rate);
}

std::string sweep_sentences(const SweepAnswers& answers, Axis axis, const std::string& prefix) {
  return Answers(answers, axis, prefix).text();
}

}  // namespace epochbench
