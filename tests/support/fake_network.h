// Ranks that train over a network that is simulated message by message: each has a clock, a step is computing and then sums of
// buckets by a ring, and a message leaves when its sender and the one before it are done. No time passes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "src/result/result.h"

namespace epochbench::test {

struct FakeRanks {
  int ranks = 1;
  std::int64_t batch = 64;                                     // of all together
  double constant_seconds = 0.02, seconds_per_sample = 0.004;  // that each computes for
  int slow_rank = 1;
  double slow_factor = 1;
  std::vector<double> bucket_bytes = std::vector<double>(25, 4e6);
  double latency_seconds = 50e-6, bytes_per_second = 1e9;
  bool network = true;  // false: messages take no time
};

class FakeTraining {
 public:
  FakeTraining(const FakeRanks& made, int steps) : made_(made), clocks_(static_cast<std::size_t>(made.ranks)) {
    Ranks& sums = ranks_;
    sums.count = made.ranks;
    sums.step_seconds.resize(clocks_.size());
    sums.communication_seconds.resize(clocks_.size());
    for (int step = 0; step < steps; ++step) take_step();
    for (std::size_t rank = 0; rank < clocks_.size(); ++rank) {
      sums.step_seconds[rank] = clocks_[rank] / steps;
      sums.communication_seconds[rank] = sums.step_seconds[rank] - compute_seconds(rank);
    }
    const double n = made.ranks;
    sums.rounds = 2 * static_cast<double>(made.bucket_bytes.size());
    double bytes = 0;
    for (double bucket : made.bucket_bytes) bytes += bucket;
    sums.bus_bytes = 2 * bytes * (n - 1) / n;
  }

  double step_seconds() const { return *std::ranges::max_element(ranks_.step_seconds); }
  double samples_per_second() const { return static_cast<double>(made_.batch) / step_seconds(); }
  const Ranks& ranks() const { return ranks_; }

 private:
  double compute_seconds(std::size_t rank) const {
    const double samples = static_cast<double>(made_.batch) / made_.ranks;
    const double seconds = made_.constant_seconds + made_.seconds_per_sample * samples;
    return static_cast<int>(rank) == made_.slow_rank ? seconds * made_.slow_factor : seconds;
  }

  void take_step() {
    for (std::size_t rank = 0; rank < clocks_.size(); ++rank) clocks_[rank] += compute_seconds(rank);
    for (double bytes : made_.bucket_bytes)
      for (int phase = 0; phase < 2; ++phase)  // sums of shares, then their way to all
        for (int hop = 1; hop < made_.ranks; ++hop) pass_on(bytes / made_.ranks);
  }

  // Each rank sends to the next one and waits for the one before it.
  void pass_on(double bytes) {
    const double takes = made_.network ? made_.latency_seconds + bytes / made_.bytes_per_second : 0;
    const std::vector<double> begun = clocks_;
    for (std::size_t rank = 0; rank < clocks_.size(); ++rank)
      clocks_[rank] = std::max(begun[rank], begun[(rank + clocks_.size() - 1) % clocks_.size()]) + takes;
  }

  FakeRanks made_;
  std::vector<double> clocks_;
  Ranks ranks_;
};

}  // namespace epochbench::test
