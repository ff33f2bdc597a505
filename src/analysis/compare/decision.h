// Is the new binary slower? The rule of `compare`: pure functions over one number per pair of processes or per repetition.
//
// The unit is the process, as in estimate.h. A case is a
//   regression   if the lower bound of log(new time / baseline time) is above 0 at 99 %, and the estimate is two thirds of
//                log(1 + threshold) or more: shown to be slower, by an amount that matters;
//   improvement  by the same with the sides swapped;
//   no_change    if it is neither, and its 95 % interval is between 1 / (1 + threshold) and 1 + threshold. Both ends, so an
//                improvement that is not shown yet is not called no change; a small but real slowdown may be among these;
//   inconclusive otherwise: that is an answer, and says what would decide;
//   not_compared if measuring the new side again decides nothing: of another machine or build, or beside an unusable baseline.
// Estimates and bounds are those of rank_shift.h. Several cases share the 1 % of each direction (holm.h), so a whole suite
// raises a false alarm with a probability of at most 1 %. The 95 % are of each case alone: no_change has to be shown for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/case/choices.h"
#include "src/result/load.h"

namespace epochbench {

enum class Finding : std::uint8_t { regression, improvement, no_change, inconclusive, not_compared };
constexpr auto texts_of(Finding) {
  return std::array{"regression", "improvement", "no_change", "inconclusive", "not_compared"};
}

// What lets a case be decided that is not compared, or that is inconclusive after turns.
enum class Remedy : std::uint8_t { none, measure_baseline, measure_new, interleave, more_turns, speedup };

inline constexpr double kDefaultThreshold = 0.03;  // as a share of a step's time
inline constexpr double kFalseAlarms = 0.01;       // for a whole suite, in each direction
inline constexpr std::size_t kMinToDecide = 5;     // repetitions per side, with one that is left out

struct Decision {
  Finding finding = Finding::inconclusive;
  std::optional<double> ratio;                          // new time / baseline time
  std::optional<std::pair<double, double>> ratio_ci95;  // for the case alone, exact; empty: too few numbers for one
  std::optional<double> p_value;                        // two-sided, exact, for the case alone: before Holm and looks
  std::size_t used = 0;                                 // pairs, or repetitions of the side that has fewer, that were used
  std::optional<std::size_t> more;  // if inconclusive: about how many more pairs, or repetitions per side, would decide
  std::string note;                 // why it is undecided, or what else is worth knowing; may be empty
  Remedy remedy = Remedy::none;     // if not compared, or if inconclusive after turns
  // The only repetition of the baseline, and of the new side, that other jobs disturbed: a recorded case leaves it out.
  std::array<std::optional<std::size_t>, 2> left_out{};
};

// The worst of them: regression, not_compared, inconclusive, improvement, no_change. Not compared if there are no cases.
Finding overall(std::span<const Finding> findings);

// Interleaved pairs ----------------------------------------------------------------------------------------------------------

// All cases are looked at when they have `first_pairs`, and those still inconclusive once more at `max_pairs`. Each look may
// spend half of the 1 %, and passes a slowdown of the threshold in at most 2.5 %, if the interval's upper end is below it: so 1
// % and 5 % over both. If max_pairs is not above first_pairs there is one look, at max_pairs, with all of it.
struct PairedRule {
  double threshold = kDefaultThreshold;  // above 0
  std::size_t first_pairs = 10, max_pairs = 20;

  std::size_t looks() const { return max_pairs > first_pairs ? 2 : 1; }
  std::size_t pairs_at(std::size_t look) const { return look == 0 && looks() == 2 ? first_pairs : max_pairs; }
};

struct PairedDecision : Decision {
  std::size_t wanted = 0;  // pairs that the next look needs; 0: there is none, the case is decided or has max_pairs
};

// One decision per case, in order, from all pairs so far: log_ratios[case][pair] = log(new time / baseline time) in the order
// in which pairs were measured. The looks are made here, so the answer depends only on the numbers and not on how often it was
// asked for. A case between two looks (interrupted, or others are still being measured) is inconclusive, with an estimate from
// all its pairs; pairs after the look that decided are not used.
// How often it errs, in trials and in simulation: docs/ci.md.
std::vector<PairedDecision> decide_pairs(std::span<const std::vector<double>> log_ratios, const PairedRule& rule);

// Files recorded one after the other ------------------------------------------------------------------------------------------

struct Repetition {
  double step_seconds = 0;              // the median of its steps
  std::optional<double> foreign_cores;  // used by other jobs meanwhile (interference.foreign_cpu_cores); empty: not known
};

struct RecordedCase {
  std::vector<Repetition> baseline, contender;
  std::string undecidable;  // why the two cannot be compared, whatever the numbers say (another machine, ...); empty: they can
  Remedy remedy = Remedy::none;  // if undecidable
  // log(new time / baseline time) of each repetition, if the processes of both sides took turns in all; otherwise empty
  std::vector<double> log_ratios = {};
};

// Only quiet files are decided: at least kMinToDecide repetitions per side. A single one with a load of kQuietForeignCores
// or more is left out. What another job adds to one file it does not add to the other, and no statistic can separate the two
// afterwards. A new side with more load is inconclusive; what else is not fit is not compared. Both still have the reason and
// the estimate, and Holm does not count them. Repetitions whose processes took turns are decided as pairs are, whatever the
// load.
std::vector<Decision> decide_recorded(std::span<const RecordedCase> cases, double threshold = kDefaultThreshold);

}  // namespace epochbench
