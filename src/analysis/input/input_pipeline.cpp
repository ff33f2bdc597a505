#include "src/analysis/input/input_pipeline.h"

#include <tuple>
#include <utility>

#include "src/analysis/case_settings.h"
#include "src/analysis/series.h"
#include "src/base/lookup.h"
#include "src/base/statistics.h"
#include "src/result/load.h"

namespace epochbench {
namespace {

// What runs of a group share: all settings except those of the input and the measurement, the seed, and prefetching.
Settings shared_settings(const Run& run) {
  Settings settings = of_classes(
      case_settings(run), {SettingClass::workload, SettingClass::placement, SettingClass::rounding, SettingClass::ablation});
  std::vector<std::string> without = left_out_parts(settings);
  std::erase(without, "prefetch");
  settings.erase("without");
  if (!without.empty()) settings["without"] = without;
  return settings;
}

// Settings, work, device and cost of decoding: what the runs of a group share.
auto group_key(const Run& run) {
  return std::tuple(shared_settings(run), work_key(run.workload), run.device.backend, run.device.name, run.device.threads,
                    run.input->decode_cost_seconds);
}

template <class Key>
struct KeyedRuns {
  Key key;
  std::vector<const Run*> runs;
};

bool counts(const Run& run) { return run.status == RunStatus::ok && run.input && run.throughput && run.efficiency; }

std::optional<double> utilization(const Run* run) {
  if (run->device.backend == BackendKind::cuda) return run->efficiency->gpu_busy_fraction;
  const std::optional<double>& waits = run->efficiency->data_wait_fraction;
  return waits ? std::optional(1 - *waits) : std::nullopt;
}

bool is_cold(const Run& run) {
  const Settings settings = case_settings(run);
  const bool* cold = setting_as<bool>(settings, "cold");
  return cold && *cold;
}

InputRow row_of(const std::vector<const Run*>& repetitions) {
  InputRow row{name_of(repetitions),       *repetitions.front()->input,  {}, {}, {}, {}, {}, {},
               any_disturbed(repetitions), is_cold(*repetitions.front())};
  row.rates = values_of(repetitions, kThroughput);
  const auto waits = known_values(repetitions, [](const Run* run) { return run->efficiency->data_wait_fraction; });
  if (waits.size() == repetitions.size()) row.data_wait_fraction = mean(waits);
  std::vector<double> busy = known_values(repetitions, utilization);
  if (busy.size() < repetitions.size()) return row;
  row.utilization = mean(busy);
  row.state = state_at(*row.utilization);
  row.utilizations = std::move(busy);
  return row;
}

void compare(InputGroup& group) {
  for (std::size_t i = 0; i < group.rows.size(); ++i) {
    const InputRow& row = group.rows[i];
    if (row.input.cache == Cache::decoded &&
        (!group.decoded || (row.input.prefetch && !group.rows[*group.decoded].input.prefetch)))
      group.decoded = i;
    if (!row.utilization) continue;
    if (!group.best || *row.utilization > *group.rows[*group.best].utilization) group.best = i;
    if (!group.worst || *row.utilization < *group.rows[*group.worst].utilization) group.worst = i;
  }
  for (InputRow& row : group.rows)
    row.of_decoded = group.decoded ? ratio_estimate(group.rows[*group.decoded].rates, row.rates)
                                   : Estimate{.reason = "no run of decoded data stands beside it (--cache decoded)"};
  group.gain = group.best ? ratio_estimate(group.rows[*group.worst].rates, group.rows[*group.best].rates)
                          : Estimate{.reason = "no run knows how long it waited for data"};
}

InputGroup group_of(const std::vector<const Run*>& runs) {
  const Run& first = *runs.front();
  const Workload& work = first.workload;
  InputGroup group;
  group.first = &first;
  group.workload =
      work.model + "/" + name(first.device.backend) + "/" + name(first.precision) + "/b" + std::to_string(work.batch);
  group.dataset = work.dataset;
  group.on_gpu = first.device.backend == BackendKind::cuda;
  group.threads = first.device.threads;
  group.decode_cost_seconds = first.input->decode_cost_seconds;
  using RowRuns = KeyedRuns<Settings>;
  ListByKey<&RowRuns::key> rows;
  for (const Run* run : runs) rows[speed_settings(*run)].runs.push_back(run);
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
  using GroupRuns = KeyedRuns<decltype(group_key(result.runs.front()))>;
  ListByKey<&GroupRuns::key> sets;
  for (const Run& run : result.runs)
    if (counts(run)) sets[group_key(run)].runs.push_back(&run);
  std::vector<InputGroup> groups;
  for (const auto& [key, runs] : sets) {
    InputGroup group = group_of(runs);
    if (group.rows.size() > 1) groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace epochbench
