#include "src/session/time_left.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/numbers.h"
#include "src/result/load.h"
#include "src/worker/warm_up_rule.h"

namespace epochbench {
namespace {

constexpr double kTypicalPeakShare = 0.6;       // that a step reaches
constexpr double kPeakShareOfPytorch = 0.4;     // likewise
constexpr double kStepOverheadSeconds = 1e-4;   // what a step of the smallest models takes
constexpr double kSetUpSeconds = 1;             // to start and compile in a process
constexpr double kPytorchSetUpSeconds = 6;      // to import it and build a model
constexpr double kInductorSeconds = 50;         // to compile a model before its code is in the cache on disk
constexpr double kTypicalShare = 0.25;          // of the most that a stopping rule allows
constexpr double kTypicalShareUnderLoad = 0.7;  // likewise, beside other processes
constexpr double kTypicalShareOfFalling = 0.9;  // likewise, for a target under a learning rate that falls
constexpr double kMinFree = 0.1;                // of the cores, whatever other processes take
constexpr double kFlopsPerCore = 1.2e11, kFlopsOfGpu = 3e13, kFlopsOfReference = 5e8;  // per second, of usual devices

double typical_peak(const CaseSpec& spec, int machine_threads) {
  switch (spec.device.kind) {
    case DeviceKind::cuda:
      return kFlopsOfGpu;
    case DeviceKind::reference:
      return kFlopsOfReference;
    case DeviceKind::cpu:
      break;
  }
  return kFlopsPerCore * spec.ranks * spec.threads.value_or(machine_threads);
}

// What decides how much earlier than its limit a rule stops.
std::string rule_of(const ExpectedCase& one) { return !one.stop.until ? "noise" : one.falls ? "falling until" : "until"; }

bool may_stop_early(const StopSpec& stop) { return stop.until || (!stop.steps && !stop.epochs && !stop.min_time_seconds); }

}  // namespace

void MeanDurations::add(const std::string& name, double seconds) {
  for (Sum* sum : {&by_name_[name], &all_}) {
    sum->seconds += seconds;
    ++sum->count;
  }
}

std::optional<double> MeanDurations::own(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second.seconds / static_cast<double>(found->second.count);
}

std::optional<double> MeanDurations::of(const std::string& name) const {
  if (const auto mean = own(name)) return mean;
  return all_.count > 0 ? std::optional(all_.seconds / static_cast<double>(all_.count)) : std::nullopt;
}

ExpectedCase expected_case(const PlannedCase& planned, std::optional<double> peak, int machine_threads,
                           std::optional<double> foreign_cores) {
  const CaseSpec& spec = planned.spec;
  ExpectedCase one;
  one.name = spec.name;
  const bool own = spec.framework == Framework::epochbench, compiles = !own && spec.compile != "eager";
  const std::string by = own ? "" : std::string("/") + name(spec.framework) + "/" + spec.compile;
  const std::string device = by + "/" + to_string(spec.device), where = device + "/" + name(spec.precision);
  one.kinds = {spec.model.name + where, spec.model.family->name + where, where, device};
  one.set_up_seconds = own ? kSetUpSeconds : kPytorchSetUpSeconds;
  one.first_seconds = compiles ? kInductorSeconds : 0;
  one.batch = spec.batch.value_or(1);
  if (peak && spec.device.kind == DeviceKind::cpu)
    *peak *= std::min(1.0, static_cast<double>(spec.ranks * spec.threads.value_or(1)) / machine_threads);
  one.step_seconds = kStepOverheadSeconds +
                     planned.flops_per_sample * static_cast<double>(one.batch) /
                         ((own ? kTypicalPeakShare : kPeakShareOfPytorch) * peak.value_or(typical_peak(spec, machine_threads)));
  if (spec.device.kind != DeviceKind::cuda && is_loaded(foreign_cores)) {
    one.loaded = true;
    one.step_seconds /= std::max(1 - *foreign_cores / machine_threads, kMinFree);
  }
  one.steps_per_epoch = planned.workload.samples_per_epoch / std::max<std::int64_t>(1, one.batch);
  one.warmup = spec.warmup ? spec.warmup : default_warm_up_steps(spec);
  one.stop = spec.stop;
  one.falls = spec.lr_schedule != Schedule::constant;
  one.queues = spec.device.kind == DeviceKind::cuda;
  one.latencies = spec.mode == Mode::forward;
  one.skipped = planned.obstacle.has_value();
  return one;
}

TimeLeft::TimeLeft(std::vector<ExpectedCase> cases, std::optional<double> budget_seconds, Clock clock)
    : cases_(std::move(cases)), budget_seconds_(budget_seconds), clock_(std::move(clock)), start_(clock_()) {}

void TimeLeft::begin(std::size_t index) {
  index_ = index;
  begun_ = index + 1;
  runs_ = true;
  began_ = clock_();
  progress_ = {};
  timing_began_.reset();
  tail_began_.reset();
}

void TimeLeft::update(const Progress& progress) {
  progress_ = progress;
  if (progress.steps > 0 && !timing_began_) timing_began_ = clock_();
  if (progress.phase == "latency" && !tail_began_) tail_began_ = clock_();
  learn_step();
}

// Learns how much longer the running case's steps take than expected, for cases like it.
void TimeLeft::learn_step() {
  const ExpectedCase& one = cases_[index_];
  if (progress_.rate <= 0 || one.step_seconds <= 0) return;
  const double step = static_cast<double>(one.batch) / progress_.rate;
  for (const std::string& kind : one.kinds) slower_[kind][one.name] = std::log(step / one.step_seconds);
}

void TimeLeft::end(bool ok) {
  runs_ = false;
  if (!ok) return;
  const ExpectedCase& one = cases_[index_];
  const double whole = std::max(0.0, clock_() - began_ - first_seconds(index_));
  whole_.add(one.name, whole);
  if (progress_.rate <= 0) return;
  const double step = step_seconds(one);
  const double timed = static_cast<double>(progress_.steps) * step;
  const double set_up = std::max(0.0, whole - timed - warm_up_seconds(one, step) - tail_seconds(one, step));
  for (const std::string& key : {one.name, one.kinds.back()}) set_up_.add(key, set_up);
  if (may_stop_early(one.stop)) share_.add(rule_of(one), std::min(1.0, timed / max_seconds(one, step)));
}

double TimeLeft::step_seconds(const ExpectedCase& one) const {
  for (const std::string& kind : one.kinds) {
    const auto found = slower_.find(kind);
    if (found == slower_.end()) continue;
    if (const auto own = found->second.find(one.name); own != found->second.end())
      return one.step_seconds * std::exp(own->second);
    double sum = 0;
    for (const auto& [name, log] : found->second) sum += log;
    return one.step_seconds * std::exp(sum / static_cast<double>(found->second.size()));
  }
  return one.step_seconds;
}

double TimeLeft::max_seconds(const ExpectedCase& one, double step_seconds) const {
  const StoppingLimits limits;
  if (one.stop.until) return static_cast<double>(one.stop.epochs.value_or(limits.epochs) * one.steps_per_epoch) * step_seconds;
  return std::max(limits.max_seconds, static_cast<double>(limits.steps_past_time) * step_seconds);
}

double TimeLeft::timed_seconds(const ExpectedCase& one, double step_seconds) const {
  if (may_stop_early(one.stop)) {
    const StoppingLimits limits;
    const double usual = one.stop.until && one.falls     ? kTypicalShareOfFalling
                         : !one.stop.until && one.loaded ? kTypicalShareUnderLoad
                                                         : kTypicalShare;
    const double most = max_seconds(one, step_seconds), share = share_.own(rule_of(one)).value_or(usual);
    if (one.stop.until) return share * most;
    const double min_seconds = one.queues ? limits.queue.min_seconds : limits.min_seconds;
    const double least = std::max(min_seconds, static_cast<double>(limits.min_steps) * step_seconds);
    return std::clamp(share * most, std::min(least, most), most);
  }
  if (one.stop.steps) return static_cast<double>(*one.stop.steps) * step_seconds;
  if (one.stop.epochs) return static_cast<double>(*one.stop.epochs * one.steps_per_epoch) * step_seconds;
  const double least = one.queues ? StoppingLimits{}.queue.min_seconds : step_seconds;
  return std::max({*one.stop.min_time_seconds, step_seconds, least});
}

double TimeLeft::warm_up_seconds(const ExpectedCase& one, double step_seconds) const {
  return one.warmup ? *one.warmup * step_seconds : std::max(WarmUpLimits{}.min_seconds, kDefaultWarmUpSteps * step_seconds);
}

double TimeLeft::tail_seconds(const ExpectedCase& one, double step_seconds) const {
  const StoppingLimits limits;
  if (!one.latencies) return 0;
  return std::max(static_cast<double>(limits.steps_past_time) * step_seconds,
                  std::min(limits.latency_seconds, static_cast<double>(limits.latency_steps) * step_seconds));
}

double TimeLeft::duration(std::size_t index) const {
  const ExpectedCase& one = cases_[index];
  if (one.skipped) return 0;
  if (const auto before = whole_.own(one.name)) return *before;
  const double step = step_seconds(one);
  const auto by_device = set_up_.own(one.kinds.back());
  return set_up_.own(one.name).value_or(by_device.value_or(one.set_up_seconds)) + first_seconds(index) +
         warm_up_seconds(one, step) + timed_seconds(one, step) + tail_seconds(one, step);
}

double TimeLeft::first_seconds(std::size_t index) const {
  const auto before = cases_.begin() + static_cast<std::ptrdiff_t>(index);
  const bool is_first =
      std::find_if(cases_.begin(), before, [&](const ExpectedCase& each) { return each.name == cases_[index].name; }) == before;
  return is_first ? cases_[index].first_seconds : 0;
}

double TimeLeft::of_case() const {
  if (!runs_) return 0;
  const ExpectedCase& one = cases_[index_];
  const double elapsed = clock_() - began_;
  if (!timing_began_ || (may_stop_early(one.stop) && whole_.own(one.name))) return std::max(0.0, duration(index_) - elapsed);
  const double step = step_seconds(one);
  if (tail_began_) return std::max(0.0, tail_seconds(one, step) - (clock_() - *tail_began_));
  const double taken = static_cast<double>(progress_.steps) * step, timed = timed_seconds(one, step);
  // A target that is not reached when it usually is may take until the last epoch.
  if (one.stop.until && taken > timed) return std::max(0.0, max_seconds(one, step) - taken) / 2 + tail_seconds(one, step);
  return std::max(0.0, timed - taken) + tail_seconds(one, step);
}

double TimeLeft::of_all() const {
  double seconds = of_case();
  for (std::size_t i = begun_; i < cases_.size(); ++i) seconds += duration(i);
  return budget_seconds_ ? std::min(seconds, std::max(0.0, *budget_seconds_ - (clock_() - start_))) : seconds;
}

std::string about_seconds(double seconds) {
  if (seconds < 30) return std::to_string(std::max(5LL, 5 * std::llround(seconds / 5))) + " s";
  if (seconds < 90) return std::to_string(10 * std::llround(seconds / 10)) + " s";
  if (seconds < 300) {  // a whole minute would be a third of it
    const long long halves = std::llround(seconds / 30);
    return std::to_string(halves / 2) + (halves % 2 != 0 ? ".5" : "") + " min";
  }
  if (seconds < 5400) return std::to_string(std::llround(seconds / 60)) + " min";
  return format_seconds(seconds);
}

}  // namespace epochbench
