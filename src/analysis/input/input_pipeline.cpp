#include "src/analysis/input/input_pipeline.h"

#include <algorithm>
#include <utility>

#include "src/analysis/case_settings.h"
#include "src/analysis/series.h"

namespace epochbench {
namespace {

// What runs of a group share: all settings but those of the input, of the measurement, and prefetching.
Settings shared_settings(const Run& run) {
  Settings settings = of_classes(case_settings(run), {SettingClass::workload, SettingClass::placement, SettingClass::rounding,
                                                      SettingClass::sample, SettingClass::ablation});
  std::vector<std::string> without = left_out_parts(settings);
  std::erase(without, "prefetch");
  settings.erase("without");
  if (!without.empty()) settings["without"] = without;
  return settings;
}

// Whether they do the same work on the same device with the same cost of decoding.
bool belong_together(const Run& a, const Run& b) {
  return same_work(a.workload, b.workload) && a.device.backend == b.device.backend && a.device.name == b.device.name &&
         a.device.threads == b.device.threads && a.input->decode_cost_seconds == b.input->decode_cost_seconds;
}

// Of runs with the same settings each.
using RunsBySettings = std::vector<std::pair<Settings, std::vector<const Run*>>>;

bool counts(const Run& run) { return run.status == RunStatus::ok && run.input && run.throughput && run.efficiency; }

std::optional<double> known_mean(const std::vector<std::optional<double>>& values) {
  double sum = 0;
  for (const std::optional<double>& value : values) {
    if (!value) return std::nullopt;
    sum += *value;
  }
  if (values.empty()) return std::nullopt;
  return sum / static_cast<double>(values.size());
}

std::optional<double> utilization(const Run& run) {
  if (run.device.backend == "cuda") return run.efficiency->gpu_busy_fraction;
  const std::optional<double>& waits = run.efficiency->data_wait_fraction;
  return waits ? std::optional(1 - *waits) : std::nullopt;
}

InputRow row_of(const std::vector<const Run*>& repetitions) {
  InputRow row{repetitions.front()->name, *repetitions.front()->input, {}, {}, {}, {}, {}, {}};
  std::vector<std::optional<double>> waits, busy;
  for (const Run* run : repetitions) {
    row.samples_per_second.push_back(run->throughput->samples_per_second);
    waits.push_back(run->efficiency->data_wait_fraction);
    busy.push_back(utilization(*run));
  }
  row.data_wait_fraction = known_mean(waits);
  row.utilization = known_mean(busy);
  if (!row.utilization) return row;
  row.state = state_at(*row.utilization);
  for (const std::optional<double>& value : busy) row.utilizations.push_back(*value);
  return row;
}

Estimate not_known(std::string reason) {
  Estimate estimate;
  estimate.reason = std::move(reason);
  return estimate;
}

void compare(InputGroup& group) {
  for (std::size_t i = 0; i < group.rows.size(); ++i) {
    const InputRow& row = group.rows[i];
    if (row.input.cache == "decoded" && (!group.decoded || (row.input.prefetch && !group.rows[*group.decoded].input.prefetch)))
      group.decoded = i;
    if (!row.utilization) continue;
    if (!group.best || *row.utilization > *group.rows[*group.best].utilization) group.best = i;
    if (!group.worst || *row.utilization < *group.rows[*group.worst].utilization) group.worst = i;
  }
  for (InputRow& row : group.rows)
    row.of_decoded = group.decoded ? ratio_estimate(group.rows[*group.decoded].samples_per_second, row.samples_per_second)
                                   : not_known("no run of decoded data stands beside it (--cache decoded)");
  group.gain = group.best
                   ? ratio_estimate(group.rows[*group.worst].samples_per_second, group.rows[*group.best].samples_per_second)
                   : not_known("no run knows how long it waited for data");
}

InputGroup group_of(const std::vector<const Run*>& runs) {
  const Run& first = *runs.front();
  InputGroup group;
  group.model = first.workload.model;
  group.backend = first.device.backend;
  group.precision = first.precision;
  group.workload = group.model + "/" + group.backend + "/" + group.precision + "/b" + std::to_string(first.workload.batch);
  group.dataset = first.workload.dataset;
  group.mode = first.workload.mode;
  group.on_gpu = first.device.backend == "cuda";
  group.threads = first.device.threads;
  group.decode_cost_seconds = first.input->decode_cost_seconds;
  RunsBySettings rows;
  for (const Run* run : runs) {
    Settings settings = case_settings(*run);
    auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& other) { return other.first == settings; });
    if (row == rows.end()) row = rows.insert(rows.end(), {std::move(settings), {}});
    row->second.push_back(run);
  }
  for (const auto& [settings, repetitions] : rows) group.rows.push_back(row_of(repetitions));
  compare(group);
  return group;
}

}  // namespace

InputState state_at(double utilization) {
  if (utilization < kStarvedBelow) return InputState::starved;
  return utilization > kWellFedAbove ? InputState::well : InputState::partly;
}

std::vector<InputGroup> input_groups(const Result& result) {
  RunsBySettings sets;
  for (const Run& run : result.runs) {
    if (!counts(run)) continue;
    Settings settings = shared_settings(run);
    auto set = std::find_if(sets.begin(), sets.end(), [&](const auto& other) {
      return belong_together(*other.second.front(), run) && other.first == settings;
    });
    if (set == sets.end()) set = sets.insert(sets.end(), {std::move(settings), {}});
    set->second.push_back(&run);
  }
  std::vector<InputGroup> groups;
  for (const auto& [settings, runs] : sets) {
    InputGroup group = group_of(runs);
    if (group.rows.size() > 1) groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace epochbench
