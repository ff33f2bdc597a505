#include "src/base/rounds.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "epochbench/philox.h"

namespace epochbench {
namespace {

std::vector<std::size_t> shuffled(const RoundOrder& order, std::uint32_t round, std::size_t participants, std::uint32_t draw) {
  std::vector<std::size_t> result(participants);
  std::iota(result.begin(), result.end(), std::size_t{0});
  for (std::size_t left = participants; left > 1; --left, ++draw) {
    const PhiloxBlock block = philox(order.seed, {round, order.group + ((draw / 4) << 16), name_hash(order.name),
                                                  static_cast<std::uint32_t>(RandomStream::turns)});
    std::swap(result[left - 1], result[left - 1 - block[draw % 4] % left]);
  }
  return result;
}

}  // namespace

std::vector<std::size_t> RoundOrder::order_of_round(std::uint32_t round, std::size_t participants) const {
  return shuffled(*this, round, participants, 0);
}

std::vector<std::size_t> RoundOrder::order_of_starts(std::size_t participants) const {
  return shuffled(*this, 0, participants, 1);
}

std::vector<std::vector<std::size_t>> take_rounds(const RoundOrder& order, const std::vector<Turn>& participants,
                                                  const RoundLimits& limits) {
  std::vector<std::vector<std::size_t>> orders;
  for (std::int64_t round = 0;; ++round) {
    if (limits.enough(std::max<std::int64_t>(0, round - limits.dropped))) return orders;
    orders.push_back(order.order_of_round(static_cast<std::uint32_t>(round), participants.size()));
    for (const std::size_t participant : orders.back()) participants[participant](round >= limits.dropped);
  }
}

std::int64_t calls_per_turn(double turn_seconds, double call_seconds, std::int64_t most) {
  const double calls = std::ceil(turn_seconds / call_seconds);
  return calls < static_cast<double>(most) ? std::max<std::int64_t>(1, static_cast<std::int64_t>(calls)) : most;
}

}  // namespace epochbench
