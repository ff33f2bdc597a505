// The cost of sharing a batch among ranks, in sentences.
#include <algorithm>

#include "src/analysis/sweep/rank_scaling.h"
#include "src/base/text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

std::string exposed_text(double exposed_seconds, double step_seconds) {
  return "exposed " + format_seconds(exposed_seconds) + ", " + format_percent(exposed_seconds / step_seconds) + " of a step";
}

std::string slowest_text(double ratio) { return "slowest rank " + three_digits(ratio) + " times the fastest"; }

std::string sentence(const RankPoint& point) {
  std::string text = format_count(point.ranks) + (point.ranks == 1 ? " rank " : " ranks ") +
                     format_rate(point.samples_per_second) + " samples/s";
  if (point.efficiency && point.ranks > 1) {
    text += ", efficiency " + format_percent(*point.efficiency);
    if (point.efficiency_ci95) text += " (95 % " + range_text(*point.efficiency_ci95, format_percent) + ")";
  }
  if (point.ranks == 1 || !point.step_seconds || !point.exposed_seconds) return text;
  text += "; " + exposed_text(*point.exposed_seconds, *point.step_seconds);
  if (point.bus_bytes_per_second) {
    text += ", bus " + format_si(*point.bus_bytes_per_second, "B/s");
    if (point.bus_bytes_per_second_alone) text += " (sums alone " + format_si(*point.bus_bytes_per_second_alone, "B/s") + ")";
  }
  return point.slowest_over_fastest ? text + "; " + slowest_text(*point.slowest_over_fastest) : text;
}

}  // namespace

std::vector<std::string> rank_sentences(const RankScaling& scaling, const std::string& name) {
  std::vector<std::string> lines;
  for (const RankPoint& point : scaling.points) lines.push_back("ranks       " + name + ": " + sentence(point));
  for (auto from = scaling.predicted.begin(); from != scaling.predicted.end();) {  // one line per network
    const auto to = std::find_if(from, scaling.predicted.end(),
                                 [&](const RankPrediction& other) { return other.network != from->network; });
    std::string text = "predicted, not measured, " + name + ", network " + from->network;
    if (scaling.network && from->network == kMeasuredNetwork)
      text += " (" + format_seconds(scaling.network->latency_seconds) + " and " +
              format_si(scaling.network->bytes_per_second, "B/s") + ")";
    text += ": efficiency " + joined(std::vector<RankPrediction>(from, to), [](const RankPrediction& prediction) {
              return format_percent(prediction.efficiency) + " with " + format_count(prediction.ranks);
            });
    lines.push_back(text + " ranks");
    from = to;
  }
  if (scaling.reason) lines.push_back("ranks       " + name + ": " + *scaling.reason);
  return lines;
}

std::string rank_remark(const Run& run) {
  const auto measured = run.ranks ? measurement_of(run) : std::nullopt;
  if (!measured) return "";
  return "ranks: " + run.name + ": " + exposed_text(measured->exposed(), measured->step_seconds) +
         " in exchange that no computing hides; " + slowest_text(measured->slowest() / measured->fastest()) + "\n";
}

}  // namespace epochbench
