// The parent's side of a case: asks its process for blocks of steps until the stopping rule is satisfied, and fills in the run.
// A failure of the process becomes the run's status; the caller continues with the next case.
#include "src/worker/case_driver.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/clock.h"
#include "src/base/numbers.h"
#include "src/base/statistics.h"
#include "src/machine/cgroup.h"
#include "src/machine/environment.h"
#include "src/machine/metering.h"
#include "src/worker/conversation.h"
#include "src/worker/launcher.h"
#include "src/worker/protocol.h"
#include "src/worker/run_totals.h"
#include "src/worker/warm_up_rule.h"

namespace epochbench {
namespace {

static_assert(QueueLimits{}.block_steps == kQueuedBlockSteps && WarmUpLimits{}.block_steps == kQueuedBlockSteps &&
              StoppingLimits{}.block_steps == kBlockSteps);

Energy without_energy(const char* reason) {
  Energy energy;
  energy.reason = reason;
  return energy;
}

WarmUpRule warm_up_of(const CaseSpec& spec) {
  const auto steps = spec.warmup ? spec.warmup : default_warm_up_steps(spec);
  return steps ? WarmUpRule::of_steps(*steps) : WarmUpRule::by_time();
}

class Driver {
 public:
  Driver(const CaseSpec& spec, const std::function<void(const Progress&)>& progress, const DriverOptions& options,
         Conversation& conversation, Run& run)
      : spec_(spec),
        report_(progress),
        rule_(spec.stop, options.stopping),
        warm_up_(warm_up_of(spec)),
        talk_(conversation),
        run_(run) {
    workload_ = options.workload;
    gpu_ = options.gpu;
    if (options.meters && spec.meters) metering_.emplace(*options.meters, spec.device, spec.ranks);
  }

  void drive() {
    if (report_)
      talk_.set_progress([this](const StepProgress& block) {
        progress_.steps = taken() + block.steps;
        progress_.step_seconds = block.step_seconds;
        show();
      });
    try {
      run_phases();
    } catch (CaseEnded& ended) {
      if (ended.status == RunStatus::interrupted)
        ended.message = "after " + format_seconds(steady_seconds() - began_) + ", in the phase \"" + progress_.phase + '"';
      if (ended.status == RunStatus::interrupted || ended.status == RunStatus::failed) keep_timed(ended);
      throw;
    }
  }

 private:
  void run_phases() {
    prepare();
    prepared_ = steady_seconds();
    if (!rule_.whole_epochs() || spec_.warmup != 0) begin_epoch(0);
    warm_up();
    if (rule_.whole_epochs())
      measure_epochs();
    else
      measure_steps();
    if (spec_.mode == Mode::forward) {
      measure_latency();
      if (eval_history_.empty()) evaluate();
    }
    if (spec_.profile) {
      progress_.phase = "profile";
      show();
    }
    totals_.result = from_message<CaseResult>(talk_.ask({{"command", "finish"}, {"profile", spec_.profile}}, "result"));
    talk_.await_exit();
    fill_run();
    if (metering_)
      metering_->fill(run_);
    else
      run_.energy = without_energy("the meters were off");
    run_.profile = totals_.result.profile;
    if (totals_.result.unwritten) run_.message = std::string(kUnwritten) + *totals_.result.unwritten;
    shorten_series(run_);
  }

  // What was measured before the case ended.
  void keep_timed(CaseEnded& ended) {
    if (!(totals_.rate() > 0)) return;
    stopped_by_ = ended.status == RunStatus::interrupted ? StopReason::interrupted : StopReason::failed;
    fill_run();
    ended.message += "; " + counted(static_cast<std::size_t>(taken()), "step was", "steps were") + " timed, the median " +
                     format_seconds(run_.timing->step_seconds_median);
    run_.energy = without_energy("the run did not end");
    shorten_series(run_);
  }

  void prepare() {
    progress_.phase = "compile";
    show();
    const Ready& ready = totals_.ready = talk_.prepare(spec_, workload_);
    // When a GPU disappears, those after it may take its place.
    if (!gpu_.empty() && ready.device.name != gpu_)
      throw CaseEnded{RunStatus::failed, to_string(spec_.device) + " was \"" + gpu_ + "\" when this call began, and is \"" +
                                             ready.device.name + "\" here: GPUs have disappeared or changed their order"};
    run_.device = ready.device;
    run_.input = ready.input;
    if (ready.asynchronous) rule_.set_queues();
    metric_ = spec_.stop.until ? spec_.stop.until->metric : ready.metric;
    if (spec_.stop.until && !ready.evaluates)
      throw CaseEnded{RunStatus::failed, "--until needs a test split, which this data set or mode does not have"};
    if (rule_.whole_epochs() && ready.steps_per_epoch < 1)
      throw CaseEnded{RunStatus::failed, "the training split has no whole batch: reduce --batch"};
  }

  void begin_epoch(std::int64_t epoch) { talk_.ask({{"command", "begin_epoch"}, {"epoch", epoch}}, "epoch"); }

  StepBlock block(const char* command, std::int64_t steps) {
    StepBlock block = from_message<StepBlock>(talk_.ask({{"command", command}, {"steps", steps}}, "steps"));
    if (block.step_seconds.size() != static_cast<std::size_t>(steps)) throw ProtocolError("a block of another length");
    if (!block.loss.empty()) progress_.loss = block.loss.back();
    one_step_seconds_ = block.wall_seconds / static_cast<double>(steps);
    progress_.step_seconds.reset();
    return block;
  }

  void warm_up() {
    progress_.phase = "warm up";
    show();
    while (const std::int64_t steps = warm_up_.next_block(rule_, one_step_seconds_)) {
      const StepBlock warm = block("warm_up", steps);
      totals_.add_warm_up(warm);
      warm_up_.after_block(warm.step_seconds);
    }
  }

  void timed_block(std::int64_t steps) {
    if (metering_) metering_->begin();
    const StepBlock block = this->block("step", steps);
    if (metering_) metering_->end(steps);
    totals_.add_timed(block);
    progress_.steps = taken();
    progress_.rate = totals_.rate();
  }

  void measure_steps() {
    progress_.phase = "measure";
    progress_.steps = 0;
    progress_.steps_planned = spec_.stop.steps;
    const double begin = steady_seconds();
    std::optional<StopReason> reason;
    while (!reason) {
      timed_block(rule_.next_block(taken(), one_step_seconds_));
      reason = rule_.after_steps(totals_.step_seconds(), steady_seconds() - begin);
      progress_.relative_noise = rule_.noise();
      show();
    }
    stopped_by_ = *reason;
  }

  void measure_epochs() {
    progress_.steps_planned = rule_.epochs() * totals_.ready.steps_per_epoch;
    std::optional<StopReason> reason;
    std::int64_t epoch = 0;
    while (!reason) {
      progress_.phase = "measure";
      begin_epoch(++epoch);
      for (std::int64_t left = totals_.ready.steps_per_epoch; left > 0;) {
        const std::int64_t steps = rule_.block_of(left, one_step_seconds_);
        timed_block(steps);
        left -= steps;
        show();
      }
      reason = rule_.after_epoch(epoch, evaluate());
    }
    stopped_by_ = *reason;
    epochs_ = epoch;
    if (spec_.stop.until && *reason != StopReason::until) {
      const auto& history = eval_history_;
      const bool least = spec_.stop.until->metric == EvalMetric::loss;
      const double best =
          least ? *std::min_element(history.begin(), history.end()) : *std::max_element(history.begin(), history.end());
      run_.message = name(spec_.stop.until->metric) +
                     (" " + short_number(spec_.stop.until->value) + " not reached in " + std::to_string(epoch) +
                      " epochs: the best was " + short_number(best) + ", the last " + short_number(history.back()));
    }
  }

  // After the timed steps, in a separate pass, so that on every device a step waits only for itself.
  void measure_latency() {
    progress_.phase = "latency";
    show();
    const double begin = steady_seconds();
    std::vector<double> seconds;
    std::int64_t stopped = 0;
    const auto next_block = [&] {
      return rule_.next_latency_block(static_cast<std::int64_t>(seconds.size()), steady_seconds() - begin, one_step_seconds_);
    };
    for (std::int64_t steps = next_block(); steps > 0; steps = next_block()) {
      const Json answer = talk_.ask({{"command", "latency"}, {"steps", steps}}, "latencies");
      const auto block = from_message<std::vector<double>>(answer, "seconds");
      const std::int64_t stopped_now = answer.contains("stopped") ? from_message<std::int64_t>(answer, "stopped") : 0;
      if (std::ssize(block) + stopped_now != steps) throw ProtocolError("a block of another length");
      seconds.insert(seconds.end(), block.begin(), block.end());
      stopped += stopped_now;
      show();
    }
    run_.latency = latency_of(std::move(seconds));
    if (stopped > 0) run_.latency->stopped_steps = stopped;
  }

  // The metric after an epoch: what --until asks for, else the data set's own. Unset if nothing is evaluated.
  std::optional<double> evaluate() {
    if (!totals_.ready.evaluates) return std::nullopt;
    progress_.phase = "evaluate";
    show();
    const double begin = steady_seconds();
    const auto evaluation = from_message<Evaluation>(talk_.ask({{"command", "evaluate"}}, "evaluation"));
    evaluated_ = steady_seconds();
    evaluation_seconds_ += evaluated_ - begin;
    const double value = metric_ == EvalMetric::loss ? evaluation.loss : evaluation.accuracy;
    if (!std::isfinite(value))
      throw CaseEnded{RunStatus::diverged,
                      spec_.mode == Mode::forward
                          ? "the loss on the test split is not a number; check the weights (--init)"
                          : "training diverged: the loss on the test split is not a number; try a smaller --learning-rate"};
    eval_history_.push_back(value);
    progress_.eval_value = value;
    show();
    return value;
  }

  void fill_run() {
    totals_.fill(run_, epochs_);
    run_.timing->warmup_settled = warm_up_.settled();
    run_.timing->stopped_by = stopped_by_;
    if (epochs_ > 0 && evaluated_ > 0 && totals_.ready.data_seconds) {
      run_.timing->training_seconds = *totals_.ready.data_seconds + evaluated_ - prepared_;
      run_.timing->evaluation_seconds = evaluation_seconds_;
    }
    if (!eval_history_.empty()) {
      run_.quality->eval_metric = metric_;
      run_.quality->eval_value = eval_history_.back();
      run_.quality->eval_history = std::move(eval_history_);
    }
  }

  std::int64_t taken() const { return totals_.timed_steps(); }

  void show() {
    progress_.elapsed_seconds = steady_seconds() - began_;
    if (report_) report_(progress_);
  }

  const CaseSpec& spec_;
  std::optional<Workload> workload_;
  std::string gpu_;
  const std::function<void(const Progress&)>& report_;
  StoppingRule rule_;
  WarmUpRule warm_up_;
  Conversation& talk_;
  Run& run_;
  std::optional<Metering> metering_;
  Progress progress_;
  const double began_ = steady_seconds();
  double prepared_ = 0, evaluated_ = 0, evaluation_seconds_ = 0;  // the clock when the case was ready and last evaluated

  RunTotals totals_;
  std::int64_t epochs_ = 0;
  EvalMetric metric_ = EvalMetric::accuracy;
  std::optional<double> one_step_seconds_;  // of the last block; decides the length of the next
  StopReason stopped_by_ = StopReason::steps;
  std::vector<double> eval_history_;
};

}  // namespace

Device planned_device(const CaseSpec& spec) {
  Device device;
  const bool own = spec.framework == Framework::epochbench, on_gpu = spec.device.kind == DeviceKind::cuda;
  device.backend = own ? backend_kind(spec.device.kind) : BackendKind::pytorch;
  device.name = on_gpu ? to_string(spec.device) : cpu_info().model;
  if (!on_gpu && spec.threads.value_or(0) > 0) device.threads = spec.threads;
  return device;
}

Run run_case(const CaseSpec& spec, const WorkerCommand& worker, const std::function<void(const Progress&)>& progress,
             const std::function<bool()>& interrupted, const DriverOptions& options) {
  const double began = steady_seconds();
  Run run;
  run.device = planned_device(spec);
  const auto failure = failure_of([&] {
    const bool alone = spec.ranks == 1;  // epochbench-mpi makes the settings of each rank
    const EnvironmentSettings settings =
        alone ? openmp_settings(spec.threads.value_or(0), topology(affinity_cpus()), cgroup_cpu_quota(), possible(spec.pin))
              : rank_settings(spec);
    const ProcessLimits limits = alone ? options.process : launcher_limits(options.process, spec);
    Conversation conversation(alone ? worker : launch_command(spec, options.process.hung_seconds), settings, limits,
                              interrupted);
    Driver(spec, progress, options, conversation, run).drive();
  });
  if (failure) {
    run.status = failure->status;
    run.message = failure->message;
  }
  if (run.timing) run.timing->wall_seconds = steady_seconds() - began;
  return run;
}

namespace {

// Sends a child process one calibration command. Its threads place themselves.
template <class Measured>
Measured measured_in_child(const WorkerCommand& worker, const Json& command, const char* answer) {
  const std::function<bool()> ends = interrupted;
  try {
    Conversation conversation(worker, {}, ProcessLimits{}, ends);
    auto measured = from_message<Measured>(conversation.ask(command, answer));
    conversation.await_exit();
    return measured;
  } catch (const CaseEnded& ended) {
    throw std::runtime_error("the peaks of this machine were not measured: " + ended.message);
  }
}

}  // namespace

MeasuredCpu measure_cpu_in_child(const WorkerCommand& worker, int threads) {
  return measured_in_child<MeasuredCpu>(
      worker, {{"command", "calibrate"}, {"protocol", kProtocolVersion}, {"threads", threads}}, "peaks");
}

MeasuredGpu measure_gpu_in_child(const WorkerCommand& worker, int index) {
  return measured_in_child<MeasuredGpu>(
      worker, {{"command", "calibrate_gpu"}, {"protocol", kProtocolVersion}, {"index", index}}, "gpu");
}

}  // namespace epochbench
