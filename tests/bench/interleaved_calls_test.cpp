#include "bench/interleaved_calls.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>

namespace epochbench::bench {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

// Calls that take time on a made-up clock.
struct MadeUp {
  double now = 0, cpu = 0;
  std::string log;  // a letter for each call and burst, '.' for a pause
  CallSettings settings;

  MadeUp() {
    settings.rounds = 4;
    settings.turn_seconds = 0.020;
    settings.pause_seconds = 0.005;
    settings.clock = [this] { return now; };
    settings.cpu_clock = [this] { return cpu; };
    settings.sleep = [this](double seconds) {
      now += seconds;
      log += '.';
    };
  }
  std::function<void()> call(char letter, double seconds, double cores = 1) {
    return [=, this] {
      now += seconds;
      cpu += cores * seconds;
      log += letter;
    };
  }
  std::function<double()> burst(char letter, double result) {
    return [=, this] {
      log += letter;
      return result;
    };
  }
  // The turns after the calls that were made to count, each as its letters.
  std::vector<std::string> turns() const {
    std::vector<std::string> result;
    for (std::size_t begin = log.find('.'); begin != std::string::npos;) {
      const std::size_t end = log.find('.', begin + 1);
      result.push_back(log.substr(begin + 1, end == std::string::npos ? end : end - begin - 1));
      begin = end;
    }
    return result;
  }
};

TEST(InterleaveCalls, GivesEachOneTurnPerRound) {
  MadeUp made;
  const CallTimes turns =
      interleave_calls({made.call('a', 0.05), made.call('b', 0.07)}, {made.burst('p', 3), made.burst('q', 4)}, made.settings);
  const std::vector<std::string> taken = made.turns();
  ASSERT_EQ(taken.size(), 16u);
  for (std::size_t round = 0; round < 4; ++round) {
    std::string all;
    for (std::size_t i = 0; i < 4; ++i) all += taken[4 * round + i];
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, "abpq");
  }
  EXPECT_THAT(turns.call_seconds[0],
              ElementsAre(DoubleNear(0.05, 1e-12), DoubleNear(0.05, 1e-12), DoubleNear(0.05, 1e-12), DoubleNear(0.05, 1e-12)));
  EXPECT_THAT(turns.call_seconds[1], Each(DoubleNear(0.07, 1e-12)));
  EXPECT_THAT(turns.bursts, ElementsAre(ElementsAre(3, 3, 3, 3), ElementsAre(4, 4, 4, 4)));
}

TEST(InterleaveCalls, DrawsTheOrderFromTheSeed) {
  const auto log_of = [](std::uint64_t seed) {
    MadeUp made;
    made.settings.rounds = 12;
    made.settings.order.seed = seed;
    interleave_calls({made.call('a', 0.05), made.call('b', 0.05), made.call('c', 0.05)}, {}, made.settings);
    return made.turns();
  };
  EXPECT_EQ(log_of(1), log_of(1));
  EXPECT_NE(log_of(1), log_of(2));
  // Each is the first of some round.
  const std::vector<std::string> turns = log_of(1);
  std::string firsts;
  for (std::size_t i = 0; i < turns.size(); i += 3) firsts += turns[i];
  for (const char letter : {'a', 'b', 'c'}) EXPECT_NE(firsts.find(letter), std::string::npos) << letter << " in " << firsts;
}

TEST(InterleaveCalls, FillsATurnWithShortCallsAfterAWarmOne) {
  MadeUp made;
  const CallTimes turns = interleave_calls({made.call('s', 0.0039), made.call('l', 0.021)}, {}, made.settings);
  for (const std::string& turn : made.turns()) EXPECT_TRUE(turn == "sssssss" || turn == "l") << turn;  // 1 + ceil(20 / 3.9)
  EXPECT_THAT(turns.call_seconds[0], SizeIs(4));
}

TEST(InterleaveCalls, TimesNeitherTheWarmCallNorThePause) {
  MadeUp made;
  const std::function<void()> cold_first = [&] {
    made.now += made.log.back() == '.' || made.log.size() < 2 ? 0.011 : 0.002;
    made.log += 'w';
  };
  made.log = "x";
  EXPECT_THAT(interleave_calls({cold_first}, {}, made.settings).call_seconds[0], Each(DoubleNear(0.002, 1e-12)));
}

TEST(InterleaveCalls, CountsBusyCores) {
  MadeUp made;
  const CallTimes turns = interleave_calls({made.call('a', 0.003, 2), made.call('b', 0.05, 0.5)}, {}, made.settings);
  EXPECT_THAT(turns.busy_cores[0], Each(DoubleNear(2, 1e-9)));
  EXPECT_THAT(turns.busy_cores[1], Each(DoubleNear(0.5, 1e-9)));
}

}  // namespace
}  // namespace epochbench::bench
