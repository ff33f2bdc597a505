// Which commit made a case slower: what `bisect` measures next, and what its pairs say. Pure functions.
//
// Every commit is measured against the same baseline, the good one, so there is one number per pair of processes, log(time /
// good's time), as in decision.h. The middle is halfway between the levels of the two ends. A commit is slow if the lower bound
// of its level is above the middle, fast if the upper bound is below it; otherwise it gets more pairs, and after the most that
// it may have it is undecided. A binary search goes on with the decided commits and passes over the others, so it ends with a
// last fast commit, a first slow one, and between them those about which nothing is known.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/analysis/compare/comparison.h"

namespace epochbench {

enum class Level : std::uint8_t { unknown, fast, slow, undecided, skipped };
constexpr auto texts_of(Level) { return std::array{"unknown", "fast", "slow", "undecided", "skipped"}; }

inline constexpr std::size_t kMaxBisectPairs = 40;  // of a commit, unless the call says otherwise

// Pairs after which a commit is looked at: each look errs with a probability of at most kBisectError, in either direction, if
// the commit's true level is the middle itself, and far less if it is that of an end.
inline constexpr std::size_t kBisectLooks[] = {8, 12, 20, 40};
inline constexpr double kBisectError = 0.005;

struct LevelFound {
  Level level = Level::unknown;
  std::size_t wanted = 0;  // pairs at the next look; 0: there is none
};

// From the pairs in the order in which they were measured: looks are made here, so the answer does not depend on how often it
// was asked for. `max_pairs`, at least that of the first look, is the last look.
LevelFound level_of(std::span<const double> log_ratios, double middle, std::size_t max_pairs);

// A commit on the line from the good one, which is excluded, to the bad one, which is the last.
struct BisectedCommit {
  std::vector<double> log_ratios;
  bool skipped = false;  // it cannot be measured
};

struct Bisection {
  std::optional<std::size_t> last_fast;  // empty: the good commit
  std::size_t first_slow = 0;
  std::optional<std::size_t> next;  // to be measured; empty: the search has ended
  std::size_t pairs = 0;            // that `next` should have in all
  std::size_t max_left = 0;         // commits that the search may still measure, `next` included
  std::vector<Level> levels;        // of each commit, as far as the search asked for it; slow for the last one

  // Commits that may be the culprit: first_slow alone if its neighbor is known to be fast.
  std::size_t suspects() const { return first_slow - (last_fast ? *last_fast : static_cast<std::size_t>(-1)); }
};

// Precondition: at least one commit, and the last one is slow.
Bisection bisect(std::span<const BisectedCommit> commits, double middle, std::size_t max_pairs = kMaxBisectPairs);

// The answer ------------------------------------------------------------------------------------------------------------------

struct Commit {
  std::string sha, date, subject;

  std::string short_sha() const { return sha.substr(0, 7); }
};

struct MeasuredCommit : Commit {
  Level level = Level::unknown;
  std::size_t pairs = 0;        // against the good commit
  std::optional<double> ratio;  // its step time over the good commit's
  std::string reason;           // why it was skipped
};

// The time of a step's nodes of one op, before the first slow commit and at it.
struct OpChange {
  std::string op;
  double before_seconds = 0, after_seconds = 0;
};

struct BisectAnswer {
  Commit good;
  std::vector<MeasuredCommit> commits;  // after the good one, up to the bad one
  std::string case_name;
  Decision whole;             // bad against good, which chose the case
  Bisection search;           // ended
  ComparedCase step;          // the first slow commit against the last fast one, in pairs of their own
  std::vector<OpChange> ops;  // the greatest change first; empty: no_ops says why
  std::string no_ops;

  const Commit& last_fast() const { return search.last_fast ? commits[*search.last_fast] : good; }
  const MeasuredCommit& first_slow() const { return commits[search.first_slow]; }
  // Whether the pairs of these two also show a slowdown: without it nothing is named.
  bool is_confirmed() const { return step.decision.finding == Finding::regression; }
  bool names_one() const { return is_confirmed() && search.suspects() == 1; }
};

}  // namespace epochbench
