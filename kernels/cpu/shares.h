// How threads divide work that needs no order. Each part of a team's work consists of shares, neighbors in memory. A thread
// takes the shares of its own part in order, and then those that others have left, so that one on a slow or busy core holds up
// the team by a share, not by half of its part. A share computes the same, whichever thread takes it.
#pragma once

#include <cstdint>

namespace epochbench::cpu {

constexpr int kShares = 4;  // of a part; statistics are summed per share

// The shares of a part that were taken, in all rounds together. 0 before the first.
struct alignas(64) TakenShares {
  std::int64_t count;
};

// The next share of a part whose round ends at `end`, or -1.
static inline std::int64_t take_share(TakenShares& taken, std::int64_t end) {
  std::int64_t next = __atomic_load_n(&taken.count, __ATOMIC_RELAXED);
  while (next < end && !__atomic_compare_exchange_n(&taken.count, &next, next + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return next < end ? next : -1;
}

// Runs run(part * kShares + share) for every share that no other thread takes. taken: [team]. Returns once all shares of the
// round are taken, not done. round: 0, 1, ...
template <typename Run>
static inline void take_shares(TakenShares* taken, int team, std::int64_t round, int thread, Run run) {
  const std::int64_t begin = round * kShares, end = begin + kShares;
  for (int i = 0; i < team; ++i) {
    const int part = (thread + i) % team;
    for (std::int64_t next = take_share(taken[part], end); next >= 0; next = take_share(taken[part], end))
      run(part * kShares + static_cast<int>(next - begin));
  }
}

static inline void start_shares(TakenShares* taken, int team) {
  for (int part = 0; part < team; ++part) taken[part].count = 0;
}

}  // namespace epochbench::cpu
