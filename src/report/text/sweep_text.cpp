// A sweep for people: its points as a table and a plot, its answers as sentences.
#include <algorithm>
#include <set>

#include "src/base/lookup.h"
#include "src/base/statistics.h"
#include "src/base/text.h"
#include "src/report/text/result_text.h"
#include "src/report/text/text_parts.h"
#include "src/report/view.h"

namespace epochbench {
namespace {

// The length of the prefix of all curve names: the model and a slash, unless models differ.
std::size_t common_prefix(const std::vector<Curve>& curves) {
  const bool common = std::all_of(curves.begin(), curves.end(), [&](const Curve& c) { return c.model == curves[0].model; });
  return common && !curves.empty() ? curves[0].model.size() + 1 : 0;
}

const char* title_of(Axis axis) { return over_ranks(axis) ? "ranks" : name(axis); }

const char* rate_title(Axis axis) {
  if (axis == Axis::width) return "computed";
  return axis == Axis::samples ? "samples/s of all" : "samples/s";
}

// A rate in the axis's measure, without a unit if it is samples per second.
std::string rate_text(Axis axis, double rate) { return axis == Axis::width ? format_si(rate, "FLOP/s") : format_rate(rate); }

std::optional<GroupEstimate> rate_of(const CurvePoint& point) {
  return point.rates.empty() ? std::nullopt : std::optional(estimate_of_groups(point.rates));
}

// "out of memory", "2 of 5 failed".
std::string failures(const CurvePoint& point) {
  std::string text;
  for (const RunStatus status : {RunStatus::out_of_memory, RunStatus::failed, RunStatus::diverged, RunStatus::interrupted,
                                 RunStatus::contradicts_itself}) {
    const auto count =
        std::count_if(point.runs.begin(), point.runs.end(), [&](const Run* run) { return run->status == status; });
    if (count == 0) continue;
    const auto all = std::ssize(point.runs);
    append(text, (count == all ? "" : std::to_string(count) + " of " + std::to_string(all) + " ") + spaced(name(status)));
  }
  return text;
}

std::string table(const std::vector<Curve>& curves, std::size_t prefix, Axis axis) {
  SpreadColumn spread;
  for (const Curve& curve : curves)
    for (const CurvePoint& point : curve.points) spread.add(rate_of(point));
  const auto number = [axis](double rate) { return rate_text(axis, rate); };
  View table{"", columns(std::string("curve|>") + title_of(axis) + "|>" + rate_title(axis) + "|>" + spread.title() +
                         "|->step|--->in all|--->memory|-->of peak|--->GPU busy|" +
                         (axis == Axis::samples ? "-->cost" : "-->cost/epoch") + "|-")};
  for (const Curve& curve : curves)
    for (const CurvePoint& point : curve.points)
      table.rows.push_back(
          {curve.name.substr(prefix) + load_mark(any_disturbed(point.runs)), format_count(point.value),
           cell(rate_of(point), number), spread.cell(rate_of(point), number), cell(point.runs, kStepTime),
           axis == Axis::samples ? cell(point.runs, kWallTime) : "", cell(point.runs, kPeakMemory),
           cell(point.runs, kPeakShare), cell(point.runs, kGpuBusy),
           Cell{point.usd.empty() ? "" : format_usd(geometric_mean(point.usd)), "", {}, any_disturbed(point.runs)},
           failures(point)});
  return terminal_table(table);
}

// What the costs of an epoch are of; "" if the table has none.
std::string epochs_line(const std::vector<Curve>& curves, Axis axis) {
  std::vector<const Workload*> works;
  for (const Curve& curve : curves)
    for (const CurvePoint& point : curve.points)
      if (axis != Axis::samples && !point.usd.empty()) works.push_back(&point.runs.front()->workload);
  return works.empty() ? "" : "epoch: " + epochs_text(works) + "\n";
}

std::string plot(const std::vector<Curve>& curves, std::size_t prefix, Axis axis) {
  std::vector<PlotCurve> shown;
  for (const Curve& curve : curves) {
    PlotCurve line{curve.name.substr(prefix), {}, {}};
    for (const CurvePoint& point : curve.points)
      if (point.rates.empty())
        line.failed.push_back(static_cast<double>(point.value));
      else
        line.points.emplace_back(static_cast<double>(point.value), geometric_mean(point.rates));
    shown.push_back(std::move(line));
  }
  return text_plot(shown, title_of(axis), rate_title(axis), [axis](double rate) { return rate_text(axis, rate); });
}

// "batch 64", "64 samples".
std::string value_text(Axis axis, const std::string& number) {
  if (axis == Axis::samples) return number + " samples";
  if (axis == Axis::threads) return number + (number == "1" ? " thread" : " threads");
  if (over_ranks(axis)) return number + (number == "1" ? " rank" : " ranks");
  return std::string(name(axis)) + " " + number;
}

std::string value_text(Axis axis, std::int64_t value) { return value_text(axis, format_count(value)); }

// Sentences with names without the common prefix.
class Answers {
 public:
  Answers(const SweepAnswers& answers, Axis axis, std::string prefix)
      : answers_(answers), axis_(axis), prefix_(std::move(prefix)) {}

  std::vector<std::string> lines() {
    std::vector<std::string> lines;
    for (const CurveBest& best : answers_.best) lines.push_back("best        " + sentence(best));
    for (const CurveFlattening& flattening : answers_.flattens_at) lines.push_back("flattens at " + sentence(flattening));
    for (const auto* crossings : {&answers_.crossover, &answers_.no_crossover})
      for (const Crossing& crossing : *crossings) lines.push_back("crossover   " + sentence(crossing));
    for (const ScalingAnswer& scaling : answers_.scaling) add(lines, scaling);
    for (const RankScaling& scaling : answers_.rank_scaling)
      for (std::string& line : rank_sentences(scaling, shortened(scaling.curve))) lines.push_back(std::move(line));
    for (const std::string& reason : no_intervals_) lines.push_back("no interval: " + reason);
    return lines;
  }

 private:
  std::string shortened(const std::string& name) const {
    return !prefix_.empty() && name.starts_with(prefix_) ? name.substr(prefix_.size()) : name;
  }
  // Collects reasons shared by several sentences, to write each once.
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
    const std::string others = joined(*best.indistinguishable, format_count);
    return text + (others.empty() ? "; every other is slower (95 %)" : "; as fast within the noise (95 %): " + others) +
           (best.reason ? "; " + *best.reason : "");
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
        std::string("in ") + name(crossing.in) + ", " + shortened(crossing.baseline) + " and " + shortened(crossing.contender);
    if (!crossing.value || !crossing.between) return pair + ": " + crossing.reason.value_or("not known");
    std::string text = pair + ": " + value_text(axis_, three_digits(*crossing.value)) + ", between " +
                       format_count(crossing.between->first) + " and " + format_count(crossing.between->second);
    if (crossing.ci95)
      text += "; " + range_text(*crossing.ci95) + " (95 %)";
    else if (!no_intervals_.contains(crossing.reason.value_or("")))
      text += "; no interval: " + crossing.reason.value_or("not known");
    return text + "; above, " + shortened(crossing.better_above.value_or("")) + " is " +
           (crossing.in == CrossingIn::time ? "faster" : "cheaper");
  }

  void add(std::vector<std::string>& lines, const ScalingAnswer& scaling) const {
    const std::string head = "scaling     " + shortened(scaling.curve) + ": ";
    for (const ScalingFit& fit : scaling.fits) lines.push_back(head + sentence(fit));
    for (const CoresNeeded& cores : scaling.extrapolations)
      lines.push_back("extrapolated, not measured (" + std::to_string(scaling.max_cores) +
                      " threads were): " + sentence(cores));
    if (scaling.reason) lines.push_back(head + *scaling.reason);
  }

  static const char* law_name(ScalingLaw law) { return law == ScalingLaw::amdahl ? "Amdahl's law" : "the USL"; }

  static std::string sentence(const ScalingFit& fit) {
    std::string text = std::string(law_name(fit.law)) + ", sigma " + three_digits(fit.sigma);
    if (fit.law == ScalingLaw::usl) text += ", kappa " + three_digits(fit.kappa);
    if (fit.highest_rate) text += ", at most " + three_digits(*fit.highest_rate / fit.one_core_rate) + " times one core";
    if (fit.cores_at_highest) text += " with " + three_digits(*fit.cores_at_highest) + " cores";
    return text + "; residual " + format_percent(fit.residual);
  }

  std::string sentence(const CoresNeeded& needed) const {
    const std::string subject = shortened(needed.contender) + " by " + law_name(needed.law) + ": ";
    if (!needed.cores) return subject + needed.reason.value_or("not known");
    const auto end = [](const std::optional<double>& cores) { return cores ? three_digits(*cores) : "no limit"; };
    return subject + three_digits(*needed.cores) + " such cores, " + end(needed.cores_ci95.first) + " to " +
           end(needed.cores_ci95.second) + " (95 %)";
  }

  const SweepAnswers& answers_;
  Axis axis_;
  std::string prefix_;
  std::set<std::string> no_intervals_;
};

}  // namespace

std::vector<std::string> sweep_sentences(const SweepAnswers& answers, Axis axis, const std::string& prefix) {
  return Answers(answers, axis, prefix).lines();
}

std::string sweep_text(const Result& result) {
  const Axis axis = result.answers->over;
  const std::vector<Curve> curves = curves_of(result, axis);
  if (curves.empty()) return "no point was measured\n";
  const std::size_t prefix = common_prefix(curves);
  const std::string picture = plot(curves, prefix, axis);
  return curves[0].name.substr(0, prefix ? prefix - 1 : 0) + (prefix ? "\n" : "") + table(curves, prefix, axis) +
         epochs_line(curves, axis) + (picture.empty() ? "" : "\n" + picture) + "\n" +
         joined(
             sweep_sentences(*result.answers, axis, curves[0].name.substr(0, prefix)),
             [](const std::string& line) { return line + "\n"; }, "");
}

}  // namespace epochbench
