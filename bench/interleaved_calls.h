// Calls, and bursts of the machine's peak, that take turns in rounds (src/base/rounds.h). Knows nothing about kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "src/base/clock.h"
#include "src/base/rounds.h"

namespace epochbench::bench {

double process_cpu_seconds();  // of all threads together

struct CallSettings {
  RoundOrder order;
  int rounds = 10;
  double turn_seconds = 0.02;    // a turn makes as many calls as fill it, at least one
  double pause_seconds = 0.005;  // before each turn: threads of the turn before may still spin
  Clock clock = &steady_seconds;
  Clock cpu_clock = &process_cpu_seconds;
  std::function<void(double)> sleep;  // seconds; empty: sleeps
};

struct CallTimes {
  std::vector<std::vector<double>> call_seconds;  // [call][round], of one call
  std::vector<std::vector<double>> busy_cores;    // [call][round], CPU seconds of all threads per second
  std::vector<std::vector<double>> bursts;        // [burst][round], what the burst returned
};

// Before the first round each call is made twice; the second one determines how many fill a turn. A turn of several calls
// begins with one more, untimed, which brings operands and threads back.
CallTimes interleave_calls(const std::vector<std::function<void()>>& calls, const std::vector<std::function<double()>>& bursts,
                           const CallSettings& settings);

}  // namespace epochbench::bench
