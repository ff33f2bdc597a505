#include "src/base/rounds.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>

#include <gmock/gmock.h>

#include "epochbench/philox.h"

namespace epochbench {
namespace {

// The letters of the turns, in lower case in dropped rounds.
std::string turns_of(const RoundOrder& order, std::size_t participants, std::int64_t dropped, std::int64_t timed) {
  std::string log;
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < participants; ++i)
    turns.emplace_back([&log, i](bool in_timed_round) { log += static_cast<char>((in_timed_round ? 'A' : 'a') + i); });
  take_rounds(order, turns, {dropped, [&](std::int64_t taken) { return taken >= timed; }});
  return log;
}

TEST(Rounds, EachParticipantHasOneTurnPerRound) {
  const std::string log = turns_of({1, "a case", 0}, 5, 2, 30);
  ASSERT_EQ(log.size(), 32u * 5);
  std::string firsts;
  for (std::size_t round = 0; round < 32; ++round) {
    std::string one = log.substr(5 * round, 5);
    firsts += static_cast<char>(std::toupper(one[0]));
    std::sort(one.begin(), one.end());
    EXPECT_EQ(one, round < 2 ? "abcde" : "ABCDE");
  }
  for (const char letter : std::string("ABCDE")) EXPECT_NE(firsts.find(letter), std::string::npos) << letter;
}

TEST(Rounds, SeedNameAndGroupDrawTheOrder) {
  EXPECT_EQ(turns_of({1, "a", 0}, 3, 0, 20), turns_of({1, "a", 0}, 3, 0, 20));
  for (const RoundOrder& other : {RoundOrder{2, "a", 0}, RoundOrder{1, "b", 0}, RoundOrder{1, "a", 1}})
    EXPECT_NE(turns_of({1, "a", 0}, 3, 0, 20), turns_of(other, 3, 0, 20));
}

TEST(Rounds, EndDuringDroppedOnesToo) {
  int asked = 0;
  const auto orders = take_rounds({}, {[](bool) {}}, {5, [&](std::int64_t timed) {
                                                        EXPECT_EQ(timed, 0);
                                                        return ++asked > 3;
                                                      }});
  EXPECT_EQ(orders.size(), 3u);
}

// Documents of `compare --interleave` state their order_seed: the order of two must stay what it is.
TEST(RoundOrder, OfTwoIsTheLowestBitOfAWord) {
  const RoundOrder order{7, "mlp/cpu/fp32/b64", 3};
  for (std::uint32_t round = 0; round < 64; ++round) {
    const auto block = philox(7, {round, 3, name_hash("mlp/cpu/fp32/b64"), static_cast<std::uint32_t>(RandomStream::turns)});
    EXPECT_EQ(order.order_of_round(round, 2)[0], block[0] & 1);
    if (round == 0) {
      EXPECT_EQ(order.order_of_starts(2)[0], block[1] & 1);
    }
  }
}

TEST(RoundOrder, EachParticipantIsFirstEquallyOften) {
  for (const std::size_t participants : {2u, 3u, 7u}) {
    std::vector<double> rounds_first(participants), starts_first(participants);
    for (std::uint32_t i = 0; i < 7000; ++i) {
      ++rounds_first[RoundOrder{0, "a", 0}.order_of_round(i, participants)[0]];
      ++starts_first[RoundOrder{0, "a", i}.order_of_starts(participants)[0]];
    }
    const double expected = 7000.0 / static_cast<double>(participants);
    for (std::size_t i = 0; i < participants; ++i) {
      EXPECT_NEAR(rounds_first[i], expected, 4 * std::sqrt(expected)) << participants;
      EXPECT_NEAR(starts_first[i], expected, 4 * std::sqrt(expected)) << participants;
    }
  }
}

TEST(CallsPerTurn, FillTheTurn) {
  EXPECT_EQ(calls_per_turn(0.05, 0.01, 4096), 5);
  EXPECT_EQ(calls_per_turn(0.05, 0.011, 4096), 5);
  EXPECT_EQ(calls_per_turn(0.05, 1, 4096), 1);
  EXPECT_EQ(calls_per_turn(0.05, 1e-9, 4096), 4096);
  EXPECT_EQ(calls_per_turn(0.05, 0, 4096), 4096);
}

}  // namespace
}  // namespace epochbench
