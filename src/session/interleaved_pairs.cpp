#include "src/session/interleaved_pairs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <utility>

#include "src/analysis/compare/turns_comparison.h"
#include "src/base/clock.h"
#include "src/base/errors.h"
#include "src/base/signals.h"
#include "src/base/statistics.h"
#include "src/base/units.h"
#include "src/result/turns_json.h"
#include "src/worker/interleaved_pair.h"

namespace epochbench {
namespace {

// The median of what the pairs say so far: "+0.3 %". Empty without any.
std::string so_far(const TurnsCase& turns) {
  std::vector<double> logs;
  for (const TurnsPair& pair : turns.pairs)
    if (pair.log_ratio) logs.push_back(*pair.log_ratio);
  if (logs.empty()) return "";
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f %%", 100 * std::expm1(median(std::move(logs))));
  return text;
}

}  // namespace

InterleavedPairs::InterleavedPairs(const std::vector<PlannedCase>& planned, const PairedRule& rule, const std::string& out,
                                   bool quiet, TurnsDocument& document)
    : planned_(planned), rule_(rule), document_(document), display_(planned.size(), quiet), seconds_(planned.size()) {
  if (!out.empty()) file_.emplace(out);
}

bool InterleavedPairs::run() {
  while (!interrupted() && round_of_pairs(pairs_wanted(document_, rule_))) display_.log(summary());
  save();
  display_.clear();
  return !failing_;
}

bool InterleavedPairs::round_of_pairs(const std::vector<std::size_t>& wanted) {
  bool any = false;
  for (std::size_t i = 0; i < planned_.size(); ++i) {
    if (document_.cases[i].pairs.size() >= wanted[i]) continue;
    if (interrupted()) return false;
    take_pair(i, wanted);
    any = true;
  }
  return any;
}

void InterleavedPairs::take_pair(std::size_t index, const std::vector<std::size_t>& wanted) {
  TurnsCase& turns = document_.cases[index];
  PairSettings settings;
  settings.order_seed = document_.order_seed;
  settings.pair = static_cast<std::uint32_t>(turns.pairs.size());
  if (!turns.pairs.empty()) settings.steps_per_turn = turns.pairs.front().steps_per_turn;
  const std::string line = progress(index, wanted);
  display_.note(line);
  const double begin = steady_seconds();
  TurnsPair pair = interleave_pair(
      planned_[index].spec, document_.binaries, settings,
      [&](std::int64_t done) {
        const std::int64_t rounds = settings.dropped_rounds + settings.rounds;
        display_.note(line + "; round " + std::to_string(done) + "/" + std::to_string(rounds));
      },
      interrupted);
  if (interrupted()) return;
  seconds_[index] += steady_seconds() - begin;
  turns.pairs.push_back(std::move(pair));
  save();
}

// The first failure is printed; later calls try again.
void InterleavedPairs::save() {
  if (!file_) return;
  try {
    file_->write(turns_to_text(document_));
    failing_ = false;
  } catch (const FileError& error) {
    failing_ = true;
    display_.clear();
    if (!std::exchange(failure_printed_, true)) print_error(std::string(error.what()) + " (tried again after every pair)");
  }
}

// "[2/3] lenet5/cpu/fp32/b64: pair 4/10; +0.3 % so far; about 1 min 20 s left".
std::string InterleavedPairs::progress(std::size_t index, const std::vector<std::size_t>& wanted) const {
  const TurnsCase& turns = document_.cases[index];
  std::string text = "[" + std::to_string(index + 1) + "/" + std::to_string(planned_.size()) + "] " + turns.name + ": pair " +
                     std::to_string(turns.pairs.size() + 1) + "/" + std::to_string(wanted[index]);
  if (const std::string estimate = so_far(turns); !estimate.empty()) text += "; " + estimate + " so far";
  if (const auto left = seconds_left(wanted)) text += "; about " + format_seconds(*left) + " left";
  return text;
}

// "pairs: 4 of 10; mlp/cpu/fp32/b64 +0.3 %, lenet5/cpu/fp32/b64 -0.1 %; about 1 min 20 s left".
std::string InterleavedPairs::summary() const {
  const std::vector<std::size_t> wanted = pairs_wanted(document_, rule_);
  std::size_t pairs = 0, most = 0;
  std::string cases;
  for (std::size_t i = 0; i < planned_.size(); ++i) {
    const TurnsCase& turns = document_.cases[i];
    pairs = std::max(pairs, turns.pairs.size());
    most = std::max({most, wanted[i], turns.pairs.size()});
    if (const std::string estimate = so_far(turns); !estimate.empty())
      cases += (cases.empty() ? "" : ", ") + turns.name + " " + estimate;
  }
  const auto left = seconds_left(wanted);
  return "pairs: " + std::to_string(pairs) + " of " + std::to_string(most) + "; " + cases +
         (left && *left > 0 ? "; about " + format_seconds(*left) + " left" : "");
}

// Of the pairs that are wanted so far; empty before the first one of any case has ended.
std::optional<double> InterleavedPairs::seconds_left(const std::vector<std::size_t>& wanted) const {
  std::size_t all = 0;
  for (const TurnsCase& turns : document_.cases) all += turns.pairs.size();
  if (all == 0) return std::nullopt;
  const double usual = std::accumulate(seconds_.begin(), seconds_.end(), 0.0) / static_cast<double>(all);
  double left = 0;
  for (std::size_t i = 0; i < planned_.size(); ++i) {
    const std::size_t done = document_.cases[i].pairs.size();
    if (wanted[i] <= done) continue;
    left += static_cast<double>(wanted[i] - done) * (done > 0 ? seconds_[i] / static_cast<double>(done) : usual);
  }
  return left;
}

}  // namespace epochbench
