// The page's table, which is also the source of the bar charts: one row per series, with its repetitions combined.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "src/analysis/case_settings.h"
#include "src/analysis/case_summary.h"
#include "src/analysis/cost/cost.h"
#include "src/analysis/fairness.h"
#include "src/base/json_fields.h"
#include "src/report/html/page_head.h"
#include "src/report/html/page_parts.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

constexpr std::size_t kMaxSingleRates = 20;  // repetitions that are drawn one by one, beside the mean

struct Row {
  const Series& series;
  const CaseSummary summary;
  const Run& first;
};

template <auto kGroup, auto kMember>
Json mean_of(const Row& row) {
  return json_of(mean_over(row.series.runs, figure<kGroup, kMember>));
}

template <auto kGroup, auto kMember>
Json greatest_of(const Row& row) {
  return json_of(greatest_over(row.series.runs, figure<kGroup, kMember>));
}

using Quantity = std::optional<GroupEstimate> CaseSummary::*;

template <Quantity kQuantity>
Json value_of(const Row& row) {
  return json_of(member_of(row.summary.*kQuantity, &GroupEstimate::value));
}

// For five or more repetitions.
template <Quantity kQuantity>
Json interval_of(const Row& row) {
  const auto& quantity = row.summary.*kQuantity;
  return quantity ? page_interval(quantity->ends(Spread::ci95)) : Json(nullptr);
}

// For two to four repetitions.
template <Quantity kQuantity>
Json range_of(const Row& row) {
  const auto& quantity = row.summary.*kQuantity;
  return quantity ? page_interval(quantity->ends(Spread::range)) : Json(nullptr);
}

// A text of the first repetition.
template <auto kGroup, auto kMember>
Json text_of(const Row& row) {
  return json_of(member_of(row.first.*kGroup, kMember));
}

// "resnet50, batch 16, synthetic", "resnet50, forward, batch 1, synthetic".
std::string workload_label(const Workload& w) {
  return w.model + (w.mode == "train" ? "" : ", " + w.mode) + ", batch " + std::to_string(w.batch) + ", " + w.dataset;
}

// The same without the batch: charts put all batches on one axis.
std::string work_label(const Workload& w) { return w.model + (w.mode == "train" ? "" : ", " + w.mode) + ", " + w.dataset; }

Json single_rates(const Row& row) {
  return row.series.runs.size() > kMaxSingleRates ? Json(nullptr) : Json(row.series.samples_per_second());
}

// Per epoch: all parts of the device together; if one is not known, only the other, which `part` names.
struct Joules {
  const std::optional<GroupEstimate>& value;
  const char* part;  // null: all
};
Joules joules_of(const Row& row) {
  const CaseSummary& summary = row.summary;
  if (summary.joules_per_epoch) return {summary.joules_per_epoch, nullptr};
  if (summary.gpu_joules_per_epoch) return {summary.gpu_joules_per_epoch, "GPU"};
  return {summary.cpu_joules_per_epoch, summary.cpu_joules_per_epoch ? "CPU" : nullptr};
}

Json joules_ends(const Row& row, Spread spread) {
  const auto& value = joules_of(row).value;
  return value ? page_interval(value->ends(spread)) : Json(nullptr);
}

std::optional<std::string> other_currency(const Run& run) {
  return run.cost && !in_usd(*run.cost) ? run.cost->currency : std::nullopt;
}

// For repetitions that reached different qualities, as with several seeds.
Json eval_range(const Row& row) {
  const std::vector<double> values =
      known_values(row.series.runs, [](const Run* run) { return figure<&Run::quality, &Quality::eval_value>(*run); });
  if (values.empty()) return nullptr;
  const auto [least, greatest] = std::ranges::minmax(values);
  return least < greatest ? Json({least, greatest}) : Json(nullptr);
}

struct RowColumn {
  const char* key;
  Json (*of)(const Row& row);
};

constexpr RowColumn kRowColumns[] = {
    {"name", [](const Row& r) -> Json { return r.summary.name; }},
    {"file", [](const Row& r) -> Json { return r.series.file; }},
    {"workload", [](const Row& r) -> Json { return workload_label(r.first.workload); }},
    {"work", [](const Row& r) -> Json { return work_label(r.first.workload); }},
    {"batch", [](const Row& r) -> Json { return r.first.workload.batch; }},
    {"settings", [](const Row& r) -> Json { return settings_text(further_settings(r.series.settings)); }},
    {"backend", [](const Row& r) -> Json { return r.first.device.backend; }},
    {"on_gpu", [](const Row& r) -> Json { return r.series.on_gpu(); }},
    {"device", [](const Row& r) -> Json { return r.first.device.name; }},
    {"precision", [](const Row& r) -> Json { return r.first.precision; }},
    {"repetitions", [](const Row& r) -> Json { return r.series.runs.size(); }},
    {"samples_per_second", value_of<&CaseSummary::samples_per_second>},
    {"samples_per_second_ci95", interval_of<&CaseSummary::samples_per_second>},
    {"samples_per_second_range", range_of<&CaseSummary::samples_per_second>},
    {"samples_per_second_each", single_rates},
    {"tokens_per_second", mean_of<&Run::throughput, &Throughput::tokens_per_second>},
    {"step_seconds", value_of<&CaseSummary::step_seconds>},
    {"spread_within_run", [](const Row& r) { return json_of(mean_over(r.series.runs, relative_spread_within_run)); }},
    {"epoch_seconds", value_of<&CaseSummary::epoch_seconds>},
    {"epoch_seconds_ci95", interval_of<&CaseSummary::epoch_seconds>},
    {"epoch_seconds_range", range_of<&CaseSummary::epoch_seconds>},
    {"epoch_kind", text_of<&Run::timing, &Timing::epoch_kind>},
    {"cost_per_epoch", value_of<&CaseSummary::cost_per_epoch>},
    {"cost_per_epoch_ci95", interval_of<&CaseSummary::cost_per_epoch>},
    {"cost_per_epoch_range", range_of<&CaseSummary::cost_per_epoch>},
    {"currency", [](const Row& r) { return json_of(other_currency(r.first)); }},  // null: USD
    {"usd_per_hour", mean_of<&Run::cost, &Cost::usd_per_hour>},
    {"price_source", text_of<&Run::cost, &Cost::price_source>},
    {"joules_per_epoch", [](const Row& r) { return json_of(member_of(joules_of(r).value, &GroupEstimate::value)); }},
    {"joules_per_epoch_ci95", [](const Row& r) { return joules_ends(r, Spread::ci95); }},
    {"joules_per_epoch_range", [](const Row& r) { return joules_ends(r, Spread::range); }},
    {"joules_part", [](const Row& r) -> Json { return joules_of(r).part ? Json(joules_of(r).part) : Json(nullptr); }},
    {"energy_reason", text_of<&Run::energy, &Energy::reason>},
    {"peak_fraction", value_of<&CaseSummary::peak_fraction>},
    {"data_wait_fraction", mean_of<&Run::efficiency, &Efficiency::data_wait_fraction>},
    {"planned_bytes", greatest_of<&Run::memory, &Memory::planned_bytes>},
    {"peak_bytes", greatest_of<&Run::memory, &Memory::peak_bytes>},
    {"foreign_cpu_cores", greatest_of<&Run::interference, &Interference::foreign_cpu_cores>},
    {"loaded", [](const Row& r) -> Json { return any_loaded(r.series.runs); }},
    {"restricted", [](const Row& r) -> Json { return !handicap_of(r.series).empty(); }},
    {"doubts", [](const Row& r) -> Json { return doubt_texts(r.series); }},
    {"eval_metric", text_of<&Run::quality, &Quality::eval_metric>},
    {"eval_value", mean_of<&Run::quality, &Quality::eval_value>},
    {"eval_range", eval_range},
    {"final_loss", mean_of<&Run::quality, &Quality::final_loss>},
    {"latency_p50_seconds", mean_of<&Run::latency, &Latency::p50_seconds>},
    {"latency_p99_seconds", mean_of<&Run::latency, &Latency::p99_seconds>},
};

Json row_json(const Series& series) {
  const Row row{series, summary_of_case(series), series.first()};
  return json_list(kRowColumns, [&](const RowColumn& column) { return column.of(row); });
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
  data["columns"] = json_list(kRowColumns, &RowColumn::key);
  data["rows"] = json_list(all.series, row_json);
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
