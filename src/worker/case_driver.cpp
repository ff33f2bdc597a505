// The parent's side of a case: asks its process for steps in blocks until the stopping rule has enough, and writes the run.
// What goes wrong over there becomes the run's status here; the caller goes on with the next case.
#include "src/worker/case_driver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <nlohmann/json.hpp>

#include "src/base/clock.h"
#include "src/base/short_number.h"
#include "src/base/statistics.h"
#include "src/machine/cgroup.h"
#include "src/machine/environment.h"
#include "src/machine/metering.h"
#include "src/worker/conversation.h"
#include "src/worker/latency.h"
#include "src/worker/usage.h"

namespace epochbench {
namespace {

using nlohmann::json;

Device device_of(const CaseSpec& spec) {
  Device device;
  device.backend = spec.device.substr(0, spec.device.find(':'));
  if (device.backend != "cuda") {
    device.name = cpu_info().model;
    device.threads = spec.threads;
  }
  return device;
}

Energy not_metered() {
  Energy energy;
  energy.reason = "the meters were off";
  return energy;
}

class Driver {
 public:
  Driver(const CaseSpec& spec, const std::function<void(const Progress&)>& progress, const DriverOptions& options,
         Conversation& conversation, Run& run)
      : spec_(spec), report_(progress), rule_(spec.stop, options.stopping), talk_(conversation), run_(run) {
    if (options.meters && spec.meters) metering_.emplace(*options.meters, spec.device);
  }

  void drive() {
    prepare();
    if (!rule_.whole_epochs() || spec_.warmup > 0) begin_epoch(0);
    warm_up();
    if (rule_.whole_epochs())
      measure_epochs();
    else
      measure_steps();
    if (spec_.mode == "forward") measure_latency();
    if (spec_.profile) {
      progress_.phase = "profile";
      show();
    }
    const json result = talk_.ask({{"command", "finish"}, {"profile", spec_.profile}}, "result");
    if (const json peak = result.value("peak_bytes", json()); !peak.is_null()) memory_.peak_bytes = peak;
    if (run_.device.backend != "cuda")
      if (const json huge = result.value("huge_page_bytes", json()); !huge.is_null()) memory_.huge_page_bytes = huge;
    if (run_.device.backend == "cuda") run_.gpu.emplace();
    if (const json& skipped = result.at("skipped_steps"); run_.gpu && !skipped.is_null()) run_.gpu->skipped_steps = skipped;
    talk_.farewell();
    fill_run();
    if (metering_)
      metering_->fill(run_);
    else
      run_.energy = not_metered();
    if (spec_.profile) run_.profile = profile_from_json(result.at("profile"));
  }

 private:
  void prepare() {
    progress_.phase = "compile";
    show();
    const json ready = talk_.ask({{"protocol", kProtocolVersion}, {"command", "prepare"}, {"case", to_json(spec_)}}, "ready");
    require_version(ready);
    run_.device = device_from_json(ready.at("device"));
    run_.input = input_from_json(ready.at("input"));
    timing_.compile_seconds = ready.at("compile_seconds");
    memory_.planned_bytes = ready.at("planned_bytes").get<std::int64_t>();
    samples_per_epoch_ = ready.at("samples_per_epoch");
    steps_per_epoch_ = ready.at("steps_per_epoch");
    evaluates_ = ready.at("evaluates");
    asynchronous_ = ready.at("asynchronous");
    if (ready.at("library_dropout_masks").get<bool>()) quality_.dropout_masks = "library";
    metric_ = spec_.stop.until ? spec_.stop.until->metric : ready.at("metric").get<std::string>();
    if (spec_.stop.until && !evaluates_)
      throw CaseEnded{RunStatus::failed, "--until needs a test split, which this data set or mode does not have"};
    if (rule_.whole_epochs() && steps_per_epoch_ < 1)
      throw CaseEnded{RunStatus::failed, "the training split has no whole batch: reduce --batch"};
  }

  void begin_epoch(std::int64_t epoch) { talk_.ask({{"command", "begin_epoch"}, {"epoch", epoch}}, "epoch"); }

  StepBlock block(const char* command, std::int64_t steps) {
    StepBlock block = block_from_json(talk_.ask({{"command", command}, {"steps", steps}}, "steps"));
    if (block.step_seconds.size() != static_cast<std::size_t>(steps)) throw ProtocolError("a block of another length");
    losses_.insert(losses_.end(), block.loss.begin(), block.loss.end());
    if (!block.loss.empty()) progress_.loss = block.loss.back();
    one_step_seconds_ = block.wall_seconds / static_cast<double>(steps);
    return block;
  }

  void warm_up() {
    progress_.phase = "warm up";
    show();
    for (std::int64_t left = spec_.warmup; left > 0;) {
      const std::int64_t steps = std::min(left, rule_.next_block(0, one_step_seconds_));
      block("warm_up", steps);
      left -= steps;
    }
    timing_.warmup_steps = spec_.warmup;
  }

  void timed_block(std::int64_t steps) {
    if (metering_) metering_->begin();
    const StepBlock block = this->block("step", steps);
    if (metering_) metering_->end(steps);
    step_seconds_.insert(step_seconds_.end(), block.step_seconds.begin(), block.step_seconds.end());
    samples_ += block.samples;
    data_wait_seconds_ += block.data_wait_seconds;
    idle_seconds_ += block.idle_seconds;
    harness_seconds_ += block.harness_seconds;
    wall_seconds_ += block.wall_seconds;
    page_faults_ += block.usage.page_faults;
    if (block.usage.busy_cpu_seconds)
      foreign_cpu_seconds_ += *block.usage.busy_cpu_seconds - block.usage.own_cpu_seconds;
    else
      foreign_known_ = false;
    const double total = std::accumulate(step_seconds_.begin(), step_seconds_.end(), 0.0);
    progress_.steps = taken();
    progress_.samples_per_second = total > 0 ? static_cast<double>(samples_) / total : 0;
  }

  void measure_steps() {
    progress_.phase = "measure";
    progress_.steps_planned = spec_.stop.steps;
    const double begin = steady_seconds();
    std::optional<StopReason> reason;
    while (!reason) {
      timed_block(rule_.next_block(taken(), one_step_seconds_));
      reason = rule_.after_steps(step_seconds_, steady_seconds() - begin);
      progress_.relative_noise = rule_.noise();
      show();
    }
    timing_.stopped_by = name(*reason);
    timing_.epoch_kind = "projected";
  }

  void measure_epochs() {
    progress_.steps_planned = rule_.epochs() * steps_per_epoch_;
    std::optional<StopReason> reason;
    std::int64_t epoch = 0;
    while (!reason) {
      progress_.phase = "measure";
      begin_epoch(++epoch);
      for (std::int64_t left = steps_per_epoch_; left > 0;) {
        const std::int64_t steps = std::min(left, rule_.next_block(taken(), one_step_seconds_));
        timed_block(steps);
        left -= steps;
        show();
      }
      reason = rule_.after_epoch(epoch, evaluate());
    }
    timing_.stopped_by = name(*reason);
    timing_.epoch_kind = "measured";
    epochs_ = epoch;
    if (spec_.stop.until && *reason != StopReason::until) {
      const auto& history = quality_.eval_history;
      const bool least = spec_.stop.until->metric == "loss";
      const double best =
          least ? *std::min_element(history.begin(), history.end()) : *std::max_element(history.begin(), history.end());
      run_.message = spec_.stop.until->metric + " " + short_number(spec_.stop.until->value) + " not reached in " +
                     std::to_string(epoch) + " epochs: the best was " + short_number(best) + ", the last " +
                     short_number(history.back());
    }
  }

  // After the timed steps, in a pass of its own, so that on every device a step waits for nothing but itself.
  void measure_latency() {
    progress_.phase = "latency";
    show();
    const double begin = steady_seconds();
    std::vector<double> seconds;
    const auto next_block = [&] {
      return rule_.next_latency_block(static_cast<std::int64_t>(seconds.size()), steady_seconds() - begin, one_step_seconds_);
    };
    for (std::int64_t steps = next_block(); steps > 0; steps = next_block()) {
      const std::vector<double> block = latencies_from_json(talk_.ask({{"command", "latency"}, {"steps", steps}}, "latencies"));
      if (block.size() != static_cast<std::size_t>(steps)) throw ProtocolError("a block of another length");
      seconds.insert(seconds.end(), block.begin(), block.end());
      show();
    }
    run_.latency = latency_of(std::move(seconds));
  }

  // The metric after an epoch: what --until asks for, else the data set's own. Unset where there is no test split.
  std::optional<double> evaluate() {
    if (!evaluates_) return std::nullopt;
    progress_.phase = "evaluate";
    show();
    const Evaluation evaluation = evaluation_from_json(talk_.ask({{"command", "evaluate"}}, "evaluation"));
    const double value = metric_ == "loss" ? evaluation.loss : evaluation.accuracy;
    if (!std::isfinite(value))
      throw CaseEnded{RunStatus::diverged,
                      "training diverged: the loss on the test split is no number; try a smaller --learning-rate"};
    quality_.eval_metric = metric_;
    quality_.eval_value = value;
    quality_.eval_history.push_back(value);
    progress_.eval_value = value;
    show();
    return value;
  }

  void fill_run() {
    const double total = std::accumulate(step_seconds_.begin(), step_seconds_.end(), 0.0), steps = static_cast<double>(taken());
    if (!(total > 0)) throw CaseEnded{RunStatus::failed, "the timed steps took no time"};
    const double rate = static_cast<double>(samples_) / total;
    timing_.step_seconds_median = median(step_seconds_);
    timing_.step_seconds_ci95 = median_interval(step_seconds_);
    timing_.steps_total_seconds = total;
    timing_.epoch_seconds = epochs_ > 0 ? total / static_cast<double>(epochs_) : static_cast<double>(samples_per_epoch_) / rate;
    if (asynchronous_)
      timing_.clock_disagreement = std::fabs(harness_seconds_) / total;
    else
      timing_.harness_seconds_per_step = harness_seconds_ / steps;
    timing_.step_seconds = std::move(step_seconds_);
    run_.timing = std::move(timing_);
    run_.throughput = Throughput{rate, std::nullopt};
    run_.efficiency = Efficiency{};
    run_.efficiency->data_wait_fraction = std::clamp(data_wait_seconds_ / total, 0.0, 1.0);
    if (asynchronous_) run_.efficiency->gpu_busy_fraction = std::clamp(1 - idle_seconds_ / total, 0.0, 1.0);
    memory_.page_faults_per_step = static_cast<double>(page_faults_) / steps;
    run_.memory = memory_;
    run_.interference = Interference{};
    if (foreign_known_ && wall_seconds_ >= kTellingSeconds)
      run_.interference->foreign_cpu_cores = std::max(0.0, foreign_cpu_seconds_ / wall_seconds_);
    if (!losses_.empty()) quality_.final_loss = losses_.back();
    quality_.loss = std::move(losses_);
    run_.quality = std::move(quality_);
  }

  std::int64_t taken() const { return static_cast<std::int64_t>(step_seconds_.size()); }

  void show() {
    progress_.elapsed_seconds = steady_seconds() - began_;
    if (report_) report_(progress_);
  }

  const CaseSpec& spec_;
  const std::function<void(const Progress&)>& report_;
  StoppingRule rule_;
  Conversation& talk_;
  Run& run_;
  std::optional<Metering> metering_;
  Progress progress_;
  const double began_ = steady_seconds();

  std::int64_t samples_per_epoch_ = 0, steps_per_epoch_ = 0, epochs_ = 0;
  bool evaluates_ = false, asynchronous_ = false;
  std::string metric_;
  std::optional<double> one_step_seconds_;  // of the last block: how long the next one may be
  std::vector<double> step_seconds_, losses_;
  std::int64_t samples_ = 0, page_faults_ = 0;
  double data_wait_seconds_ = 0, idle_seconds_ = 0, harness_seconds_ = 0, wall_seconds_ = 0, foreign_cpu_seconds_ = 0;
  bool foreign_known_ = true;
  Timing timing_;
  Memory memory_;
  Quality quality_;
};

}  // namespace

Run run_case(const CaseSpec& spec, const std::string& binary, const std::function<void(const Progress&)>& progress,
             const std::function<bool()>& interrupted, const DriverOptions& options) {
  const double began = steady_seconds();
  Run run;
  run.device = device_of(spec);
  const auto end_with = [&run](RunStatus status, const std::string& message) {
    run.status = status;
    run.message = message;
  };
  try {
    const EnvironmentSettings settings = openmp_settings(spec.threads, topology(affinity_cpus()), cgroup_cpu_quota(), spec.pin);
    Conversation conversation(binary, settings, options.process, interrupted);
    Driver(spec, progress, options, conversation, run).drive();
  } catch (const CaseEnded& ended) {
    end_with(ended.status, ended.message);
  } catch (const ProtocolError& error) {
    end_with(RunStatus::failed, std::string("the case's process sent ") + error.what());
  } catch (const json::exception& error) {
    end_with(RunStatus::failed, std::string("the case's process sent a message with wrong fields: ") + error.what());
  } catch (const std::exception& error) {
    end_with(RunStatus::failed, error.what());
  }
  if (run.timing) run.timing->wall_seconds = steady_seconds() - began;
  return run;
}

Run run_case(const CaseSpec& spec, const std::string& binary, const std::function<void(const Progress&)>& progress,
             const std::function<bool()>& interrupted, const MachineMeters* meters) {
  return run_case(spec, binary, progress, interrupted, DriverOptions{{}, {}, meters});
}

namespace {

// What the child answers to one command that calibrates. Its threads place themselves.
json calibration(const std::string& binary, json command, const char* answer) {
  const std::function<bool()> never;
  try {
    Conversation conversation(binary, {}, ProcessLimits{}, never);
    command["protocol"] = kProtocolVersion;
    json measured = conversation.ask(command, answer);
    conversation.farewell();
    return measured;
  } catch (const CaseEnded& ended) {
    throw std::runtime_error("the peaks of this machine were not measured: " + ended.message);
  }
}

}  // namespace

Peaks measure_peaks_in_child(const std::string& binary, int threads) {
  return peaks_from_json(calibration(binary, {{"command", "calibrate"}, {"threads", threads}}, "peaks"));
}

void measure_gpu_in_child(const std::string& binary, GpuInfo& gpu, int index) {
  read_measured(gpu, calibration(binary, {{"command", "calibrate_gpu"}, {"index", index}}, "gpu"));
}

}  // namespace epochbench
