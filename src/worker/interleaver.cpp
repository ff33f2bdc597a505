#include "src/worker/interleaver.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "src/base/statistics.h"
#include "src/machine/cgroup.h"
#include "src/machine/topology.h"
#include "src/worker/protocol.h"
#include "src/worker/stopping_rule.h"

namespace epochbench {
namespace {

constexpr std::chrono::milliseconds kPause{10};  // if threads spin: three times as long as they do

}  // namespace

void Participant::start(const InterleavedWorker& worker, const EnvironmentSettings& environment, const ProcessLimits& limits,
                        const std::function<bool()>& interrupted) {
  guarded([&] {
    conversation_ = std::make_unique<Conversation>(worker.command, environment, limits, interrupted);
    totals.ready = conversation_->prepare(worker.spec, worker.workload);
    conversation_->ask({{"command", "begin_epoch"}, {"epoch", 0}}, "epoch");
  });
}

void Participant::take_steps(std::int64_t count, bool timed) {
  guarded([&] {
    const char* command = timed ? "step" : "warm_up";
    const StepBlock block = from_message<StepBlock>(conversation_->ask({{"command", command}, {"steps", count}}, "steps"));
    if (block.step_seconds.size() != static_cast<std::size_t>(count)) throw ProtocolError("a block of another length");
    double sum = 0;
    for (const double seconds : block.step_seconds) sum += seconds;
    if (!(sum > 0)) throw ProtocolError("steps that took no time");
    if (timed) {
      totals.add_timed(block);
      turn_seconds.push_back(sum / static_cast<double>(count));
      return;
    }
    totals.add_warm_up(block);
    for (const double seconds : block.step_seconds)  // a coarse clock may give a step no time
      if (seconds > 0) fastest_seconds = std::min(seconds, fastest_seconds.value_or(seconds));
  });
}

void Participant::finish() {
  guarded([&] {
    totals.result = from_message<CaseResult>(conversation_->ask({{"command", "finish"}, {"profile", false}}, "result"));
    conversation_->await_exit();
  });
  release();
}

void Participant::end(RunStatus new_status, const std::string& new_message) {
  status = new_status;
  message = new_message;
  release();
}

void Participant::release() { conversation_.reset(); }

std::optional<double> Participant::median_turn_seconds() const {
  if (!running() || turn_seconds.empty()) return std::nullopt;
  return median(turn_seconds);
}

void Participant::guarded(const std::function<void()>& act) {
  if (!running()) return;
  if (const auto failure = failure_of(act)) end(failure->status, failure->message);
}

Interleaver::Interleaver(std::vector<InterleavedWorker> workers, InterleaverSettings settings,
                         std::function<bool()> interrupted)
    : workers_(std::move(workers)),
      settings_(std::move(settings)),
      interrupted_(std::move(interrupted)),
      participants_(workers_.size()),
      starts_(settings_.order.order_of_starts(workers_.size())) {
  environment_ = openmp_settings(workers_.front().spec.threads.value_or(0), topology(affinity_cpus()), cgroup_cpu_quota(),
                                 possible(settings_.pin));
  if (!settings_.spin) environment_ = sleeping_when_idle(std::move(environment_));
}

void Interleaver::start(std::size_t index) {
  participants_[index].start(workers_[index], environment_, settings_.process, interrupted_);
}

// Steps of each in turn, as in the rounds to come.
void Interleaver::warm_up(const std::function<bool()>& ends) {
  for (std::int64_t step = 0; step < std::max(1, workers_.front().spec.warmup.value_or(kDefaultWarmUpSteps)) && !ends(); ++step)
    for (const std::size_t index : starts_) participants_[index].take_steps(1, false);
  fix_turn_lengths();
}

// On a device that queues, a turn is a block that begins with an empty queue.
std::int64_t Interleaver::steps_per_turn(bool queues, double step_seconds) const {
  if (!queues) return calls_per_turn(settings_.turn_seconds, step_seconds, kBlockSteps);
  const QueueLimits queue;
  const double turn_seconds = std::max(settings_.turn_seconds, queue.block_seconds);
  return std::max(queue.min_block_steps, calls_per_turn(turn_seconds, step_seconds, kBlockSteps));
}

// From the fastest step so far, since other jobs can make any step longer.
void Interleaver::fix_turn_lengths() {
  std::optional<double> fastest;
  for (const Participant& participant : participants_)
    if (participant.fastest_seconds) fastest = std::min(*participant.fastest_seconds, fastest.value_or(1e300));
  for (Participant& participant : participants_) {
    const auto step = settings_.equal_steps ? fastest : participant.fastest_seconds;
    if (settings_.steps_per_turn)
      participant.steps_per_turn = *settings_.steps_per_turn;
    else if (step)
      participant.steps_per_turn = steps_per_turn(participant.totals.ready.asynchronous, *step);
  }
}

void Interleaver::take_rounds(const EnoughRounds& enough) {
  if (settings_.burst)
    burst_failure_ = failure_of([&] {
      burst_ = std::make_unique<Conversation>(settings_.burst->command, EnvironmentSettings{}, settings_.process, interrupted_);
    });
  bool lengths_fixed = false;
  std::vector<Turn> turns;
  for (Participant& participant : participants_)
    turns.emplace_back([&](bool timed) {
      if (timed && !std::exchange(lengths_fixed, true)) fix_turn_lengths();
      if (settings_.spin) std::this_thread::sleep_for(kPause);
      participant.take_steps(participant.steps_per_turn, timed);
    });
  if (burst_) turns.emplace_back([&](bool timed) { take_burst(timed); });
  const auto ended = [&](std::int64_t timed) {
    RoundsSoFar so_far{timed, 0};
    for (const Participant& participant : participants_) so_far.wall_seconds += participant.totals.wall_seconds();
    return !any_running() || enough(so_far);
  };
  orders_ = epochbench::take_rounds(settings_.order, turns, {settings_.dropped_rounds, ended});
  orders_.erase(orders_.begin(), orders_.begin() + std::min<std::ptrdiff_t>(settings_.dropped_rounds, std::ssize(orders_)));
  burst_.reset();
}

void Interleaver::take_burst(bool timed) {
  if (!burst_) return;
  const Json command = {{"command", "burst"},
                        {"protocol", kProtocolVersion},
                        {"precision", name(settings_.burst->precision)},
                        {"threads", settings_.burst->threads},
                        {"seconds", settings_.turn_seconds}};
  burst_failure_ = failure_of([&] {
    const auto peak = from_message<std::optional<double>>(burst_->ask(command, "burst"), "flops_per_second");
    if (timed && peak) bursts_.push_back(*peak);
  });
  if (burst_failure_) burst_.reset();
}

void Interleaver::finish(const std::function<bool()>& ends) {
  for (auto index = starts_.rbegin(); index != starts_.rend() && !ends(); ++index) participants_[*index].finish();
}

void Interleaver::run_alone(std::size_t index, std::int64_t steps) {
  participants_[index] = {};
  start(index);
  for (std::int64_t step = 0; step < steps && participants_[index].running(); ++step) participants_[index].take_steps(1, false);
  participants_[index].release();
}

bool Interleaver::any_running() const {
  return std::any_of(participants_.begin(), participants_.end(), [](const Participant& one) { return one.running(); });
}

}  // namespace epochbench
