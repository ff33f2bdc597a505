#include "src/worker/progress_reporter.h"

#include <chrono>
#include <csignal>
#include <utility>

#include "src/base/clock.h"

namespace epochbench {

ProgressReporter::ProgressReporter(double period_seconds, std::function<void(const StepProgress&)> send)
    : period_seconds_(period_seconds), send_(std::move(send)), thread_([this] { report(); }) {}

ProgressReporter::~ProgressReporter() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

ProgressReporter::Answer::Answer(ProgressReporter& reporter, std::function<std::int64_t()> steps_done) : reporter_(reporter) {
  {
    const std::lock_guard lock(reporter_.mutex_);
    reporter_.began_ = steady_seconds();
    reporter_.steps_done_ = std::move(steps_done);
  }
  reporter_.changed_.notify_one();
}

ProgressReporter::Answer::~Answer() {
  const std::lock_guard lock(reporter_.mutex_);
  reporter_.began_.reset();
  reporter_.steps_done_ = nullptr;
}

void ProgressReporter::report() {
  sigset_t all;  // signals are for the other threads
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::unique_lock lock(mutex_);
  const auto idle = [&] { return !began_; };
  while (!stopped_) {
    changed_.wait(lock, [&] { return stopped_ || !idle(); });
    const std::optional<double> answer = began_;
    // An answer that is shorter than the period wakes nobody.
    changed_.wait_for(lock, std::chrono::duration<double>(period_seconds_), [&] { return stopped_; });
    if (stopped_ || !began_ || began_ != answer) continue;
    StepProgress progress;
    progress.steps = steps_done_ ? steps_done_() : 0;
    if (progress.steps > 0) progress.step_seconds = (steady_seconds() - *began_) / static_cast<double>(progress.steps);
    send_(progress);
  }
}

}  // namespace epochbench
