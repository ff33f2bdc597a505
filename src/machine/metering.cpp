#include "src/machine/metering.h"

#include <chrono>
#include <csignal>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/machine/environment.h"

namespace epochbench {
namespace {

std::chrono::steady_clock::time_point time_point(double seconds) {
  return std::chrono::steady_clock::time_point(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds)));
}

MeteredPart part_of(const MachineMeters::Meter& meter, std::optional<double> idle_watts) {
  return {meter.energy ? meter.energy->drawn() : Drawn{0, meter.obstacle}, idle_watts};
}

}  // namespace

Metering::Metering(const MachineMeters& meters, DeviceId device, int gpus, double period_seconds)
    : meters_(meters),
      period_seconds_(period_seconds),
      gpu_index_(device.kind == DeviceKind::cuda ? device.index : -1),
      cpu_(meters.cpu()) {
  if (gpu_index_ < 0) return;
  for (int i = 0; i < gpus; ++i) gpus_.push_back(meters.gpu(gpu_index_ + i));
  card_ = meters.card(gpu_index_);
}

std::vector<EnergyMeter*> Metering::energies() const {
  std::vector<EnergyMeter*> all;
  if (cpu_.energy) all.push_back(cpu_.energy.get());
  for (const auto& gpu : gpus_)
    if (gpu.energy) all.push_back(gpu.energy.get());
  return all;
}

bool Metering::reads_anything() const { return card_ || !energies().empty(); }

MeteredPart Metering::gpus_part() const {
  MeteredPart all = part_of(gpus_.front(), meters_.idle_watts(gpu_index_));
  for (std::size_t i = 1; i < gpus_.size(); ++i) {
    const MeteredPart one = part_of(gpus_[i], meters_.idle_watts(gpu_index_ + static_cast<int>(i)));
    all.drawn.joules += one.drawn.joules;
    if (!all.drawn.obstacle) all.drawn.obstacle = one.drawn.obstacle;
    all.idle_watts = all.idle_watts && one.idle_watts ? std::optional(*all.idle_watts + *one.idle_watts) : std::nullopt;
  }
  return all;
}

Metering::~Metering() { stop(); }

void Metering::begin() {
  const std::lock_guard lock(mutex_);
  const double now = steady_seconds();
  for (EnergyMeter* meter : energies()) meter->begin(now);
  blocks_.push_back({now, now, 0});
  open_ = true;
  if (!reads_anything()) return;
  if (now >= next_tick_seconds_) tick(now);
  if (!watcher_.joinable()) watcher_ = std::thread([this] { watch(); });
  changed_.notify_one();
}

void Metering::end(std::int64_t steps) {
  const std::lock_guard lock(mutex_);
  const double now = steady_seconds();
  for (EnergyMeter* meter : energies()) meter->advance(now);
  blocks_.back().end_seconds = now;
  blocks_.back().steps = steps;
  open_ = false;
}

void Metering::tick(double now) {
  for (EnergyMeter* meter : energies()) meter->advance(now);
  if (card_) samples_.push_back(card_->sample(now));
  next_tick_seconds_ = now + period_seconds_;
}

void Metering::watch() {
  sigset_t all;  // signals are for the other threads
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (!open_) {
      changed_.wait(lock);
      continue;
    }
    const double now = steady_seconds();
    if (now < next_tick_seconds_)
      changed_.wait_until(lock, time_point(next_tick_seconds_));
    else
      tick(now);
  }
}

void Metering::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
  if (watcher_.joinable()) watcher_.join();
}

void Metering::fill(Run& run) {
  stop();
  MeteredSteps metered;
  for (const TimedBlock& block : blocks_) metered.window_seconds += block.end_seconds - block.begin_seconds;
  metered.cpu = part_of(cpu_, meters_.idle_watts(-1));
  if (gpu_index_ >= 0) metered.gpu = gpus_part();
  metered.remarks = meters_.remarks(gpu_index_);
  metered.cpu_includes_memory = meters_.includes_memory();
  run.energy = energy_of(metered, run, cpu_info().cores);
  if (gpu_index_ < 0) return;
  if (!run.gpu) run.gpu.emplace();
  fill_state(*run.gpu, samples_, blocks_, run.timing->step_seconds, card_ && card_->has_default_power_limit());
  const std::string reason = card_ ? joined(card_->obstacles(), "; ") : gpus_.front().obstacle;
  if (!reason.empty()) run.gpu->reason = reason;
  // The device's own events describe each step, which is finer than samples.
  if (run.efficiency && !run.efficiency->gpu_busy_fraction) run.efficiency->gpu_busy_fraction = run.gpu->utilization;
}

}  // namespace epochbench
