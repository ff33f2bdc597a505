#include "src/analysis/input/feeding.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

namespace epochbench {
namespace {

constexpr std::array<std::string_view, 3> kInputSettings{"cache=", "decode-cost=", "loader-threads="};
constexpr std::string_view kWithoutPrefetch = "without=prefetch";

// A run's name without what it says of the input: what is left is the same in a group.
std::string without_input(const std::string& name) {
  std::string rest;
  std::istringstream parts(name);
  for (std::string part; std::getline(parts, part, '/');) {
    const bool of_input = std::any_of(kInputSettings.begin(), kInputSettings.end(),
                                      [&](std::string_view setting) { return part.rfind(setting, 0) == 0; });
    if (!of_input && part != kWithoutPrefetch) rest += "/" + part;
  }
  return rest;
}

using Key = std::tuple<std::string, std::string, std::string, std::string, std::string, std::string, std::string, std::uint64_t,
                       std::optional<int>, double>;

Key key_of(const Run& run) {
  return {without_input(run.name), run.device.backend,   run.device.name,   run.precision,      run.workload.fingerprint,
          run.workload.mode,       run.workload.dataset, run.workload.seed, run.device.threads, run.input->decode_cost_seconds};
}

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

FeedingRow row_of(const std::vector<const Run*>& repetitions) {
  FeedingRow row{repetitions.front()->name, *repetitions.front()->input, {}, {}, {}, {}, {}, {}};
  std::vector<std::optional<double>> waits, busy;
  for (const Run* run : repetitions) {
    row.samples_per_second.push_back(run->throughput->samples_per_second);
    waits.push_back(run->efficiency->data_wait_fraction);
    busy.push_back(utilization(*run));
  }
  row.data_wait_fraction = known_mean(waits);
  row.utilization = known_mean(busy);
  if (!row.utilization) return row;
  row.state = fed(*row.utilization);
  for (const std::optional<double>& value : busy) row.utilizations.push_back(*value);
  return row;
}

Estimate not_known(std::string reason) {
  Estimate estimate;
  estimate.reason = std::move(reason);
  return estimate;
}

void compare(FeedingGroup& group) {
  for (std::size_t i = 0; i < group.rows.size(); ++i) {
    const FeedingRow& row = group.rows[i];
    if (row.input.cache == "decoded" && (!group.decoded || (row.input.prefetch && !group.rows[*group.decoded].input.prefetch)))
      group.decoded = i;
    if (!row.utilization) continue;
    if (!group.best || *row.utilization > *group.rows[*group.best].utilization) group.best = i;
    if (!group.worst || *row.utilization < *group.rows[*group.worst].utilization) group.worst = i;
  }
  for (FeedingRow& row : group.rows)
    row.of_decoded = group.decoded ? ratio_estimate(group.rows[*group.decoded].samples_per_second, row.samples_per_second)
                                   : not_known("no run of decoded data stands beside it (--cache decoded)");
  group.gain = group.best
                   ? ratio_estimate(group.rows[*group.worst].samples_per_second, group.rows[*group.best].samples_per_second)
                   : not_known("no run knows how long it waited for data");
}

FeedingGroup group_of(const std::vector<const Run*>& runs) {
  const Run& first = *runs.front();
  FeedingGroup group;
  group.workload =
      first.workload.model + "/" + first.device.backend + "/" + first.precision + "/b" + std::to_string(first.workload.batch);
  group.dataset = first.workload.dataset;
  group.mode = first.workload.mode;
  group.on_gpu = first.device.backend == "cuda";
  group.threads = first.device.threads;
  group.decode_cost_seconds = first.input->decode_cost_seconds;
  std::vector<std::vector<const Run*>> rows;  // by name
  for (const Run* run : runs) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& other) { return other.front()->name == run->name; });
    if (row == rows.end()) row = rows.insert(rows.end(), std::vector<const Run*>());
    row->push_back(run);
  }
  for (const auto& row : rows) group.rows.push_back(row_of(row));
  compare(group);
  return group;
}

}  // namespace

Fed fed(double utilization) {
  if (utilization < kStarvedBelow) return Fed::starved;
  return utilization > kFedAbove ? Fed::well : Fed::partly;
}

std::vector<FeedingGroup> feeding(const Result& result) {
  std::vector<std::pair<Key, std::vector<const Run*>>> by_key;
  for (const Run& run : result.runs) {
    if (!counts(run)) continue;
    const Key key = key_of(run);
    auto found = std::find_if(by_key.begin(), by_key.end(), [&](const auto& entry) { return entry.first == key; });
    if (found == by_key.end()) found = by_key.insert(found, {key, {}});
    found->second.push_back(&run);
  }
  std::vector<FeedingGroup> groups;
  for (const auto& [key, runs] : by_key) {
    FeedingGroup group = group_of(runs);
    if (group.rows.size() > 1) groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace epochbench
