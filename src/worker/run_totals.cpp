#include "src/worker/run_totals.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <utility>

#include "src/base/statistics.h"
#include "src/worker/conversation.h"

namespace epochbench {
namespace {

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

std::optional<std::int64_t> shorten(std::vector<double>& series, std::size_t most) {
  if (series.size() <= most) return std::nullopt;
  const auto left_out = static_cast<std::int64_t>(series.size() - most);
  series.resize(most);
  series.shrink_to_fit();
  return left_out;
}

}  // namespace

void RunTotals::add_any(const StepBlock& block) {
  losses_.insert(losses_.end(), block.loss.begin(), block.loss.end());
  steps_ += std::ssize(block.step_seconds);
}

void RunTotals::add_warm_up(const StepBlock& block) {
  add_any(block);
  warm_up_steps_ += std::ssize(block.step_seconds);
}

void RunTotals::add_timed(StepBlock block) {
  add_any(block);
  const std::int64_t first = timed_steps() + std::ssize(stopped_steps_);
  for (const std::int64_t step : block.stopped) {
    if (step < 0 || step >= std::ssize(block.step_seconds)) throw ProtocolError("a stopped step that is not in its block");
    stopped_steps_.push_back(first + step);
  }
  for (const std::int64_t step : std::views::reverse(block.stopped)) {
    const auto place = block.step_seconds.begin() + step;
    block.wall_seconds -= *place;
    block.samples -= block.samples / std::ssize(block.step_seconds);
    block.step_seconds.erase(place);
  }
  step_seconds_.insert(step_seconds_.end(), block.step_seconds.begin(), block.step_seconds.end());
  samples_ += block.samples;
  data_wait_seconds_ += block.data_wait_seconds;
  idle_seconds_ += block.idle_seconds;
  harness_seconds_ += block.harness_seconds;
  wall_seconds_ += block.wall_seconds;
  page_faults_ += block.usage.page_faults;
  own_cpu_seconds_ += block.usage.own_cpu_seconds;
  if (block.usage.busy_cpu_seconds)
    busy_cpu_seconds_ += *block.usage.busy_cpu_seconds;
  else
    busy_known_ = false;
}

double RunTotals::rate() const {
  const double total = sum(step_seconds_);
  return total > 0 ? static_cast<double>(samples_) / total : 0;
}

std::optional<double> RunTotals::foreign_cpu_seconds() const {
  // Counters that miss what this process took, as in some sandboxes, miss what others took. They advance in ticks.
  constexpr double kCoarseness = 0.1;
  const bool counts = busy_cpu_seconds_ >= own_cpu_seconds_ / 2 - kCoarseness;
  return busy_known_ && counts ? std::optional(busy_cpu_seconds_ - own_cpu_seconds_) : std::nullopt;
}

void RunTotals::fill(Run& run, std::int64_t epochs) {
  const double total = sum(step_seconds_), steps = static_cast<double>(timed_steps());
  if (!(total > 0)) throw CaseEnded{RunStatus::failed, "the timed steps took no time"};
  const bool asynchronous = ready.asynchronous, on_gpu = asynchronous || ready.device.backend == BackendKind::cuda;
  run.device = ready.device;
  run.input = ready.input;
  if (run.input) {
    run.input->left_out_images = result.left_out_images;
    run.input->decode_cpu_seconds = result.decode_cpu_seconds;
    run.input->decode_wall_seconds = result.decode_wall_seconds;
  }
  if (!run.timing) run.timing.emplace();
  Timing& timing = *run.timing;
  timing.warmup_steps = static_cast<int>(warm_up_steps_);
  timing.compile_seconds = ready.compile_seconds.value_or(0);
  timing.step_seconds = step_seconds_;
  timing.step_seconds_median = median(step_seconds_);
  timing.step_seconds_ci95 = median_interval(step_seconds_);
  timing.steps_total_seconds = total;
  const double whole =
      total * (1 + static_cast<double>(stopped_steps_.size()) / steps);  // with stopped ones of the mean length
  timing.epoch_seconds =
      epochs > 0 ? whole / static_cast<double>(epochs) : static_cast<double>(ready.samples_per_epoch) / rate();
  timing.stopped_steps = stopped_steps_;
  timing.epoch_kind = epochs > 0 ? EpochKind::measured : EpochKind::projected;
  if (asynchronous)
    timing.clock_disagreement = std::fabs(harness_seconds_) / total;
  else
    timing.harness_seconds_per_step = harness_seconds_ / steps;
  run.throughput = Throughput{rate(), std::nullopt};
  run.efficiency = Efficiency{};
  run.efficiency->data_wait_fraction = std::clamp(data_wait_seconds_ / total, 0.0, 1.0);
  if (asynchronous) run.efficiency->gpu_busy_fraction = std::clamp(1 - idle_seconds_ / total, 0.0, 1.0);
  run.memory = Memory{ready.planned_bytes, result.peak_bytes, static_cast<double>(page_faults_) / steps, std::nullopt};
  run.ranks = result.ranks;
  if (!on_gpu) run.memory->huge_page_bytes = result.huge_page_bytes;
  if (on_gpu) {
    run.gpu.emplace();
    run.gpu->skipped_steps = result.skipped_steps;
  }
  run.interference = Interference{foreign_cores(foreign_cpu_seconds(), wall_seconds_)};
  if (!run.quality) run.quality.emplace();
  run.quality->loss = losses_;
  if (!losses_.empty()) run.quality->final_loss = losses_.back();
  if (ready.library_dropout_masks) run.quality->dropout_masks = "library";
}

void shorten_series(Run& run, std::size_t most) {
  if (run.timing) run.timing->step_seconds_left_out = shorten(run.timing->step_seconds, most);
  if (run.quality) run.quality->loss_left_out = shorten(run.quality->loss, most);
  if (run.latency) run.latency->step_seconds_left_out = shorten(run.latency->step_seconds, most);
  if (!run.gpu || !run.gpu->throttled_step_ranges) return;
  const auto end = static_cast<std::int64_t>(most);  // ranges are limited to the steps that are kept
  std::erase_if(*run.gpu->throttled_step_ranges, [&](const auto& range) { return range.first >= end; });
  for (auto& range : *run.gpu->throttled_step_ranges) range.second = std::min(range.second, end - 1);
}

std::optional<double> foreign_cores(std::optional<double> foreign_cpu_seconds, double wall_seconds) {
  if (!foreign_cpu_seconds || wall_seconds < kTellingSeconds) return std::nullopt;
  return std::max(0.0, *foreign_cpu_seconds / wall_seconds);
}

Latency latency_of(std::vector<double> step_seconds) {
  if (step_seconds.empty()) throw std::invalid_argument("latencies of no steps");
  std::vector<double> sorted = step_seconds;
  std::sort(sorted.begin(), sorted.end());
  const auto quantile_of = [&](double q, std::size_t least) {
    return sorted.size() < least ? std::nullopt : std::optional(quantile(sorted, q));
  };
  Latency latency;
  latency.samples = static_cast<std::int64_t>(sorted.size());
  latency.p50_seconds = quantile_of(0.5, 2);
  latency.p90_seconds = quantile_of(0.9, 10);
  latency.p99_seconds = quantile_of(0.99, 100);
  latency.worst_seconds = sorted.back();
  latency.step_seconds = std::move(step_seconds);
  return latency;
}

}  // namespace epochbench
