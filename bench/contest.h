// Taking turns: several calls and bursts of the machine's peaks, one after the other in an order drawn anew every round, so
// that what else the machine does weighs on all of them alike. It knows no kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "src/base/clock.h"

namespace epochbench::bench {

double process_cpu_seconds();  // of all threads together

struct ContestOptions {
  int rounds = 10;
  double turn_seconds = 0.02;   // a turn is as many calls as fill it, at least one
  double calm_seconds = 0.005;  // before each turn: threads of the one before may spin for a while
  std::uint64_t seed = 0;
  Clock clock = &steady_seconds;
  Clock cpu_clock = &process_cpu_seconds;
  std::function<void(double)> sleep;  // seconds
};

struct Turns {
  std::vector<std::vector<double>> call_seconds;  // [call][round], of one call
  std::vector<std::vector<double>> busy_cores;    // [call][round], CPU seconds of all threads a second
  std::vector<std::vector<double>> bursts;        // [burst][round], what the burst returned
};

// Before the first round each call is made twice: the second says how many fill a turn. A call that is shorter than a turn
// is made once more at the turn's beginning, untimed, to bring operands and threads back.
Turns take_turns(const std::vector<std::function<void()>>& calls, const std::vector<std::function<double()>>& bursts,
                 const ContestOptions& options);

}  // namespace epochbench::bench
