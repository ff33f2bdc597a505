// Rounds of turns: each participant has one turn per round, in a newly drawn order, so that whatever else runs on the machine
// affects all of them alike. A participant is a function: nothing here depends on processes or kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace epochbench {

// Random orders determined by a seed, the name of what is measured and the number of the process group.
//
// Fisher and Yates' shuffle of 0 to participants - 1. Its draw d is word d % 4 of the Philox block with key = seed, counter =
// (round, group + 65536 * (d / 4), hash of the name, RandomStream::turns); order_of_starts uses round 0 and begins with draw 1.
struct RoundOrder {
  std::uint64_t seed = 0;
  std::string name;
  std::uint32_t group = 0;

  std::vector<std::size_t> order_of_round(std::uint32_t round, std::size_t participants) const;
  std::vector<std::size_t> order_of_starts(std::size_t participants) const;
};

struct RoundLimits {
  std::int64_t dropped = 2;                             // untimed rounds before the timed ones
  std::function<bool(std::int64_t timed)> enough = {};  // asked before each round with the number of timed rounds so far
};

// Runs the dropped rounds, then timed ones until `enough` returns true. Returns the order of every round, dropped ones
// included. In dropped rounds `enough` is called with timed = 0, and may end them as well.
using Turn = std::function<void(bool timed)>;
std::vector<std::vector<std::size_t>> take_rounds(const RoundOrder& order, const std::vector<Turn>& participants,
                                                  const RoundLimits& limits);

// How many calls fill a turn: at least 1, at most `most`.
std::int64_t calls_per_turn(double turn_seconds, double call_seconds, std::int64_t most);

}  // namespace epochbench
