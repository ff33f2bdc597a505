// Work that takes a core a stated time: it stands in for decoding that costs more than that of the data at hand.
//
// It is no sleep, since a thread that sleeps leaves its core to the steps. And it is so many multiplications, each waiting for
// the one before, not a loop until a clock says that it is enough: where loader and steps share a core, or its frequency
// falls, it takes longer, as decoding does. It touches no memory.
#pragma once

#include <cstdint>

namespace epochbench {

class BusyWork {
 public:
  // How many rounds a thread makes in a second, of CPU time: the best of several short bursts, some milliseconds in all.
  static double measured_rounds_per_second();

  BusyWork(double seconds, double rounds_per_second);  // neither is negative

  void operator()() const;  // thread-safe
  std::int64_t rounds() const { return rounds_; }

 private:
  std::int64_t rounds_;
};

}  // namespace epochbench
