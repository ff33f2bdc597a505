#include "bench/contest.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>

namespace epochbench::bench {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

// Contestants whose calls take time on a clock of their own.
struct Field {
  double now = 0, cpu = 0;
  std::string log;  // a letter for each call and burst, '.' for a pause
  ContestOptions options;

  Field() {
    options.rounds = 4;
    options.turn_seconds = 0.020;
    options.calm_seconds = 0.005;
    options.clock = [this] { return now; };
    options.cpu_clock = [this] { return cpu; };
    options.sleep = [this](double seconds) {
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

TEST(TakeTurns, GivesEveryoneOneTurnARound) {
  Field field;
  const Turns turns =
      take_turns({field.call('a', 0.05), field.call('b', 0.07)}, {field.burst('p', 3), field.burst('q', 4)}, field.options);
  const std::vector<std::string> taken = field.turns();
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

TEST(TakeTurns, DrawsTheOrderFromTheSeed) {
  const auto log_of = [](std::uint64_t seed) {
    Field field;
    field.options.rounds = 12;
    field.options.seed = seed;
    take_turns({field.call('a', 0.05), field.call('b', 0.05), field.call('c', 0.05)}, {}, field.options);
    return field.turns();
  };
  EXPECT_EQ(log_of(1), log_of(1));
  EXPECT_NE(log_of(1), log_of(2));
  // Each is the first of some round.
  const std::vector<std::string> turns = log_of(1);
  std::string firsts;
  for (std::size_t i = 0; i < turns.size(); i += 3) firsts += turns[i];
  for (const char letter : {'a', 'b', 'c'}) EXPECT_NE(firsts.find(letter), std::string::npos) << letter << " in " << firsts;
}

TEST(TakeTurns, FillsATurnWithShortCallsAfterAWarmOne) {
  Field field;
  const Turns turns = take_turns({field.call('s', 0.0039), field.call('l', 0.021)}, {}, field.options);
  for (const std::string& turn : field.turns()) EXPECT_TRUE(turn == "sssssss" || turn == "l") << turn;  // 1 + ceil(20 / 3.9)
  EXPECT_THAT(turns.call_seconds[0], SizeIs(4));
}

TEST(TakeTurns, TimesNeitherTheWarmCallNorThePause) {
  Field field;
  const std::function<void()> cold_first = [&] {
    field.now += field.log.back() == '.' || field.log.size() < 2 ? 0.011 : 0.002;
    field.log += 'w';
  };
  field.log = "x";
  EXPECT_THAT(take_turns({cold_first}, {}, field.options).call_seconds[0], Each(DoubleNear(0.002, 1e-12)));
}

TEST(TakeTurns, CountsBusyCores) {
  Field field;
  const Turns turns = take_turns({field.call('a', 0.003, 2), field.call('b', 0.05, 0.5)}, {}, field.options);
  EXPECT_THAT(turns.busy_cores[0], Each(DoubleNear(2, 1e-9)));
  EXPECT_THAT(turns.busy_cores[1], Each(DoubleNear(0.5, 1e-9)));
}

}  // namespace
}  // namespace epochbench::bench
