// The page's table, which is also the source of the bar charts: one row per series, with its repetitions combined.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "src/analysis/case_settings.h"
#include "src/analysis/fairness.h"
#include "src/base/json_fields.h"
#include "src/report/html/page_head.h"
#include "src/report/html/page_parts.h"
#include "src/report/text/case_columns.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

constexpr std::size_t kMaxSingleRates = 20;  // repetitions that are drawn one by one, beside the mean

// "resnet50, batch 16, synthetic", "resnet50, forward, batch 1, synthetic".
std::string workload_label(const Workload& w) {
  return w.model + (w.mode == "train" ? "" : ", " + w.mode) + ", batch " + std::to_string(w.batch) + ", " + w.dataset;
}

// The same without the batch: charts put all batches on one axis.
std::string work_label(const Workload& w) { return w.model + (w.mode == "train" ? "" : ", " + w.mode) + ", " + w.dataset; }

// The value of a figure and its spread: key, key_ci95 for five or more repetitions, key_range for two to four.
void add_figure(Json& row, const Figure& figure, const std::optional<GroupEstimate>& summary) {
  const std::string key = figure.key;
  const auto ends = [&](Spread spread) { return summary ? page_interval(summary->ends(spread)) : Json(nullptr); };
  row[key] = json_of(member_of(summary, &GroupEstimate::value));
  if (figure.pooling != Pooling::geometric_mean) return;
  row[key + "_ci95"] = ends(Spread::ci95);
  row[key + "_range"] = ends(Spread::range);
}

// A column of the table of runs. key: by whose value it sorts; null: by its text.
Json column_json(const CaseColumn& column) {
  return {{"key", column.figure ? Json(column.figure->key) : Json(nullptr)},
          {"title", column.title},
          {"follows_speed", column.follows_speed}};
}

Json row_json(const Series& series, const std::vector<CaseColumn>& columns) {
  const Run& first = series.first();
  const KnownPart energy = known_energy(series.runs);
  const bool other_currency = first.cost && !in_usd(*first.cost);
  Json row = {{"name", series.name()},
              {"file", series.file},
              {"workload", workload_label(first.workload)},
              {"work", work_label(first.workload)},
              {"batch", first.workload.batch},
              {"settings", settings_text(further_settings(series.settings))},
              {"backend", first.device.backend},
              {"on_gpu", series.on_gpu()},
              {"device", first.device.name},
              {"precision", first.precision},
              {"repetitions", series.runs.size()},
              {"loaded", any_loaded(series.runs)},
              {"restricted", !handicap_of(series).empty()},
              {"doubts", doubt_texts(series)},
              {"samples_per_second_each", series.runs.size() > kMaxSingleRates ? Json(nullptr) : Json(series.rates())},
              {"epoch_kind", json_of(member_of(first.timing, &Timing::epoch_kind))},
              {"currency", other_currency ? json_of(first.cost->currency) : Json(nullptr)},  // null: USD
              {"joules_part", *energy.part ? Json(energy.part) : Json(nullptr)},
              {"energy_reason", json_of(member_of(first.energy, &Energy::reason))},
              {"cells", json_list(columns, [&](const CaseColumn& column) {
                 const CaseCell cell = column.cell({series.name(), series.runs});
                 return Json{cell.text, cell.below};
               })}};
  for (const Figure& figure : kFigures)
    add_figure(row, figure, &figure == &kEnergy ? energy.joules_per_epoch : summarize(series.runs, figure));
  return row;
}

struct LeftOutReason {
  std::string text;
  std::size_t runs = 0;
  std::vector<std::string> names;  // of its cases
  std::set<std::pair<std::size_t, Settings>> cases;
};

// One entry per reason. A case is identified by its settings and its file, since a name is only a label.
Json left_out_by_reason(const AllSeries& all) {
  ListByKey<&LeftOutReason::text> reasons;
  std::map<const NamedResult*, std::size_t> files;
  for (const LeftOut& left : all.left_out) {
    LeftOutReason& reason = reasons[left.reason];
    const std::size_t file = files.emplace(left.source, files.size()).first->second;
    ++reason.runs;
    if (reason.cases.emplace(file, case_settings(*left.run)).second) reason.names.push_back(left.run->name);
  }
  return json_list(reasons, [](const LeftOutReason& reason) {
    return Json{{"reason", reason.text}, {"runs", reason.runs}, {"names", reason.names}};
  });
}

}  // namespace

void add_rows(Json& data, const AllSeries& all) {
  std::vector<RunGroup> cases;
  for (const Series& series : all.series) cases.push_back({series.name(), series.runs});
  const std::vector<CaseColumn> columns = case_columns(kInPage, cases);
  data["case_columns"] = json_list(columns, column_json);
  data["columns"] = data["rows"] = Json::array();
  for (const Series& series : all.series) {
    Json cells = Json::array();
    const Json row = row_json(series, columns);
    if (data["columns"].empty())
      for (const auto& [key, value] : row.items()) data["columns"].push_back(key);
    for (const Json& value : row) cells.push_back(value);
    data["rows"].push_back(std::move(cells));
  }
  data["left_out"] = left_out_by_reason(all);
  std::vector<const Workload*> works;
  std::vector<const Run*> runs;
  for (const Series& series : all.series) {
    works.push_back(&series.first().workload);
    runs.insert(runs.end(), series.runs.begin(), series.runs.end());
  }
  data["epochs"] = epochs_text(works);
  data["capped_shares"] = capped_shares(runs);
}

}  // namespace epochbench
