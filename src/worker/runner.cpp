#include "src/worker/runner.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <numeric>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "epochbench/op.h"
#include "src/base/numbers.h"

namespace epochbench {
namespace {

constexpr const char* kLearningRate = "learning_rate";  // the optimizer's variable

std::string loss_text(double loss) {
  return std::isnan(loss) ? "not a number" : std::isinf(loss) ? "infinite" : short_number(loss);
}

Usage difference(const Usage& before, const Usage& after) {
  Usage used;
  used.page_faults = after.page_faults - before.page_faults;
  used.own_cpu_seconds = after.own_cpu_seconds - before.own_cpu_seconds;
  if (before.busy_cpu_seconds && after.busy_cpu_seconds)
    used.busy_cpu_seconds = *after.busy_cpu_seconds - *before.busy_cpu_seconds;
  return used;
}

// Enough for a median, and no more than some seconds if steps are long. Odd, so that the median is one of them.
int profile_passes(const std::vector<double>& step_seconds) {
  constexpr double kFew = 3, kMany = 31, kSeconds = 3;
  if (step_seconds.empty()) return static_cast<int>(kFew);
  const double total = std::accumulate(step_seconds.begin(), step_seconds.end(), 0.0);
  const double step = std::max(total / static_cast<double>(step_seconds.size()), 1e-9);
  return static_cast<int>(std::clamp(kSeconds / step, kFew, kMany)) | 1;
}

}  // namespace

std::optional<double> parse_busy_seconds(const char* stat, double ticks_per_second) {
  // Guest time is part of user time already.
  unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
  if (std::sscanf(stat, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &iowait, &irq, &softirq,
                  &steal) != 8)
    return std::nullopt;
  const unsigned long long busy = user + nice + system + irq + softirq + steal;
  if (busy + idle + iowait == 0) return std::nullopt;  // a sandbox that counts nothing
  return static_cast<double>(busy) / ticks_per_second;
}

std::int64_t times_continued() {
  static std::atomic<std::int64_t> count{0};
  static const bool counting = [] {
    struct sigaction action {};
    action.sa_handler = [](int) { count.fetch_add(1, std::memory_order_relaxed); };
    action.sa_flags = SA_RESTART;
    return sigaction(SIGCONT, &action, nullptr) == 0;
  }();
  return counting ? count.load(std::memory_order_relaxed) : 0;
}

Usage read_usage() {
  static const int file = open("/proc/stat", O_RDONLY | O_CLOEXEC);
  static const double ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  Usage usage;
  char text[256];
  const ssize_t size = file < 0 ? -1 : pread(file, text, sizeof text - 1, 0);
  if (size > 0) {
    text[size] = '\0';
    usage.busy_cpu_seconds = parse_busy_seconds(text, ticks_per_second);
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  usage.page_faults = used.ru_minflt + used.ru_majflt;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  usage.own_cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  return usage;
}

Runner::Runner(Executable& executable, BatchSource& batches, Entry entry, Clock clock, UsageMeter meter, StepObserver observer,
               LearningRate learning_rate)
    : executable_(executable),
      batches_(batches),
      entry_(entry),
      clock_(std::move(clock)),
      meter_(std::move(meter)),
      observer_(std::move(observer)),
      learning_rate_(std::move(learning_rate)) {
  // Written once here, so that none of their pages is new in a timed loop.
  const auto most = static_cast<std::size_t>(max_steps());
  block_.step_seconds.resize(most);
  block_.loss.resize(most);
  records_.resize(most);
  wait_seconds_.resize(most);
}

void Runner::clear_block(std::int64_t count) {
  if (count < 1 || count > max_steps())
    throw std::invalid_argument("a block of " + std::to_string(count) + " steps; 1 to " + std::to_string(max_steps()) +
                                " are possible");
  block_.step_seconds.clear();
  block_.loss.clear();
  records_.clear();
  block_.stopped.clear();
  block_.samples = 0;
  block_.data_wait_seconds = block_.idle_seconds = 0;
  wait_seconds_.clear();
  way_seconds_ = 0;
  done_.store(0, std::memory_order_relaxed);
}

// Keeps copies, which later steps do not have, out of the timed steps.
void Runner::fill_slots() {
  if (filled_ || !executable_.asynchronous() || !batches_.resident()) return;
  for (InputSlot slot = 0; slot < kInputSlots; ++slot) executable_.submit(slot);
  executable_.synchronize();
  filled_ = true;
}

const StepBlock& Runner::take(std::int64_t count, bool counted) {
  clear_block(count);
  counted_ = counted;
  fill_slots();
  const Usage before = meter_();
  const std::int64_t continued = times_continued();
  const double begin = clock_();
  double observed = 0;
  if (executable_.asynchronous() && !observer_)
    take_queued(count);
  else
    observed = take_one_by_one(count);
  block_.wall_seconds = clock_() - begin - observed;
  executable_.drain(records_);
  if (executable_.asynchronous()) account_for_device();
  if (times_continued() != continued && block_.stopped.empty() && !block_.step_seconds.empty())
    block_.stopped.push_back(std::ranges::max_element(block_.step_seconds) - block_.step_seconds.begin());
  block_.harness_seconds = block_.wall_seconds - std::accumulate(block_.step_seconds.begin(), block_.step_seconds.end(), 0.0);
  block_.usage = difference(before, meter_());

  collect_losses(count);
  return block_;
}

const StepBlock& Runner::latencies(std::int64_t count) {
  clear_block(count);
  std::int64_t continued = times_continued();
  for (std::int64_t i = 0; i < count; ++i) {
    const BatchSource::Batch batch = batches_.next();
    const double start = clock_();
    executable_.submit(batch.slot);
    executable_.run(entry_);
    executable_.synchronize();
    const double end = clock_();
    done_.store(i + 1, std::memory_order_relaxed);
    batches_.release(batch.slot);
    if (const std::int64_t now = times_continued(); now != continued) {
      block_.stopped.push_back(i);
      continued = now;
    } else {
      block_.step_seconds.push_back(end - start);
    }
  }
  executable_.drain(records_);
  collect_losses(count);
  return block_;
}

// Sets the rate only if it differs from the previous step's, so that a constant rate costs nothing.
void Runner::run_step() {
  if (learning_rate_) {
    const auto rate = static_cast<float>(learning_rate_(scheduled_));
    if (rate != rate_) executable_.set(kLearningRate, rate);
    rate_ = rate;
    if (counted_) ++scheduled_;
  }
  executable_.run(entry_);
}

double Runner::take_one_by_one(std::int64_t count) {
  double observed = 0;
  std::int64_t continued = times_continued();
  for (std::int64_t i = 0; i < count; ++i) {
    const double start = clock_();
    const BatchSource::Batch batch = batches_.next();
    const double arrived = clock_();
    submit(batch);
    run_step();
    executable_.synchronize();
    const double end = clock_();
    if (const std::int64_t now = times_continued(); now != continued) {
      block_.stopped.push_back(i);
      continued = now;
    }
    if (observer_) {
      executable_.drain(records_);
      observer_(batch.slot, records_.at(static_cast<std::size_t>(i)).loss);
      observed += clock_() - end;
    }
    batches_.release(batch.slot);
    done_.store(i + 1, std::memory_order_relaxed);
    block_.samples += batch.samples;
    block_.step_seconds.push_back(end - start);
    block_.data_wait_seconds += arrived - start;
  }
  return observed;
}

// For the first batch only: later ones are transferred while the previous step runs.
void Runner::await_batch() {
  const double begin = clock_();
  executable_.synchronize();
  way_seconds_ = clock_() - begin;
}

// Keeps the device busy as long as a batch is available. A slot is released once its step is done.
void Runner::take_queued(std::int64_t count) {
  const int depth = batches_.resident() ? kQueuedResidentSteps : kQueuedSteps;
  std::array<InputSlot, kQueuedResidentSteps> queued{};
  const auto slot_of = [&](std::int64_t step) -> InputSlot& { return queued[static_cast<std::size_t>(step % depth)]; };
  for (std::int64_t i = 0; i < count; ++i) {
    const double start = clock_();
    const BatchSource::Batch batch = batches_.next();
    wait_seconds_.push_back(clock_() - start);
    submit(batch);
    if (i == 0 && batch.fresh && !filled_) await_batch();
    run_step();
    slot_of(i) = batch.slot;
    block_.samples += batch.samples;
    executable_.await(depth - 1);
    if (i < depth - 1) continue;
    batches_.release(slot_of(i - (depth - 1)));
    done_.store(i - (depth - 1) + 1, std::memory_order_relaxed);
  }
  executable_.synchronize();
  for (std::int64_t i = std::max<std::int64_t>(0, count - (depth - 1)); i < count; ++i) batches_.release(slot_of(i));
}

// Steps by the device's clock. Before the first one the device was idle, and the host's wait for data is added to that step.
// Later steps waited for data as long as the device was idle while the host waited, and then until the batch had arrived. The
// first batch's transfer counts as any other's would: as far as it is longer than a step.
void Runner::account_for_device() {
  if (observer_) {  // one by one, timed by the host
    for (std::size_t i = 0; i < records_.size() && i < block_.step_seconds.size(); ++i)
      block_.idle_seconds += std::max(0.0, block_.step_seconds[i] - records_[i].device_seconds) + records_[i].arrival_seconds;
    return;
  }
  for (std::size_t i = 0; i < records_.size() && i < wait_seconds_.size(); ++i) {
    const StepRecord& record = records_[i];
    const double wait = wait_seconds_[i], idle = i == 0 ? wait : record.idle_seconds;
    const double covered = i == 0 ? std::min(way_seconds_, record.device_seconds) : 0;
    const double arrival = record.arrival_seconds + (i == 0 ? way_seconds_ - covered : 0);
    block_.step_seconds.push_back(record.device_seconds + (i == 0 ? wait + way_seconds_ - covered : 0));
    block_.data_wait_seconds += std::min(wait, idle) + arrival;
    block_.idle_seconds += idle + arrival;
    block_.wall_seconds -= covered;
  }
}

void Runner::submit(const BatchSource::Batch& batch) {
  if (batch.fresh && !filled_)
    executable_.submit(batch.slot);
  else
    executable_.resubmit(batch.slot);
}

void Runner::collect_losses(std::int64_t count) {
  if (records_.size() != static_cast<std::size_t>(count))
    throw std::logic_error("the device reports " + std::to_string(records_.size()) + " steps of " + std::to_string(count));
  for (const StepRecord& record : records_) {
    if (entry_ == Entry::train) {
      if (!first_loss_) first_loss_ = record.loss;
      const double limit = kDivergedRatio * std::max(*first_loss_, 1.0);
      if (!std::isfinite(*first_loss_))
        throw Diverged("training diverged: the loss of the first step is " + loss_text(record.loss) +
                       ", before any weight was changed; check the initial weights (--init) and the data");
      if (!std::isfinite(record.loss) || record.loss > limit)
        throw Diverged("training diverged: the loss of step " + std::to_string(taken_) + " (from 0, warm-up included) is " +
                       loss_text(record.loss) + ", the first was " + loss_text(*first_loss_) +
                       "; try a smaller --learning-rate");
      block_.loss.push_back(record.loss);
    }
    ++taken_;
  }
}

Profile Runner::profile() {
  batches_.begin_training(0);
  const BatchSource::Batch batch = batches_.next();
  submit(batch);
  Profile profile;
  const int passes = profile_passes(block_.step_seconds);
  profile.passes = passes;
  for (const NodeTime& node : executable_.profile(entry_, passes))
    profile.nodes.push_back({node.name, name(node.op), node.implementation, node.seconds, node.flops, node.bytes, {}, {}, {}});
  batches_.release(batch.slot);
  return profile;
}

Evaluation Runner::evaluate(std::int64_t labels_per_sample) {
  records_.clear();
  batches_.begin_evaluation();
  Evaluation result;
  for (BatchSource::Batch batch = batches_.next(); batch.samples > 0; batch = batches_.next()) {
    submit(batch);
    executable_.run(Entry::evaluate);
    executable_.synchronize();
    batches_.release(batch.slot);
    result.samples += batch.samples;
  }
  executable_.drain(records_);
  if (result.samples == 0) throw std::runtime_error("the test split has no samples to evaluate");
  for (const StepRecord& record : records_) {
    result.accuracy += record.correct;
    result.loss += record.loss;
  }
  const auto labels = static_cast<double>(result.samples * labels_per_sample);
  result.accuracy /= labels;
  result.loss /= labels;
  return result;
}

}  // namespace epochbench
