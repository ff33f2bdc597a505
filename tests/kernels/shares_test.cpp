#include "kernels/cpu/shares.h"

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

namespace epochbench::cpu {
namespace {

std::vector<int> taken_by(TakenShares* taken, int team, std::int64_t round, int thread) {
  std::vector<int> shares;
  take_shares(taken, team, round, thread, [&](int share) { shares.push_back(share); });
  return shares;
}

TEST(Shares, AThreadTakesItsOwnFirstAndThenThoseOfThreadsThatAreLate) {
  TakenShares taken[3];
  start_shares(taken, 3);
  EXPECT_THAT(taken_by(taken, 3, 0, 1), testing::ElementsAre(4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3));
  EXPECT_THAT(taken_by(taken, 3, 0, 0), testing::IsEmpty());
  EXPECT_THAT(taken_by(taken, 3, 1, 0), testing::SizeIs(12)) << "another round has all shares again";
}

TEST(Shares, AreLeftToNobodyTwice) {
  constexpr int kTeam = 4, kRounds = 300;
  TakenShares taken[kTeam];
  start_shares(taken, kTeam);
  std::vector<std::atomic<int>> counts(kTeam * kShares);
  std::barrier together(kTeam);
  std::atomic<int> wrong = 0;
  const auto work = [&](int thread) {
    for (int round = 0; round < kRounds; ++round) {
      take_shares(taken, kTeam, round, thread, [&](int share) { ++counts[static_cast<std::size_t>(share)]; });
      together.arrive_and_wait();
      for (int share = thread; share < kTeam * kShares; share += kTeam)
        if (counts[static_cast<std::size_t>(share)] != round + 1) ++wrong;
      together.arrive_and_wait();
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kTeam; ++thread) threads.emplace_back(work, thread);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace epochbench::cpu
