#include "src/report/text/sweep_text.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "src/analysis/sweep/curves.h"
#include "src/base/statistics.h"
#include "src/base/table.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/report/text/sweep_sentences.h"
#include "src/report/text/text_plot.h"

namespace epochbench {
namespace {

// What all names of curves begin with: the model and a slash, unless models differ.
std::size_t common_prefix(const std::vector<Curve>& curves) {
  const bool common = std::all_of(curves.begin(), curves.end(), [&](const Curve& c) { return c.model == curves[0].model; });
  return common && !curves.empty() ? curves[0].model.size() + 1 : 0;
}

const char* rate_title(Axis axis) {
  switch (axis) {
    case Axis::batch:
    case Axis::threads:
      return "samples/s";
    case Axis::width:
      return "computed";
    case Axis::samples:
      return "samples/s of all";
  }
  return "";
}

// The mean of what the ok runs of a point know, geometric as that of the rates where all are above 0; empty where none knows.
std::optional<double> mean_of(const CurvePoint& point, const std::function<std::optional<double>(const Run&)>& quantity) {
  std::vector<double> values;
  for (const Run* run : point.runs)
    if (run->status == RunStatus::ok)
      if (const std::optional<double> value = quantity(*run)) values.push_back(*value);
  if (values.empty()) return std::nullopt;
  if (std::all_of(values.begin(), values.end(), [](double value) { return value > 0; })) return geometric_mean(values);
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string cell(const CurvePoint& point, const std::function<std::string(double)>& format,
                 const std::function<std::optional<double>(const Run&)>& quantity) {
  const std::optional<double> value = mean_of(point, quantity);
  return value ? format(*value) : "";
}

// Half of what the repetitions span, relative to their mean.
std::string spread(const CurvePoint& point) {
  if (point.rates.size() < 2) return "";
  const auto [low, high] = std::minmax_element(point.rates.begin(), point.rates.end());
  return " ±" + significant((*high - *low) / 2 / geometric_mean(point.rates) * 100, 2) + "%";
}

// "out of memory", "2 of 5 failed".
std::string failures(const CurvePoint& point) {
  std::string text;
  for (const RunStatus status : {RunStatus::out_of_memory, RunStatus::failed, RunStatus::diverged, RunStatus::interrupted}) {
    const auto count =
        std::count_if(point.runs.begin(), point.runs.end(), [&](const Run* run) { return run->status == status; });
    if (count == 0) continue;
    const std::string what = spaced(name(status));
    const auto all = std::ssize(point.runs);
    text +=
        (text.empty() ? "" : ", ") + (count == all ? what : std::to_string(count) + " of " + std::to_string(all) + " " + what);
  }
  return text;
}

std::string table(const std::vector<Curve>& curves, std::size_t prefix, Axis axis) {
  using Align = Table::Align;
  Table table({{"curve"},
               {name(axis), Align::right},
               {rate_title(axis), Align::right},
               {"step", Align::right},
               {"in all", Align::right},
               {"memory", Align::right},
               {"of peak", Align::right},
               {"GPU busy", Align::right},
               {axis == Axis::samples ? "cost" : "cost/epoch", Align::right},
               {""}});
  for (const Curve& curve : curves)
    for (const CurvePoint& point : curve.points)
      table.add(
          {curve.name.substr(prefix), format_count(point.value),
           point.rates.empty() ? "" : rate_text(axis, geometric_mean(point.rates)) + spread(point),
           cell(point, format_seconds,
                [](const Run& run) { return run.timing ? std::optional(run.timing->step_seconds_median) : std::nullopt; }),
           axis != Axis::samples
               ? ""
               : cell(point, format_seconds,
                      [](const Run& run) { return run.timing ? std::optional(run.timing->wall_seconds) : std::nullopt; }),
           cell(point, format_bytes,
                [](const Run& run) -> std::optional<double> {
                  if (!run.memory || !run.memory->peak_bytes) return std::nullopt;
                  return static_cast<double>(*run.memory->peak_bytes);
                }),
           cell(point, format_percent,
                [](const Run& run) { return run.efficiency ? run.efficiency->peak_fraction : std::nullopt; }),
           cell(point, format_percent,
                [](const Run& run) { return run.efficiency ? run.efficiency->gpu_busy_fraction : std::nullopt; }),
           point.usd.empty() ? "" : format_usd(geometric_mean(point.usd)), failures(point)});
  const bool repeated = std::any_of(curves.begin(), curves.end(), [](const Curve& curve) {
    return std::any_of(curve.points.begin(), curve.points.end(), [](const CurvePoint& p) { return p.rates.size() > 1; });
  });
  return table.to_string() + (repeated ? "±: half of what the repetitions span\n" : "");
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
  return text_plot(shown, name(axis), rate_title(axis), [axis](double rate) { return rate_text(axis, rate); });
}

}  // namespace

std::string sweep_text(const Result& result) {
  const std::optional<Axis> axis = axis_from_name(result.answers->over);
  if (!axis) return "";
  const std::vector<Curve> curves = curves_of(result, *axis);
  if (curves.empty()) return "no point was measured\n";
  const std::size_t prefix = common_prefix(curves);
  const std::string picture = plot(curves, prefix, *axis);
  return curves[0].name.substr(0, prefix ? prefix - 1 : 0) + (prefix ? "\n" : "") + table(curves, prefix, *axis) +
         (picture.empty() ? "" : "\n" + picture) + "\n" +
         sweep_sentences(*result.answers, *axis, curves[0].name.substr(0, prefix));
}

}  // namespace epochbench
