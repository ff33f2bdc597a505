// The page's table, which is also the source of the bar charts: one row per series, with its repetitions combined.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "src/analysis/case_settings.h"
#include "src/analysis/fairness.h"
#include "src/base/json_fields.h"
#include "src/base/text.h"
#include "src/report/html/page_head.h"
#include "src/report/html/page_parts.h"
#include "src/report/text/case_columns.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

// "resnet50, batch 16, synthetic", "resnet50, forward, batch 1, synthetic".
std::string workload_label(const Workload& w) {
  return w.model + mode_suffix(w) + ", batch " + std::to_string(w.batch) + ", " + w.dataset;
}

// The same without the batch: charts put all batches on one axis.
std::string work_label(const Workload& w) { return w.model + mode_suffix(w) + ", " + w.dataset; }

// What a chart draws of a figure: {value, ends of a 95 % interval, text, spread as text}; null if it is not known.
Json drawn(const std::optional<GroupEstimate>& summary, const NumberText& text) {
  if (!summary) return nullptr;
  return {{"value", summary->value},
          {"ends", page_interval(summary->ends(Spread::ci95))},
          {"text", text(summary->value)},
          {"spread", ends_text(summary, text)}};
}

Json rate_json(const Series& series) {
  Json json = drawn(summarize(series.runs, kThroughput), [](double rate) { return format_rate(rate) + "/s"; });
  if (series.runs.size() > 1 && series.runs.size() < kMinRepetitions) json["each"] = series.rates();
  return json;
}

// With its cost, which is the price times this time.
Json epoch_json(const Series& series, const std::optional<GroupEstimate>& cost) {
  Json json = drawn(summarize(series.runs, kEpochTime), kEpochTime.unit.text);
  if (json.is_null()) return json;
  if (cost) append(json["text"].get_ref<std::string&>(), format_usd(cost->value));
  json["measured"] = member_of(series.first().timing, &Timing::epoch_kind) == EpochKind::measured;
  return json;
}

Json row_json(const Series& series) {
  const Run& first = series.first();
  const KnownPart energy = known_energy(series.runs);
  const auto cost = first.cost && in_usd(*first.cost) ? summarize(series.runs, kEpochCost) : std::nullopt;
  Json joules = drawn(energy.joules_per_epoch, kEnergy.unit.text),
       bytes = drawn(summarize(series.runs, kPeakMemory), format_bytes);
  if (!joules.is_null()) joules["part"] = energy.part;
  if (!bytes.is_null()) bytes["planned"] = json_of(member_of(summarize(series.runs, kPlannedMemory), &GroupEstimate::value));
  return {
      {"name", series.name()},
      {"file", series.file},
      {"workload", workload_label(first.workload)},
      {"work", work_label(first.workload)},
      {"batch", first.workload.batch},
      {"settings", settings_text(further_settings(series.settings))},
      {"backend", name(first.device.backend)},
      {"on_gpu", series.on_gpu()},
      {"device", first.device.name},
      {"precision", name(first.precision)},
      {"restricted", !handicap_of(series).empty()},
      {"doubts", doubt_texts(series)},
      {"rate", rate_json(series)},
      {"epoch", epoch_json(series, cost)},
      {"cost", drawn(cost, format_usd)},
      {"usd_per_hour", json_of(member_of(cost ? summarize(series.runs, figure("usd_per_hour")) : cost, &GroupEstimate::value))},
      {"energy", joules},
      {"memory", bytes}};
}

// Kinds of work in the order in which they first come, with the smallest batch first.
std::vector<const Series*> by_work(const AllSeries& all) {
  std::map<std::string, std::size_t> places;
  std::vector<const Series*> order;
  for (const Series& series : all.series) {
    places.emplace(work_label(series.first().workload), places.size());
    order.push_back(&series);
  }
  std::ranges::stable_sort(order, {}, [&](const Series* series) {
    const Workload& work = series->first().workload;
    return std::pair(places.at(work_label(work)), work.batch);
  });
  return order;
}

// "A: results.json", with the letter of the machine if there are several.
std::string place_text(const Json& data, const std::string& file) {
  const std::string letter = machine_letter(data, file);
  return letter.empty() ? file : letter + ": " + file;
}

View runs_view(const Json& data, const AllSeries& all, bool several_files) {
  std::vector<RunGroup> cases;
  std::map<const Run*, const Series*> series_of_case;  // by the first run
  for (const Series* series : by_work(all)) {
    cases.push_back({series->name(), series->runs});
    series_of_case[&series->first()] = series;
  }
  return cases_view(kInPage, cases, "/run", [&](const RunGroup& group) {
    const Series& series = *series_of_case.at(&group.first());
    std::vector<std::string> below = doubt_texts(series);
    const bool doubted = !below.empty();
    if (several_files) below.insert(below.begin(), place_text(data, series.source->path));
    return std::vector<Cell>{{group.name + load_mark(doubted), joined(below, "; "), {}, doubted}};
  });
}

// How to read the table of runs, and what it lacks.
std::string runs_note(const View& view, const AllSeries& all) {
  constexpr std::size_t kMaxReasons = 3;
  std::vector<std::string> missing, reasons;
  for (std::size_t at = 0; at < view.columns.size(); ++at) {
    const std::string& title = view.columns[at].title;
    if (!title.starts_with("latency") && std::ranges::all_of(view.rows, [&](const auto& row) { return row[at].text.empty(); }))
      missing.push_back(title);
  }
  std::vector<const Workload*> works;
  std::vector<const Run*> runs;
  for (const Series& series : all.series) {
    works.push_back(&series.first().workload);
    runs.insert(runs.end(), series.runs.begin(), series.runs.end());
    if (const auto reason = member_of(series.first().energy, &Energy::reason)) reasons.push_back(*reason);
  }
  std::string text =
      "Samples per second: the geometric mean of n processes, with its 95 % interval (from five on) or range. Epoch, cost and "
      "energy follow from it.";
  if (const std::string epochs = epochs_text(works); !epochs.empty()) text += " An epoch: " + epochs + ".";
  for (const std::string& sentence : capped_shares(runs)) text += " Of peak: " + sentence + ".";
  if (!missing.empty()) text += " Not known of any run: " + joined(missing) + ".";
  reasons = without_repeats(std::move(reasons));
  reasons.resize(std::min(reasons.size(), kMaxReasons));
  if (contains(missing, kEnergy.short_title) && !reasons.empty()) text += " Energy: " + joined(reasons, "; ") + ".";
  return text;
}

struct LeftOutReason {
  std::string text;
  std::size_t runs = 0;
  std::vector<std::string> names;  // of its cases
  std::set<std::pair<std::size_t, Settings>> cases;
};

// One row per reason. A case is identified by its settings and its file, since a name is only a label.
View left_out_view(const AllSeries& all) {
  constexpr std::size_t kMaxNames = 4;
  ListByKey<&LeftOutReason::text> reasons;
  std::map<const NamedResult*, std::size_t> files;
  for (const LeftOut& left : all.left_out) {
    LeftOutReason& reason = reasons[left.reason];
    const std::size_t file = files.emplace(left.source, files.size()).first->second;
    ++reason.runs;
    if (reason.cases.emplace(file, case_settings(*left.run)).second) reason.names.push_back(left.run->name);
  }
  View view = {"Runs that failed, were skipped or are duplicates, grouped by reason", columns("reason|>runs|\"which")};
  for (const LeftOutReason& reason : reasons)
    view.rows.push_back({reason.text, count_cell(reason.runs), some_of(reason.names, kMaxNames)});
  return view;
}

}  // namespace

void add_rows(Json& data, const AllSeries& all, bool several_files) {
  data["columns"] = data["rows"] = Json::array();
  for (const Series& series : all.series) {
    const Json row = row_json(series);
    Json cells = Json::array();
    if (data["columns"].empty())
      for (const auto& [key, value] : row.items()) data["columns"].push_back(key);
    for (const Json& value : row) cells.push_back(value);
    data["rows"].push_back(std::move(cells));
  }
  const View runs = runs_view(data, all, several_files);
  data["tables"]["runs"] = page_table(runs);
  data["runs_note"] = runs_note(runs, all);
  data["tables"]["left_out"] = page_table(left_out_view(all));
  std::vector<const Workload*> works;
  for (const Series& series : all.series) works.push_back(&series.first().workload);
  data["epochs"] = epochs_text(works);
}

}  // namespace epochbench
