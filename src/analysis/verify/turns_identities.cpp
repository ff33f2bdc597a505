// What must be true of a document of interleaved turns: its ratios follow from its times.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "src/analysis/verify/agreement.h"
#include "src/analysis/verify/identities.h"
#include "src/base/numbers.h"
#include "src/base/statistics.h"

namespace epochbench {
namespace {

// Logarithms near 0 differ by what doubles round, not by a share of themselves.
constexpr double kLogRounding = 1e-9;

// The mean step of each turn, from the steps; empty unless the file has all of them.
std::vector<double> turns_from_steps(const TurnsPair& pair, const TurnsSide& side) {
  const auto per_turn = static_cast<std::ptrdiff_t>(pair.steps_per_turn);
  if (per_turn < 1 || std::ssize(side.step_seconds) != per_turn * std::ssize(pair.first)) return {};
  std::vector<double> turns;
  for (auto begin = side.step_seconds.begin(); begin != side.step_seconds.end(); begin += per_turn)
    turns.push_back(std::accumulate(begin, begin + per_turn, 0.0) / static_cast<double>(per_turn));
  return turns;
}

std::string why_turns(const TurnsPair& pair, const TurnsSide& side) {
  const std::vector<double> computed = turns_from_steps(pair, side);
  if (side.turn_seconds.empty()) return "";
  if (side.turn_seconds.size() != pair.first.size())
    return counted(side.turn_seconds.size(), "turn", "turns") + " in " + counted(pair.first.size(), "round", "rounds");
  for (std::size_t i = 0; i < computed.size(); ++i)
    if (!agree(side.turn_seconds[i], computed[i]))
      return is_but("turn_seconds", side.turn_seconds[i], "the mean of its steps", computed[i]);
  return "";
}

// Documents written before turn_seconds existed have only steps.
std::vector<double> turns_in(const TurnsPair& pair, Side side) {
  const TurnsSide& own = pair.sides[side];
  return own.turn_seconds.empty() ? turns_from_steps(pair, own) : own.turn_seconds;
}

std::string why_median(const std::vector<double>& turns, const TurnsSide& side) {
  return turns.empty()
             ? ""
             : unless_equal("step_seconds_median", side.step_seconds_median, "the median of its turns", median(turns));
}

std::string why_log_ratio(const TurnsPair& pair, const std::array<std::vector<double>, 2>& turns) {
  const auto& [baseline, contender] = turns;
  if (!pair.log_ratio || baseline.empty() || baseline.size() != contender.size()) return "";
  std::vector<double> logs;
  for (std::size_t i = 0; i < baseline.size(); ++i)
    if (baseline[i] > 0 && contender[i] > 0) logs.push_back(std::log(contender[i] / baseline[i]));
  if (logs.size() < baseline.size()) return "a turn took no time";
  const double computed = median(std::move(logs));
  return std::fabs(*pair.log_ratio - computed) <= kLogRounding
             ? ""
             : is_but("log_ratio", *pair.log_ratio, "the median over rounds of log(new time / baseline time)", computed);
}

}  // namespace

std::vector<Contradiction> contradictions_in(const TurnsDocument& document) {
  std::vector<Contradiction> found;
  for (std::size_t place = 0; place < document.cases.size(); ++place) {
    std::vector<std::array<std::vector<double>, 2>> turns;  // by pair
    for (const TurnsPair& pair : document.cases[place].pairs) {
      const auto add = [&](const char* key, const std::string& text) {
        if (!text.empty()) found.push_back({place, key, "pair " + std::to_string(turns.size()) + ": " + text});
      };
      const std::array<std::vector<double>, 2> mine{turns_in(pair, kBaseline), turns_in(pair, kContender)};
      for (const Side side : kSides) {
        add("turn_seconds", why_turns(pair, pair.sides[side]));
        add("step_seconds_median", why_median(mine[side], pair.sides[side]));
      }
      add("log_ratio", why_log_ratio(pair, mine));
      const auto copied = std::ranges::find_if(turns, [&](const auto& earlier) {
        return is_multiple(mine[kBaseline], earlier[kBaseline]) || is_multiple(mine[kContender], earlier[kContender]);
      });
      if (copied != turns.end())
        add("turn_seconds", "its turns are those of pair " + std::to_string(copied - turns.begin()) + ", or a multiple");
      turns.push_back(mine);
    }
  }
  return found;
}

}  // namespace epochbench
