// The page's table, which the bar charts are drawn from as well: a row a series, its repetitions brought together.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "src/analysis/case_settings.h"
#include "src/analysis/cost/cost.h"
#include "src/base/statistics.h"
#include "src/report/html/page_parts.h"

namespace epochbench {
namespace {

constexpr std::size_t kMostSingleRates = 20;  // repetitions that are drawn one by one, beside the mean

struct Row {
  const Series& series;
  Estimate rate, epoch;
  const Run& first;
};

// Mean of the repetitions; null where one does not know it.
template <typename Get>
Json mean_of(const Row& row, const Get& get) {
  double sum = 0;
  for (const Run* run : row.series.runs) {
    const std::optional<double> value = get(*run);
    if (!value) return nullptr;
    sum += *value;
  }
  return page_number(sum / static_cast<double>(row.series.runs.size()));
}

template <typename Get>
Json greatest_of(const Row& row, const Get& get) {
  std::optional<double> greatest;
  for (const Run* run : row.series.runs) {
    const auto value = get(*run);
    if (!value) return nullptr;
    greatest = std::max(greatest.value_or(static_cast<double>(*value)), static_cast<double>(*value));
  }
  return page_number(greatest);
}

// A member of a group that a run may lack: of(run.memory, &Memory::peak_bytes).
template <typename Group, typename Member>
auto of(const std::optional<Group>& group, std::optional<Member> Group::*member) {
  return group ? (*group).*member : std::optional<Member>();
}

Json text_or_null(const std::optional<std::string>& text) { return text ? Json(*text) : Json(nullptr); }

// "resnet50, batch 16, synthetic", "resnet50, forward, batch 1, synthetic".
std::string workload_label(const Workload& w) {
  return w.model + (w.mode == "train" ? "" : ", " + w.mode) + ", batch " + std::to_string(w.batch) + ", " + w.dataset;
}

Json single_rates(const Row& row) {
  if (row.series.runs.size() > kMostSingleRates) return nullptr;
  Json rates = Json::array();
  for (const double rate : row.series.samples_per_second()) rates.push_back(page_number(rate));
  return rates;
}

Json median_step(const Row& row) {
  std::vector<double> medians;
  for (const Run* run : row.series.runs)
    if (run->timing && std::isfinite(run->timing->step_seconds_median)) medians.push_back(run->timing->step_seconds_median);
  if (medians.empty()) return nullptr;
  return page_number(median(std::move(medians)));
}

// Of an epoch: all parts of the device together; where one is not known, the other alone, which `part` then names.
struct Joules {
  Json value = nullptr, part = nullptr;
};
Joules joules_of(const Row& row) {
  const auto mean = [&](std::optional<double> Energy::*member) {
    return mean_of(row, [&](const Run& run) { return of(run.energy, member); });
  };
  if (Json all = mean(&Energy::joules_per_epoch); !all.is_null()) return {all, nullptr};
  if (Json gpu = mean(&Energy::gpu_joules_per_epoch); !gpu.is_null()) return {gpu, "GPU"};
  if (Json cpu = mean(&Energy::cpu_joules_per_epoch); !cpu.is_null()) return {cpu, "CPU"};
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
    {"samples_per_second", [](const Row& r) { return page_number(r.rate.value); }},
    {"samples_per_second_ci95", [](const Row& r) { return page_interval(r.rate.ci95); }},
    {"samples_per_second_each", single_rates},
    {"tokens_per_second",
     [](const Row& r) {
       return mean_of(r, [](const Run& run) { return of(run.throughput, &Throughput::tokens_per_second); });
     }},
    {"step_seconds", median_step},
    {"epoch_seconds", [](const Row& r) { return page_number(r.epoch.value); }},
    {"epoch_seconds_ci95", [](const Row& r) { return page_interval(r.epoch.ci95); }},
    {"epoch_kind", [](const Row& r) -> Json { return r.first.timing ? Json(r.first.timing->epoch_kind) : Json(nullptr); }},
    {"cost_per_epoch",
     [](const Row& r) { return mean_of(r, [](const Run& run) { return of(run.cost, &Cost::usd_per_epoch); }); }},
    {"currency", [](const Row& r) { return text_or_null(other_currency(r.first)); }},  // null: USD
    {"price_source", [](const Row& r) { return text_or_null(of(r.first.cost, &Cost::price_source)); }},
    {"joules_per_epoch", [](const Row& r) { return joules_of(r).value; }},
    {"joules_part", [](const Row& r) { return joules_of(r).part; }},
    {"energy_reason", [](const Row& r) { return text_or_null(of(r.first.energy, &Energy::reason)); }},
    {"peak_fraction",
     [](const Row& r) { return mean_of(r, [](const Run& run) { return of(run.efficiency, &Efficiency::peak_fraction); }); }},
    {"data_wait_fraction",
     [](const Row& r) {
       return mean_of(r, [](const Run& run) { return of(run.efficiency, &Efficiency::data_wait_fraction); });
     }},
    {"planned_bytes",
     [](const Row& r) { return greatest_of(r, [](const Run& run) { return of(run.memory, &Memory::planned_bytes); }); }},
    {"peak_bytes",
     [](const Row& r) { return greatest_of(r, [](const Run& run) { return of(run.memory, &Memory::peak_bytes); }); }},
    {"foreign_cpu_cores",
     [](const Row& r) {
       return greatest_of(r, [](const Run& run) { return of(run.interference, &Interference::foreign_cpu_cores); });
     }},
    {"eval_metric", [](const Row& r) { return text_or_null(of(r.first.quality, &Quality::eval_metric)); }},
    {"eval_value",
     [](const Row& r) { return mean_of(r, [](const Run& run) { return of(run.quality, &Quality::eval_value); }); }},
    {"final_loss",
     [](const Row& r) { return mean_of(r, [](const Run& run) { return of(run.quality, &Quality::final_loss); }); }},
    {"latency_p50_seconds",
     [](const Row& r) { return mean_of(r, [](const Run& run) { return of(run.latency, &Latency::p50_seconds); }); }},
    {"latency_p99_seconds",
     [](const Row& r) { return mean_of(r, [](const Run& run) { return of(run.latency, &Latency::p99_seconds); }); }},
};

Json row_json(const Series& series) {
  std::vector<double> epochs;
  for (const Run* run : series.runs) epochs.push_back(run->timing ? run->timing->epoch_seconds : 0);
  const Row row{series, geometric_mean_estimate(series.samples_per_second()), geometric_mean_estimate(epochs), series.first()};
  Json json = Json::array();
  for (const RowColumn& column : kRowColumns) json.push_back(column.of(row));
  return json;
}

}  // namespace

void add_rows(Json& data, const AllSeries& all) {
  data["columns"] = Json::array();
  for (const RowColumn& column : kRowColumns) data["columns"].push_back(column.key);
  data["rows"] = Json::array();
  for (const Series& series : all.series) data["rows"].push_back(row_json(series));

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
