#include <algorithm>
#include <cmath>
#include <cstddef>

#include "src/base/json_fields.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/report/compare/compare_report.h"
#include "src/report/text/text_parts.h"
#include "src/report/view.h"

namespace epochbench {
namespace {

std::string value_text(const HistorySeries& series, double value) {
  return series.of == HistoryOf::ratio ? significant(value, 4) : format_seconds(value);
}

// "2026-01-02", or "2026-01-02 14:05" where the series has two points of one day.
std::string time_text(const HistorySeries& series, const HistoryPoint& point) {
  const auto day = [](const HistoryPoint& each) { return each.date.substr(0, 10); };
  std::string text = day(point);
  if (std::ranges::adjacent_find(series.points, {}, day) != series.points.end() && point.date.size() >= 16)
    text += " " + point.date.substr(11, 5);
  return one_line(text);
}

// "abc1234 of 2026-01-02"; the file if the commit is not known.
std::string point_text(const HistorySeries& series, std::size_t index) {
  const HistoryPoint& point = series.points[index];
  const std::string commit = commit_text(point.git_sha, point.git_dirty);
  return (commit.empty() ? one_line(point.path) : commit) + " of " + time_text(series, point);
}

std::string change_line(const HistorySeries& series, const LevelChange& change) {
  const std::string begin = point_text(series, change.begin);
  const std::string where = change.kind == ChangeKind::creep ? "a creep from " + begin + " to " + point_text(series, change.end)
                                                             : "a step at " + begin;
  return "  " + significant(std::exp(change.after - change.before), 4) + "  " + where +
         "; the last before it: " + point_text(series, change.begin - 1) + " (p = " + significant(change.p_value, 2) + ")\n";
}

Json point_json(const HistoryPoint& point) {
  return {{"date", point.date},
          {"git_sha", json_of(point.git_sha)},
          {"git_dirty", json_of(point.git_dirty)},
          {"file", point.path},
          {"value", point.value},
          {"processes", point.processes}};
}

Json change_json(const HistorySeries& series, const LevelChange& change) {
  const auto place = [&](std::size_t index) {
    Json object = {{"index", index}};
    object.update(point_json(series.points[index]));
    return object;
  };
  return {{"kind", change.kind == ChangeKind::creep ? "creep" : "step"},
          {"ratio", std::exp(change.after - change.before)},
          {"before", std::exp(change.before)},
          {"after", std::exp(change.after)},
          {"p_value", change.p_value},
          {"begin", place(change.begin)},
          {"end", place(change.end)},
          {"last_before", place(change.begin - 1)}};
}

}  // namespace

std::string history_text(const History& history) {
  View table{"", columns("case|-->points|->first|->last|>changes")};
  for (const HistorySeries& series : history.series)
    table.rows.push_back({one_line(series.name) + load_mark(std::ranges::any_of(series.points, &HistoryPoint::loaded)),
                          std::to_string(series.points.size()), value_text(series, series.points.front().value),
                          value_text(series, series.points.back().value),
                          series.changes.empty() && !series.reason.empty() ? "-" : std::to_string(series.changes.size())});
  std::string text = terminal_table(table) + "\n";
  for (const HistorySeries& series : history.series) {
    text += one_line(series.name) + ", " + one_line(series.setting) + "\n";
    for (const LevelChange& change : series.changes) text += change_line(series, change);
    if (!series.reason.empty())
      text += "  " + series.reason + "\n";
    else if (series.changes.empty())
      text += "  no change of level from " + time_text(series, series.points.front()) + " to " +
              time_text(series, series.points.back()) + "\n";
  }
  for (const LeftOutPoint& out : history.left_out)
    text += "left out: " + one_line(out.name + " (" + out.path + "): " + out.reason) + "\n";
  return text +
         "first, last: step times, or ratios to those of a pinned reference. A change is the ratio of the level after to the\n"
         "level before, so above 1 is slower. Changes deserve a look and prove nothing; `epochbench compare --interleave` of\n"
         "the two commits does.\n";
}

Json history_json(const History& history) {
  Json all = Json::array(), left_out = Json::array();
  for (const HistorySeries& series : history.series) {
    const auto changed = [&](const LevelChange& change) { return change_json(series, change); };
    all.push_back({{"name", series.name},
                   {"of", series.of == HistoryOf::ratio ? "ratio" : "step_seconds"},
                   {"setting", series.setting},
                   {"points", json_list(series.points, point_json)},
                   {"changes", json_list(series.changes, changed)},
                   {"reason", text_or_null(series.reason)}});
  }
  for (const LeftOutPoint& out : history.left_out)
    left_out.push_back({{"name", out.name}, {"file", out.path}, {"reason", out.reason}});
  return {{"series", all}, {"left_out", left_out}};
}

}  // namespace epochbench
