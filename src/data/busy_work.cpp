#include "src/data/busy_work.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <time.h>

namespace epochbench {
namespace {

// The steps of MurmurHash3's finalizer (Appleby 2011), as a chain that a compiler cannot shorten.
void work(std::int64_t rounds) {
  std::uint64_t value = 1;
  for (std::int64_t i = 0; i < rounds; ++i) {
    value *= 0xff51afd7ed558ccdu;
    value ^= value >> 33;
  }
  asm volatile("" : : "r"(value));  // keeps the chain
}

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

double BusyWork::measured_rounds_per_second() {
  constexpr std::int64_t kRounds = 200'000;  // a third of a millisecond: long for the clock, short enough to run uninterrupted
  constexpr int kBursts = 20;
  double best = 0;
  for (int burst = 0; burst < kBursts; ++burst) {
    const double begin = thread_seconds();
    work(kRounds);
    const double seconds = thread_seconds() - begin;
    if (seconds > 0) best = std::max(best, static_cast<double>(kRounds) / seconds);
  }
  if (!(best > 0)) throw std::runtime_error("the CPU time of a thread does not advance, so no work can be calibrated");
  return best;
}

BusyWork::BusyWork(double seconds, double rounds_per_second) : rounds_(std::llround(seconds * rounds_per_second)) {
  if (!(seconds >= 0) || !(rounds_per_second >= 0))
    throw std::invalid_argument("busy work: seconds and rounds per second must be at least 0");
}

void BusyWork::operator()() const { work(rounds_); }

}  // namespace epochbench
