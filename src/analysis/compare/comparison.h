// The answer of `compare`: two sides, case by case, whichever way they were measured.
//
// compare_results makes it out of result files; binaries that took turns bring their own numbers. src/report/ makes text, JSON
// and GitHub's annotations of it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "src/analysis/compare/decision.h"
#include "src/analysis/compare/issues.h"
#include "src/result/named_result.h"

namespace epochbench {

struct ComparedSide {
  std::string label;                   // the file, folder or binary, as the call named it
  std::optional<std::string> git_sha;  // empty also where its files differ
  std::optional<bool> git_dirty;
  std::string date;  // RFC 3339, of the latest file; empty: not known
  std::string version, build_type, compiler;
};

struct ComparedCase {
  std::string name;
  Decision decision;                                    // `regression` also for a case that is not ok any more
  std::vector<Issue> issues;                            // in the order of their codes
  std::array<std::optional<double>, 2> step_seconds{};  // of the baseline and the new side: the median over processes
  std::array<std::size_t, 2> processes{};               // that are ok: repetitions of each side, or pairs twice
  std::optional<double> foreign_cores;                  // the most of any of them; empty: not known of one
};

struct LeftOutCase {
  std::string name, reason;
};

struct Comparison {
  bool interleaved = false;  // processes are pairs that took turns, and not repetitions
  double threshold = kDefaultThreshold;
  std::array<ComparedSide, 2> sides;
  std::vector<ComparedCase> cases;        // in the baseline's order
  std::vector<LeftOutCase> missing;       // the baseline has them, and the new side has not
  std::vector<LeftOutCase> added;         // the other way round, or not ok in the baseline
  std::vector<LeftOutCase> changed;       // another workload with the same settings, which is never compared
  std::vector<LeftOutCase> not_measured;  // not ok on either side
  bool missing_allowed = false;
  std::string suite;  // that measured the new side; empty: not known
};

// Regression where a case is one, an issue fails, or a case is missing and may not be; else the worst of the cases.
Finding verdict_of(const Comparison& comparison);

// What is not worth measuring: Debug, and builds without a type, which are not optimized either.
bool is_debug_build(const std::string& build_type);

// Cases are matched by their settings, except those of the measurement; their workload is the same where fingerprint, mode,
// data set and seed are. Repetitions count that are ok and have a median step above 0, out of all files of a side. A case is
// not decided where machine, compiler, build type, device or threads are not the same for all of them.
Comparison compare_results(const std::vector<NamedResult>& baseline, const std::vector<NamedResult>& contender,
                           double threshold = kDefaultThreshold);

}  // namespace epochbench
