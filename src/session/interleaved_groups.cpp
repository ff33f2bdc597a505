#include "src/session/interleaved_groups.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "epochbench/gpu.h"
#include "src/analysis/peak_share.h"
#include "src/base/clock.h"
#include "src/base/errors.h"
#include "src/machine/environment.h"
#include "src/session/finished_run.h"
#include "src/session/machine.h"
#include "src/session/progress.h"
#include "src/session/result_keeper.h"
#include "src/session/resume.h"
#include "src/worker/case_driver.h"
#include "src/worker/interleaver.h"
#include "src/worker/launcher.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

PlannedCase in_group(PlannedCase planned, int group) {
  planned.spec.repetition = group;
  return planned;
}

// One group of processes of one case.
class Group {
 public:
  Group(const GroupsRequest& request, const std::vector<GroupWorker>& workers, int group, ProgressDisplay& display)
      : request_(request), all_(workers), group_(group), display_(display), name_(workers.front().planned.spec.name) {
    for (const GroupWorker& worker : workers)
      if (!worker.planned.obstacle) measured_.push_back(&worker);
  }

  // One run per worker.
  std::vector<Run> measure() {
    if (!measured_.empty()) {
      interleaver_.emplace(workers(), settings(), [this] { return interrupted() && !taking_rounds_; });
      take_turns();
    }
    std::vector<Run> runs;
    for (const GroupWorker& worker : all_) runs.push_back(run_of(worker));
    return runs;
  }

 private:
  const CaseSpec& spec() const { return all_.front().planned.spec; }

  std::vector<InterleavedWorker> workers() const {
    std::vector<InterleavedWorker> workers;
    for (const GroupWorker* worker : measured_)
      workers.push_back({worker->command, in_group(worker->planned, group_).spec, worker->planned.workload});
    return workers;
  }

  InterleaverSettings settings() const {
    InterleaverSettings settings;
    settings.order = {request_.order_seed, name_, static_cast<std::uint32_t>(group_)};
    settings.dropped_rounds = request_.dropped_rounds;
    settings.equal_steps = false;
    settings.pin = spec().bind == "no" ? Pinning::none : Pinning::cores;
    settings.spin = spec().wait == "spin";
    settings.burst = Burst{WorkerCommand::own(), product_precision(spec()), *spec().threads};
    settings.process.hung_seconds = request_.hung_seconds;
    return settings;
  }

  void take_turns() {
    const double begin = steady_seconds();
    for (const std::size_t index : interleaver_->order_of_starts()) {
      display_.note(note() + "prepare " + measured_[index]->label);
      interleaver_->start(index);
    }
    const auto ends = [] { return interrupted(); };
    interleaver_->warm_up(ends);
    taking_rounds_ = true;  // an interrupt takes effect only after a round, so that its turns count
    interleaver_->take_rounds([&](const RoundsSoFar& so_far) {
      rounds_ = so_far.timed;
      display_.note(note() + "round " + std::to_string(rounds_ + 1));
      return interrupted() || enough(so_far);
    });
    interleaver_->finish([] { return false; });
    seconds_ = steady_seconds() - begin;
    if (const auto& failure = interleaver_->burst_failure())
      print_error("the peak of this machine is not measured any more: " + failure->message);
  }

  bool enough(const RoundsSoFar& so_far) const {
    if (request_.rounds) return so_far.timed >= *request_.rounds;
    return so_far.timed >= kMinRounds && so_far.wall_seconds >= request_.min_time_seconds;
  }

  std::string note() const {
    return name_ + ": group " + std::to_string(group_ + 1) + "/" + std::to_string(request_.groups) + "; ";
  }

  Run run_of(const GroupWorker& worker) {
    Turns turns{.worker = worker.label,
                .dropped_rounds = request_.dropped_rounds,
                .order_seed = request_.order_seed,
                .bound = spec().bind != "no",
                .spinning = spec().wait == "spin"};
    const auto found = std::ranges::find(measured_, &worker);
    Run run;
    if (found == measured_.end()) {
      run = skipped_run(worker.planned, worker.planned.obstacle->reason);
    } else {
      run.device = planned_device(worker.planned.spec);
      fill(run, turns, interleaver_->participants()[static_cast<std::size_t>(found - measured_.begin())]);
    }
    const DeviceLimits limits{turns.peak_flops_per_second, std::nullopt};
    run.turns = std::move(turns);
    return finished_run(std::move(run), in_group(worker.planned, group_), limits, nullptr);
  }

  void fill(Run& run, Turns& turns, Participant& participant) {
    turns.steps = participant.steps_per_turn;
    turns.peak_bursts_flops_per_second = interleaver_->bursts();
    if (!turns.peak_bursts_flops_per_second.empty())
      turns.peak_flops_per_second = *std::ranges::max_element(turns.peak_bursts_flops_per_second);
    if (participant.totals.ready.compile_seconds) run.device = participant.totals.ready.device;
    if (interrupted() && rounds_ == 0) participant.end(RunStatus::interrupted, "interrupted before the first round ended");
    run.status = participant.status;
    if (!participant.message.empty()) run.message = participant.message;
    if (!participant.running()) return;
    participant.totals.fill(run, 0);
    run.timing->stopped_by = request_.rounds && rounds_ == *request_.rounds ? StopReason::steps : StopReason::time;
    run.timing->wall_seconds = seconds_;
    run.energy.emplace().reason = "no meter is read while processes take turns";
    if (interrupted()) run.message = "interrupted after " + std::to_string(rounds_) + " rounds, which count";
  }

  const GroupsRequest& request_;
  const std::vector<GroupWorker>& all_;
  const int group_;
  ProgressDisplay& display_;
  const std::string name_;
  std::vector<const GroupWorker*> measured_;
  std::optional<Interleaver> interleaver_;
  bool taking_rounds_ = false;
  std::int64_t rounds_ = 0;
  double seconds_ = 0;
};

// Turns belong together, so a group is measured whole or not at all.
bool is_kept(const std::vector<GroupWorker>& workers, int group, const std::vector<PlannedCase>& remaining) {
  return std::ranges::all_of(workers, [&](const GroupWorker& worker) {
    return worker.planned.obstacle || std::ranges::none_of(remaining, [&](const PlannedCase& left) {
             return left.spec.name == worker.planned.spec.name && left.spec.repetition == group;
           });
  });
}

std::vector<PlannedCase> planned_runs(const GroupsRequest& request) {
  std::vector<PlannedCase> planned;
  for (int group = 0; group < request.groups; ++group)
    for (const auto& workers : request.cases)
      for (const GroupWorker& worker : workers) planned.push_back(in_group(worker.planned, group));
  return planned;
}

}  // namespace

GroupsMeasurement measure_groups(const GroupsRequest& request) {
  refuse_several_copies();
  const std::vector<PlannedCase> planned = planned_runs(request);
  const bool resumes = request.resume && std::filesystem::exists(request.out);
  Resumed resumed = resume(resumes ? request.out : "", planned, false);
  Result& result = resumed.result;
  const Context earlier = std::exchange(result.context, describe_context(request.command_line));
  result.context.earlier_calls = calls_of(earlier);
  result.context.gpus = list_gpus();
  ResultKeeper keeper(ResultFile(request.out), false);
  catch_interrupts();
  ProgressDisplay display(planned.size(), request.quiet);
  GroupsMeasurement measurement;
  for (int group = 0; group < request.groups; ++group)
    for (const auto& workers : request.cases) {
      if (interrupted() || (resumes && is_kept(workers, group, resumed.remaining))) continue;
      std::vector<Run> runs = Group(request, workers, group, display).measure();
      for (std::size_t i = 0; i < runs.size(); ++i) {
        display.begin(runs[i].name);
        display.end(runs[i]);
        measurement.failed |= runs[i].status != RunStatus::ok && runs[i].status != RunStatus::skipped;
        replace_run(result, std::move(runs[i]), in_group(workers[i].planned, group), false);
      }
      use_best_peaks(result);
      keeper.save(result);
    }
  measurement.written = keeper.finish(result);
  display.clear();
  for (const PlannedCase& one : planned)
    for (const Run& run : result.runs)
      if (run.turns && run.name == one.spec.name && run.repetition == one.spec.repetition) measurement.runs.push_back(run);
  return measurement;
}

}  // namespace epochbench
