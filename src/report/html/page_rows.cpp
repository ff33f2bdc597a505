// The page's table, which the bar charts are drawn from as well: one row per series, its repetitions brought together.
#include <algorithm>
#include <map>
#include <tuple>

#include "src/analysis/case_settings.h"
#include "src/analysis/cost/cost.h"
#include "src/base/json_fields.h"
#include "src/base/statistics.h"
#include "src/report/html/page_parts.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

constexpr std::size_t kMostSingleRates = 20;  // repetitions that are drawn one by one, beside the mean

struct Row {
  const Series& series;
  Estimate rate, epoch;
  const Run& first;
};

// A figure of each repetition; empty where one does not know it.
template <auto kGroup, auto kMember>
std::vector<double> figures_of(const Row& row) {
  std::vector<double> values = known_values(row.series.runs, [](const Run* run) { return figure<kGroup, kMember>(*run); });
  return values.size() == row.series.runs.size() ? values : std::vector<double>();
}

template <auto kGroup, auto kMember>
Json mean_of(const Row& row) {
  return finite_or_null(mean(figures_of<kGroup, kMember>(row)));
}

template <auto kGroup, auto kMember>
Json greatest_of(const Row& row) {
  const std::vector<double> values = figures_of<kGroup, kMember>(row);
  return values.empty() ? Json(nullptr) : Json(std::ranges::max(values));
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

Json single_rates(const Row& row) {
  return row.series.runs.size() > kMostSingleRates ? Json(nullptr) : Json(row.series.samples_per_second());
}

Json median_step(const Row& row) {
  return json_of(median_if_any(
      known_values(row.series.runs, [](const Run* run) { return figure<&Run::timing, &Timing::step_seconds_median>(*run); })));
}

// Of an epoch: all parts of the device together; where one is not known, the other alone, which `part` then names.
struct Joules {
  Json value = nullptr, part = nullptr;
};
Joules joules_of(const Row& row) {
  if (Json all = mean_of<&Run::energy, &Energy::joules_per_epoch>(row); !all.is_null()) return {all, nullptr};
  if (Json gpu = mean_of<&Run::energy, &Energy::gpu_joules_per_epoch>(row); !gpu.is_null()) return {gpu, "GPU"};
  if (Json cpu = mean_of<&Run::energy, &Energy::cpu_joules_per_epoch>(row); !cpu.is_null()) return {cpu, "CPU"};
  return {};
}

std::optional<std::string> other_currency(const Run& run) {
  return run.cost && !in_usd(*run.cost) ? run.cost->currency : std::nullopt;
}

struct RowColumn {
  const char* key;
  Json (*of)(const Row& row);
};

constexpr RowColumn kRowColumns[] = {
    {"name", [](const Row& r) -> Json { return r.first.name; }},
    {"file", [](const Row& r) -> Json { return r.series.file; }},
    {"workload", [](const Row& r) -> Json { return workload_label(r.first.workload); }},
    {"settings", [](const Row& r) -> Json { return settings_text(further_settings(r.series.settings)); }},
    {"backend", [](const Row& r) -> Json { return r.first.device.backend; }},
    {"on_gpu", [](const Row& r) -> Json { return r.series.on_gpu(); }},
    {"device", [](const Row& r) -> Json { return r.first.device.name; }},
    {"precision", [](const Row& r) -> Json { return r.first.precision; }},
    {"repetitions", [](const Row& r) -> Json { return r.series.runs.size(); }},
    {"samples_per_second", [](const Row& r) { return finite_or_null(r.rate.value); }},
    {"samples_per_second_ci95", [](const Row& r) { return page_interval(r.rate.ci95); }},
    {"samples_per_second_each", single_rates},
    {"tokens_per_second", mean_of<&Run::throughput, &Throughput::tokens_per_second>},
    {"step_seconds", median_step},
    {"epoch_seconds", [](const Row& r) { return finite_or_null(r.epoch.value); }},
    {"epoch_seconds_ci95", [](const Row& r) { return page_interval(r.epoch.ci95); }},
    {"epoch_kind", text_of<&Run::timing, &Timing::epoch_kind>},
    {"cost_per_epoch", mean_of<&Run::cost, &Cost::usd_per_epoch>},
    {"currency", [](const Row& r) { return json_of(other_currency(r.first)); }},  // null: USD
    {"price_source", text_of<&Run::cost, &Cost::price_source>},
    {"joules_per_epoch", [](const Row& r) { return joules_of(r).value; }},
    {"joules_part", [](const Row& r) { return joules_of(r).part; }},
    {"energy_reason", text_of<&Run::energy, &Energy::reason>},
    {"peak_fraction", mean_of<&Run::efficiency, &Efficiency::peak_fraction>},
    {"data_wait_fraction", mean_of<&Run::efficiency, &Efficiency::data_wait_fraction>},
    {"planned_bytes", greatest_of<&Run::memory, &Memory::planned_bytes>},
    {"peak_bytes", greatest_of<&Run::memory, &Memory::peak_bytes>},
    {"foreign_cpu_cores", greatest_of<&Run::interference, &Interference::foreign_cpu_cores>},
    {"loaded", [](const Row& r) -> Json { return any_loaded(r.series.runs); }},
    {"eval_metric", text_of<&Run::quality, &Quality::eval_metric>},
    {"eval_value", mean_of<&Run::quality, &Quality::eval_value>},
    {"final_loss", mean_of<&Run::quality, &Quality::final_loss>},
    {"latency_p50_seconds", mean_of<&Run::latency, &Latency::p50_seconds>},
    {"latency_p99_seconds", mean_of<&Run::latency, &Latency::p99_seconds>},
};

Json row_json(const Series& series) {
  std::vector<double> epochs;
  for (const Run* run : series.runs) epochs.push_back(run->timing ? run->timing->epoch_seconds : 0);
  const Row row{series, geometric_mean_estimate(series.samples_per_second()), geometric_mean_estimate(epochs), series.first()};
  return json_list(kRowColumns, [&](const RowColumn& column) { return column.of(row); });
}

}  // namespace

void add_rows(Json& data, const AllSeries& all) {
  data["columns"] = json_list(kRowColumns, &RowColumn::key);
  data["rows"] = json_list(all.series, row_json);
  data["left_out"] = Json::array();
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;  // by name, file and reason
  for (const LeftOut& left : all.left_out) {
    const auto [place, fresh] = places.emplace(std::tuple(left.run->name, left.source->path, left.reason), places.size());
    if (fresh)
      data["left_out"].push_back({{"name", left.run->name}, {"file", left.source->path}, {"reason", left.reason}, {"runs", 0}});
    Json& runs = data["left_out"][place->second]["runs"];
    runs = runs.get<int>() + 1;
  }
}

}  // namespace epochbench
