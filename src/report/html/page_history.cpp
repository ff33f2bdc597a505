// The page's history: workloads that several dated files have, with the changes of level that src/analysis finds.
#include <cmath>

#include "src/analysis/compare/history.h"
#include "src/report/html/page_parts.h"

namespace epochbench {
namespace {

constexpr std::size_t kFewestDates = 2;
constexpr std::size_t kMostSeries = 200;

Json page_point(const HistoryPoint& point) {
  return {{"date", point.date},
          {"git_sha", point.git_sha ? Json(point.git_sha->substr(0, 12)) : Json(nullptr)},
          {"git_dirty", point.git_dirty.value_or(false)},
          {"file", point.path},
          {"value", page_number(point.value)},
          {"processes", point.processes}};
}

// Levels are means of logarithms.
Json change_json(const LevelChange& change) {
  return {{"creep", change.kind == ChangeKind::creep},
          {"begin", change.begin},
          {"end", change.end},
          {"before", page_number(std::exp(change.before))},
          {"after", page_number(std::exp(change.after))}};
}

}  // namespace

void add_history(Json& data, const std::vector<NamedResult>& results, const std::vector<NamedTurns>& turns) {
  data["history"] = Json::array();
  std::size_t dated = 0;
  for (const HistorySeries& series : history_of(results, turns).series) {
    if (series.points.size() < kFewestDates) continue;
    if (++dated > kMostSeries) continue;
    Json points = Json::array(), changes = Json::array();
    for (const HistoryPoint& point : series.points) points.push_back(page_point(point));
    for (const LevelChange& change : series.changes) changes.push_back(change_json(change));
    data["history"].push_back({{"name", series.name},
                               {"of", series.of == HistoryOf::ratio ? "ratio" : "step_seconds"},
                               {"setting", series.setting},
                               {"points", points},
                               {"changes", changes},
                               {"reason", series.reason.empty() ? Json(nullptr) : Json(series.reason)}});
  }
  data["history_left_out"] = dated - data["history"].size();
}

}  // namespace epochbench
