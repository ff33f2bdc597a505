// A thread that exchanges while others compute: its order, its errors, and whose time counts.
#include "src/backend/host/background_exchange.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <vector>

#include <gmock/gmock.h>

#include "src/base/clock.h"
#include "src/communication/thread_ranks.h"

namespace epochbench {
namespace {

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

void on_two_ranks(const std::function<void(Communicator&)>& run) {
  ThreadRanks group(2);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 2; ++rank) threads.emplace_back([&, rank] { run(group[rank]); });
}

TEST(BackgroundExchange, ExchangesInTheOrderInWhichItBegan) {
  constexpr int kBuckets = 50;
  on_two_ranks([](Communicator& ranks) {
    BackgroundExchange exchange(ranks);
    std::vector<std::vector<float>> values;
    for (int i = 0; i < kBuckets; ++i) values.emplace_back(20 + i, static_cast<float>(i + ranks.rank()));
    std::list<std::function<void()>> sums;
    for (int step = 0; step < 3; ++step) {
      for (auto& bucket : values) exchange.begin(sums.emplace_back([&] { ranks.all_reduce(bucket); }));
      exchange.join();
    }
    for (int i = 0; i < kBuckets; ++i)  // (2 i + 1) 2^2: doubled twice after the first sum
      EXPECT_THAT(values[static_cast<std::size_t>(i)], testing::Each(4.0F * static_cast<float>(2 * i + 1)));
    EXPECT_EQ(ranks.traffic().rounds, 2 * 3 * kBuckets);
  });
}

// Rank 1 comes 0.2 s later. Rank 0 has computed for 0.15 s of them, and waits for the rest.
TEST(BackgroundExchange, CountsWhatNothingHides) {
  on_two_ranks([](Communicator& ranks) {
    BackgroundExchange exchange(ranks);
    std::vector<float> values(16, 1);
    const std::function<void()> sum = [&] { ranks.all_reduce(values); };
    ranks.barrier();
    if (ranks.rank() == 1) sleep(0.2);
    const double before = ranks.traffic().seconds;
    exchange.begin(sum);
    if (ranks.rank() == 0) sleep(0.15);
    exchange.join();
    const double waited = ranks.traffic().seconds - before;
    if (ranks.rank() == 0) {
      EXPECT_GT(waited, 0.02);
      EXPECT_LT(waited, 0.15);
    } else {
      EXPECT_LT(waited, 0.05);
    }
  });
}

TEST(BackgroundExchange, JoinsWithTheErrorOfAnExchangeAndRunsNoneAfterIt) {
  ThreadRanks group(1);
  BackgroundExchange exchange(group[0]);
  bool ran = false;
  const std::function<void()> fails = [] { throw CommunicationError("gone"); };
  const std::function<void()> follows = [&] { ran = true; };
  exchange.begin(fails);
  exchange.begin(follows);
  EXPECT_THAT([&] { exchange.join(); }, testing::ThrowsMessage<CommunicationError>("gone"));
  EXPECT_FALSE(ran);
  exchange.begin(follows);
  exchange.join();
  EXPECT_TRUE(ran);
}

TEST(BackgroundExchange, EndsWhenAllThatBeganIsDone) {
  ThreadRanks group(1);
  std::atomic<int> ran = 0;
  const std::function<void()> slow = [&] {
    sleep(0.01);
    ++ran;
  };
  {
    BackgroundExchange exchange(group[0]);
    for (int i = 0; i < 3; ++i) exchange.begin(slow);
  }
  EXPECT_EQ(ran, 3);
}

}  // namespace
}  // namespace epochbench
