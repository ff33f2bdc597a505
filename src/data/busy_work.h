// Work that occupies a core for a stated time: it simulates decoding that costs more than that of the available data.
//
// It does not sleep, since a sleeping thread leaves its core to the steps. It is a fixed number of dependent multiplications,
// not a loop until a clock is reached: if loader and steps share a core, or its frequency drops, it takes longer, as decoding
// does. It touches no memory.
#pragma once

#include <cstdint>

namespace epochbench {

class BusyWork {
 public:
  // Rounds per second of a thread's CPU time: the best of several short bursts, some milliseconds in total.
  static double measured_rounds_per_second();

  BusyWork(double seconds, double rounds_per_second);  // both at least 0

  void operator()() const;  // thread-safe
  std::int64_t rounds() const { return rounds_; }

 private:
  std::int64_t rounds_;
};

}  // namespace epochbench
