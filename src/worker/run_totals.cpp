#include "src/worker/run_totals.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include "src/base/statistics.h"
#include "src/worker/conversation.h"
#include "src/worker/protocol.h"
#include "src/worker/usage.h"

namespace epochbench {
namespace {

using nlohmann::json;

template <class T>
std::optional<T> known(const json& message, const char* key) {
  const auto found = message.find(key);
  return found == message.end() || found->is_null() ? std::nullopt : std::optional(found->get<T>());
}

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

void RunTotals::add_ready(const json& ready) {
  require_version(ready);
  device = device_from_json(ready.at("device"));
  input = input_from_json(ready.value("input", json()));
  fingerprint = known<std::string>(ready, "fingerprint");
  compile_seconds = ready.at("compile_seconds").get<double>();
  planned_bytes = known<std::int64_t>(ready, "planned_bytes");
  samples_per_epoch_ = ready.value("samples_per_epoch", std::int64_t{0});
  asynchronous = ready.value("asynchronous", false);
  library_dropout_masks = ready.at("library_dropout_masks");
}

void RunTotals::add_warm_up(const StepBlock& block) {
  losses_.insert(losses_.end(), block.loss.begin(), block.loss.end());
  steps_ += static_cast<std::int64_t>(block.step_seconds.size());
}

void RunTotals::add_timed(const StepBlock& block) {
  add_warm_up(block);
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
}

void RunTotals::add_result(const json& result) {
  peak_bytes = known<std::int64_t>(result, "peak_bytes");
  huge_page_bytes = known<std::int64_t>(result, "huge_page_bytes");
  skipped_steps = known<std::int64_t>(result, "skipped_steps");
}

double RunTotals::samples_per_second() const {
  const double total = sum(step_seconds_);
  return total > 0 ? static_cast<double>(samples_) / total : 0;
}

std::optional<double> RunTotals::foreign_cpu_seconds() const {
  return foreign_known_ ? std::optional(foreign_cpu_seconds_) : std::nullopt;
}

void RunTotals::fill(Run& run, std::int64_t epochs) {
  const double total = sum(step_seconds_), steps = static_cast<double>(timed_steps());
  if (!(total > 0)) throw CaseEnded{RunStatus::failed, "the timed steps took no time"};
  const double rate = static_cast<double>(samples_) / total;
  const bool on_gpu = asynchronous || device.backend == "cuda";
  run.device = device;
  run.input = input;
  if (!run.timing) run.timing.emplace();
  Timing& timing = *run.timing;
  timing.compile_seconds = compile_seconds.value_or(0);
  timing.step_seconds = step_seconds_;
  timing.step_seconds_median = median(step_seconds_);
  timing.step_seconds_ci95 = median_interval(step_seconds_);
  timing.steps_total_seconds = total;
  timing.epoch_seconds = epochs > 0 ? total / static_cast<double>(epochs) : static_cast<double>(samples_per_epoch_) / rate;
  timing.epoch_kind = epochs > 0 ? "measured" : "projected";
  if (asynchronous)
    timing.clock_disagreement = std::fabs(harness_seconds_) / total;
  else
    timing.harness_seconds_per_step = harness_seconds_ / steps;
  run.throughput = Throughput{rate, std::nullopt};
  run.efficiency = Efficiency{};
  run.efficiency->data_wait_fraction = std::clamp(data_wait_seconds_ / total, 0.0, 1.0);
  if (asynchronous) run.efficiency->gpu_busy_fraction = std::clamp(1 - idle_seconds_ / total, 0.0, 1.0);
  run.memory = Memory{planned_bytes, peak_bytes, static_cast<double>(page_faults_) / steps, std::nullopt};
  if (!on_gpu) run.memory->huge_page_bytes = huge_page_bytes;
  if (on_gpu) {
    run.gpu.emplace();
    run.gpu->skipped_steps = skipped_steps;
  }
  run.interference = Interference{foreign_cores(foreign_cpu_seconds(), wall_seconds_)};
  if (!run.quality) run.quality.emplace();
  run.quality->loss = losses_;
  if (!losses_.empty()) run.quality->final_loss = losses_.back();
  if (library_dropout_masks) run.quality->dropout_masks = "library";
}

std::optional<double> foreign_cores(std::optional<double> foreign_cpu_seconds, double wall_seconds) {
  if (!foreign_cpu_seconds || wall_seconds < kTellingSeconds) return std::nullopt;
  return std::max(0.0, *foreign_cpu_seconds / wall_seconds);
}

}  // namespace epochbench
