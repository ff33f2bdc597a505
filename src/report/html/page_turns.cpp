// The page's parts on binaries that took turns, and on the history of dated results.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "src/analysis/compare/comparison.h"
#include "src/analysis/compare/history.h"
#include "src/base/json_fields.h"
#include "src/base/text.h"
#include "src/report/compare/compare_report.h"
#include "src/report/html/page_parts.h"
#include "src/report/text/text_parts.h"
#include "src/report/view.h"

namespace epochbench {
namespace {

constexpr std::size_t kMinDates = 2, kMaxSeries = 200;

std::string four_digits(double ratio) { return significant(ratio, 4); }
std::string cores_or_unknown(const std::optional<double>& cores) { return cores ? kCores.text(*cores) : kNotKnown; }

Cell cell_of(const std::optional<double>& value, const NumberText& text) {
  return value ? Cell(text(*value), "", *value) : Cell();
}

std::string ratio_or_unknown(const TurnsPair& pair) {
  return pair.log_ratio ? four_digits(std::exp(*pair.log_ratio)) : kNotKnown;
}

const TurnsCase& turns_of(const TurnsDocument& document, const ComparedCase& compared) {
  return *std::ranges::find(document.cases, compared.name, &TurnsCase::name);
}

// What a chart draws of a case: its pairs beside the estimate.
Json case_part(const ComparedCase& compared, const TurnsCase& turns) {
  const auto& ends = compared.decision.ratio_ci95;
  Json pairs = Json::array();
  for (const TurnsPair& pair : turns.pairs)
    pairs.push_back({{"ratio", pair.log_ratio ? Json(std::exp(*pair.log_ratio)) : Json(nullptr)},
                     {"text", ratio_or_unknown(pair) + "; others took " + cores_or_unknown(pair.foreign_cpu_cores)}});
  return {{"name", compared.name},
          {"precision", name(turns.precision)},
          {"finding", finding_text(compared.decision.finding)},
          {"ratio", json_of(compared.decision.ratio)},
          {"ratio_text", compared.decision.ratio ? four_digits(*compared.decision.ratio) : kNotKnown},
          {"ratio_ci95", json_of(ends)},
          {"interval", ends ? range_text(*ends, four_digits) : ""},
          {"pairs", std::move(pairs)}};
}

View pairs_view(const TurnsDocument& document, const Comparison& comparison) {
  View view = {"Pairs", columns("pair|>new time over the baseline's|>cores that others took")};
  for (const ComparedCase& compared : comparison.cases) {
    const TurnsCase& turns = turns_of(document, compared);
    for (std::size_t at = 0; at < turns.pairs.size(); ++at)
      view.rows.push_back({compared.name + ", pair " + std::to_string(at + 1), ratio_or_unknown(turns.pairs[at]),
                           cores_or_unknown(turns.pairs[at].foreign_cpu_cores)});
  }
  return view;
}

std::vector<Cell> turns_row(const ComparedCase& compared, std::size_t pairs, const std::string& file, const std::string& date) {
  const auto& ends = compared.decision.ratio_ci95;
  return {compared.name + load_mark(is_loaded(compared.foreign_cores)),
          file,
          date,
          finding_text(compared.decision.finding),
          notes_text(compared),
          Cell(cell(compared.decision.ratio, four_digits), ends ? range_text(*ends, four_digits) : "", compared.decision.ratio),
          count_cell(pairs),
          cell_of(compared.step_seconds[kBaseline], format_seconds),
          cell_of(compared.step_seconds[kContender], format_seconds),
          cell_of(compared.foreign_cores, kCores.text)};
}

std::string value_text(const HistorySeries& series, double value) {
  return series.of == HistoryOf::ratio ? four_digits(value) + " of the reference" : format_seconds(value);
}

std::string commit_or_unknown(const HistoryPoint& point) {
  return point.git_sha ? page_commit(point.git_sha, point.git_dirty) : "commit not known";
}

// "+5.0 %": of a time, so up is slower.
std::string change_text(const LevelChange& change) {
  const double percent = (std::exp(change.after - change.before) - 1) * 100;
  return (percent >= 0 ? "+" : "−") + significant(std::fabs(percent), 2) + " %";
}

// Adds to the points and changes of history_json() what a chart writes at them.
void add_texts(Json& json, const HistorySeries& series) {
  for (std::size_t at = 0; at < series.points.size(); ++at) {
    const HistoryPoint& point = series.points[at];
    json["points"][at]["day"] = day_text(point.date);
    json["points"][at]["hint"] = point.date + ", " + commit_or_unknown(point) + ", " + point.path + ": " +
                                 value_text(series, point.value) + ", " + counted(point.processes, "process", "processes");
  }
  for (std::size_t at = 0; at < series.changes.size(); ++at) {
    const LevelChange& change = series.changes[at];
    const HistoryPoint& begin = series.points[change.begin];
    const std::string size = change_text(change), from = change.kind == ChangeKind::creep ? ", creeping from " : ", from ";
    json["changes"][at]["mark"] = size + from + (begin.git_sha ? page_commit(begin.git_sha, {}) : day_text(begin.date));
    json["changes"][at]["sentence"] =
        series.name + ": a step takes " + size + from + commit_or_unknown(begin) + " of " + day_text(begin.date) + " on";
  }
}

View history_view(const History& history) {
  View view = {"History", columns("point|commit|file|median step, or ratio|>processes")};
  for (const HistorySeries& series : history.series)
    for (const HistoryPoint& point : series.points)
      view.rows.push_back({series.name + ", " + point.date, commit_or_unknown(point), point.path,
                           value_text(series, point.value), count_cell(point.processes)});
  return view;
}

}  // namespace

std::string finding_text(Finding finding) {
  const std::string text = spaced(name(finding));
  switch (finding) {
    case Finding::regression:
      return "✗ " + text;
    case Finding::improvement:
      return "▲ " + text;
    case Finding::no_change:
      return "✓ " + text;
    case Finding::inconclusive:
      return "? " + text;
    default:
      return "– " + text;
  }
}

void add_interleaved(Json& data, const std::vector<NamedTurns>& turns) {
  View view = {"Binaries that took turns",
               columns("/case|file|date|=verdict|\"notes|>ratio|>pairs|>baseline's step|>new step|>others' load")};
  for (std::size_t at = 0; at < turns.size(); ++at) {
    const auto& [path, document] = turns[at];
    const Comparison comparison = compare_turns(document, rule_of(document));
    Json& part = data["turns"][at];
    const std::string machine = data["machines"][part["machine"].get<std::size_t>()]["name"];
    const auto build = [](const ComparedSide& side) {
      const std::string text = build_text(side);
      return text.empty() ? kNotKnown : text;
    };
    std::string about = joined({path, moment_text(document.context.date)});
    append(about, "baseline " + build(comparison.sides[kBaseline]), " · ");
    append(about, "new " + build(comparison.sides[kContender]), " · ");
    if (!document.suite.empty()) append(about, "suite " + std::filesystem::path(document.suite).filename().string(), " · ");
    append(about, "threshold " + format_percent(comparison.threshold), " · ");
    if (!machine.empty()) append(about, "machine " + machine, " · ");
    part["about"] = about;
    part["choice"] = joined({path, day_text(document.context.date)});
    part["finding"] = finding_text(verdict_of(comparison));
    part["reason"] = reason_text(comparison);
    part["threshold"] = comparison.threshold;
    part["cases"] = json_list(comparison.cases,
                              [&](const ComparedCase& compared) { return case_part(compared, turns_of(document, compared)); });
    data["tables"]["pairs of turns " + std::to_string(at)] = page_table(pairs_view(document, comparison));
    const std::string file = turns.size() > 1 ? path : "", date = turns.size() > 1 ? day_text(document.context.date) : "";
    for (const ComparedCase& compared : comparison.cases)
      view.rows.push_back(turns_row(compared, turns_of(document, compared).pairs.size(), file, date));
    for (const auto* left_out : {&comparison.changed, &comparison.added, &comparison.not_measured})
      for (const LeftOutCase& each : *left_out)
        view.rows.push_back({each.name, file, date, "not compared", each.reason, "", "", "", "", ""});
  }
  data["tables"]["turns"] = page_table(view);
}

void add_history(Json& data, const std::vector<NamedResult>& results, const std::vector<NamedTurns>& turns) {
  History history = history_of(results, turns);
  std::erase_if(history.series, [](const HistorySeries& series) { return series.points.size() < kMinDates; });
  const std::size_t dated = history.series.size();
  history.series.resize(std::min(dated, kMaxSeries));
  data["history"] = history_json(history)["series"];
  for (std::size_t at = 0; at < history.series.size(); ++at) add_texts(data["history"][at], history.series[at]);
  data["history_left_out"] = dated - history.series.size();
  data["tables"]["history"] = page_table(history_view(history));
}

}  // namespace epochbench
