#include "src/analysis/compare/peer_ratios.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "src/analysis/series.h"
#include "src/base/lookup.h"
#include "src/base/statistics.h"
#include "src/result/load.h"

namespace epochbench {
namespace {

struct WorkerRuns {
  std::string worker;
  std::vector<const Run*> runs;

  bool ours() const { return is_ours(*runs.front()); }
};

// What the runs share that took turns with each other.
using TurnsKey = std::tuple<std::string, std::int64_t, Precision, std::optional<int>, std::uint64_t>;
TurnsKey turns_key(const Run& run) {
  return {run.workload.model, run.workload.batch, run.precision, run.device.threads, run.turns.value().order_seed};
}

struct Case {
  TurnsKey key;
  ListByKey<&WorkerRuns::worker> workers;
};

std::vector<Case> cases_of(const std::vector<Run>& runs) {
  ListByKey<&Case::key> cases;
  for (const Run& run : runs) {
    if (!run.turns) continue;
    cases[turns_key(run)].workers[run.turns->worker].runs.push_back(&run);
  }
  return cases.take();
}

std::optional<GroupEstimate> ratio_of(const std::vector<const Run*>& theirs, const std::vector<const Run*>& ours) {
  std::vector<std::vector<double>> groups;
  for (const Run* their : theirs)
    for (const Run* our : ours) {
      if (their->repetition != our->repetition) continue;
      const std::vector<double> above = turn_seconds(*their), below = turn_seconds(*our);
      std::vector<double>& ratios = groups.emplace_back();
      for (std::size_t i = 0; i < std::min(above.size(), below.size()); ++i) ratios.push_back(above[i] / below[i]);
      if (ratios.empty()) groups.pop_back();
    }
  return groups.empty() ? std::nullopt : std::optional(estimate_of_rounds(groups));
}

void add_fractions_of_peak(PeerRow& row, const std::vector<const Run*>& good) {
  double work = 0, possible = 0;
  std::vector<double> fractions;
  for (const Run* run : good) {
    const auto peak = run->turns->peak_flops_per_second;
    if (!peak) return;
    const double flops = run->workload.train_flops_per_sample * static_cast<double>(run->workload.batch);
    row.peak_flops_per_second = std::max(*peak, row.peak_flops_per_second.value_or(0));
    work += flops * static_cast<double>(run->timing->step_seconds.size());
    possible += *peak * run->timing->steps_total_seconds;
    for (const double seconds : turn_seconds(*run)) fractions.push_back(flops / *peak / seconds);
  }
  row.peak_fraction = work / possible;
  row.peak_fraction_of_median_step = median(std::move(fractions));
}

std::vector<const Run*> good_ones(const WorkerRuns* worker) {
  std::vector<const Run*> good;
  if (!worker) return good;
  for (const Run* run : worker->runs)
    if (run->status == RunStatus::ok && run->timing && !run->timing->step_seconds.empty()) good.push_back(run);
  return good;
}

PeerRow row_of(const WorkerRuns& worker, const WorkerRuns* ours) {
  const Run& first = *worker.runs.front();
  PeerRow row;
  row.model = first.workload.model;
  row.precision = first.precision;
  row.worker = worker.worker;
  row.batch = first.workload.batch;
  row.threads = first.device.threads;
  const std::vector<const Run*> good = good_ones(&worker);
  row.groups = std::ssize(good);
  row.loaded = any_disturbed(good);
  if (good.empty()) {
    row.message = std::string(name(first.status)) + (first.message ? ": " + *first.message : "");
    return row;
  }
  double samples = 0, seconds = 0;
  for (const Run* run : good) {
    row.rounds += std::ssize(turn_seconds(*run));
    samples += static_cast<double>(run->timing->step_seconds.size()) * static_cast<double>(run->workload.batch);
    seconds += run->timing->steps_total_seconds;
  }
  row.rate = samples / seconds;
  add_fractions_of_peak(row, good);
  if (!worker.ours()) row.ratio = ratio_of(good, good_ones(ours));
  return row;
}

}  // namespace

std::vector<double> turn_seconds(const Run& run) {
  const auto steps = static_cast<std::size_t>(run.turns->steps);
  const std::vector<double>& seconds = run.timing->step_seconds;
  std::vector<double> turns;
  for (std::size_t begin = 0; begin + steps <= seconds.size(); begin += steps) {
    double sum = 0;
    for (std::size_t i = begin; i < begin + steps; ++i) sum += seconds[i];
    turns.push_back(sum / static_cast<double>(steps));
  }
  return turns;
}

std::vector<PeerRow> peer_rows(const std::vector<Run>& runs) {
  std::vector<PeerRow> rows;
  for (const Case& one : cases_of(runs)) {
    const auto ours = std::ranges::find_if(one.workers, [](const WorkerRuns& worker) { return worker.ours(); });
    for (const WorkerRuns& worker : one.workers) rows.push_back(row_of(worker, ours == one.workers.end() ? nullptr : &*ours));
  }
  return rows;
}

std::vector<double> turn_log_ratios(const Repetitions& baseline, const Repetitions& contender) {
  std::vector<double> ratios;
  if (baseline.size() != contender.size()) return ratios;
  for (const Run* before : baseline) {
    const auto after = std::ranges::find(contender, before->repetition, &Run::repetition);
    if (after == contender.end() || !before->turns || !(*after)->turns || turns_key(*before) != turns_key(**after)) return {};
    const std::vector<double> old_turns = turn_seconds(*before), new_turns = turn_seconds(**after);
    std::vector<double> logs;
    for (std::size_t i = 0; i < std::min(old_turns.size(), new_turns.size()); ++i)
      logs.push_back(std::log(new_turns[i] / old_turns[i]));
    const auto middle = median_if_any(std::move(logs));
    if (!middle) return {};
    ratios.push_back(*middle);
  }
  return ratios;
}

std::optional<Estimate> turns_ratio(const Repetitions& baseline, const Repetitions& contender) {
  std::vector<double> ratios = turn_log_ratios(baseline, contender);
  if (ratios.empty()) return std::nullopt;
  for (double& ratio : ratios) ratio = std::exp(-ratio);
  return geometric_mean_estimate(ratios);
}

}  // namespace epochbench
