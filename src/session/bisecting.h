// What `bisect` does: builds commits, measures each beside the good one and narrows down where a case became slower.
// src/analysis/compare/bisection.h decides; builds and pairs are kept in a folder, so that a later call can continue.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "src/analysis/compare/bisection.h"
#include "src/session/commit_builds.h"

namespace epochbench {

struct BisectRequest {
  std::string good, bad;  // revisions
  std::string suite;      // its cases are measured first, at the two ends
  std::string case_name;  // the one to follow, or the beginning of its name; empty: the clearest slowdown
  BuildRecipe recipe;
  std::string folder;
  double threshold = kDefaultThreshold;
  std::size_t max_pairs = kMaxBisectPairs;  // per commit
  bool resume = false, overwrite = false, quiet = false;
  std::vector<std::string> command_line;
};

// The comparison of the two ends, and the answer if it shows a slowdown.
struct BisectOutcome {
  Comparison ends;
  std::optional<BisectAnswer> answer;  // empty: no case became slower
};

// Errors: CallError, also with kExitInterrupted for an interrupt, after which --resume continues; FormatError, FileError.
BisectOutcome bisect(const BisectRequest& request);

}  // namespace epochbench
