// Tells the parent how far the answer to a command is while it is made, also when the thread that makes it waits for a device.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "src/worker/protocol.h"

namespace epochbench {

class ProgressReporter {
 public:
  // `send` is called by a thread of this object once per period while an answer is made.
  ProgressReporter(double period_seconds, std::function<void(const StepProgress&)> send);
  ~ProgressReporter();
  ProgressReporter(const ProgressReporter&) = delete;
  ProgressReporter& operator=(const ProgressReporter&) = delete;

  // While one lives, an answer is made. Once it is gone, nothing is sent. steps_done: how many steps of it are taken so far,
  // called by the other thread; empty if it takes none.
  class Answer {
   public:
    Answer(ProgressReporter& reporter, std::function<std::int64_t()> steps_done);
    ~Answer();
    Answer(const Answer&) = delete;
    Answer& operator=(const Answer&) = delete;

   private:
    ProgressReporter& reporter_;
  };

 private:
  void report();

  const double period_seconds_;
  const std::function<void(const StepProgress&)> send_;
  std::mutex mutex_;  // guards everything below, and is held while something is sent
  std::condition_variable changed_;
  std::optional<double> began_;  // the clock when the answer was begun; empty if none is made
  std::function<std::int64_t()> steps_done_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace epochbench
