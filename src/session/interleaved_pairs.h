// The cases of `compare --interleave`, pair by pair, until the rule has what it needs: order, progress, and the file after each
// pair. src/worker/interleaved_pair.h measures a pair; src/analysis/compare/turns_comparison.h says what the pairs mean.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "src/analysis/compare/decision.h"
#include "src/base/files.h"
#include "src/result/turns.h"
#include "src/session/planned_case.h"
#include "src/session/progress.h"

namespace epochbench {

class InterleavedPairs {
 public:
  // `document` has a case for each planned one, in their order; the pairs are added to it. `out`: the file that keeps it;
  // empty: none. All but `out` are referred to, and must live as long. Errors: FileError where `out` cannot be written.
  InterleavedPairs(const std::vector<PlannedCase>& planned, const PairedRule& rule, const std::string& out, bool quiet,
                   TurnsDocument& document);

  // One pair of every case, then again, so that the evidence of all is of the same time. Ends when all are decided or have all
  // their pairs, or with an interrupt, which discards the pair that it stops. Returns whether all is in the file.
  bool run();

 private:
  bool round_of_pairs(const std::vector<std::size_t>& wanted);
  void take_pair(std::size_t index, const std::vector<std::size_t>& wanted);
  void save();
  std::string progress(std::size_t index, const std::vector<std::size_t>& wanted) const;
  std::string summary() const;
  std::optional<double> seconds_left(const std::vector<std::size_t>& wanted) const;

  const std::vector<PlannedCase>& planned_;
  const PairedRule& rule_;
  TurnsDocument& document_;
  std::optional<ResultFile> file_;
  bool failing_ = false, failure_printed_ = false;
  ProgressDisplay display_;
  std::vector<double> seconds_;  // of all pairs of a case, set-up included
};

}  // namespace epochbench
