// The answer of `compare`: two sides, case by case, however they were measured.
//
// compare_results builds it from result files; binaries that took turns bring their own numbers. src/report/ turns it into
// text, JSON and GitHub's annotations.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "src/analysis/compare/decision.h"
#include "src/analysis/compare/issues.h"
#include "src/result/turns.h"

namespace epochbench {

struct ComparedSide : BuildInfo {  // also without a commit if its files have different ones
  std::string label;               // the file, folder or binary, as the call named it
  std::string date;                // RFC 3339, of the latest file; empty: not known
};

struct ComparedCase {
  std::string name;
  Decision decision;                                    // `regression` also for a case that is not ok any more
  std::vector<Issue> issues;                            // ordered by code
  std::array<std::optional<double>, 2> step_seconds{};  // of the baseline and the new side: the median over processes
  std::array<std::size_t, 2> processes{};  // that are ok: repetitions of each side, or for both the number of pairs
  std::optional<double> foreign_cores;     // the maximum over all of them; empty if one does not know it
};

struct LeftOutCase {
  std::string name, reason;
};

struct Comparison {
  bool interleaved = false;  // processes are pairs that took turns, not repetitions
  double threshold = kDefaultThreshold;
  std::array<ComparedSide, 2> sides;
  std::vector<ComparedCase> cases;           // in the baseline's order
  std::vector<LeftOutCase> missing;          // in the baseline but not in the new side
  std::vector<LeftOutCase> added;            // the other way round
  std::vector<LeftOutCase> changed;          // another workload with the same settings, never compared
  std::vector<LeftOutCase> not_measured;     // not ok on either side
  std::vector<LeftOutCase> baseline_not_ok;  // ok on the new side only
  std::vector<std::string> allowed;          // cases that may be missing, fail, or not be compared
  std::string suite;                         // that measured the new side; empty: not known, or no suite
  std::string case_options;                  // "--model lenet5 --batch 8", of interleaved cases without a suite
};

bool is_allowed(const Comparison& comparison, const std::string& name);

// Whether the case takes part in the verdict: not if it is allowed and has no time.
bool is_judged(const Comparison& comparison, const ComparedCase& compared);

// Whether the issue fails the comparison.
bool fails(const Comparison& comparison, const ComparedCase& compared, const Issue& issue);

// All cases of both sides, and those of them that were not compared.
std::size_t case_count(const Comparison& comparison);
std::size_t not_compared_count(const Comparison& comparison);

// Whether both sides have cases, and none is on both.
bool shares_no_case(const Comparison& comparison);

// Regression if a case is one, an issue fails, or a case is missing; then not_compared if a case was not; otherwise the worst
// of the cases. Those that are allowed by name are left out.
Finding verdict_of(const Comparison& comparison);

// Builds that are not worth measuring: Debug, and builds without a type, which are not optimized either.
bool is_debug_build(const std::string& build_type);

// Whether the run is ok and has a median step above 0.
bool has_median_step(const Run& run);

// Cases are matched by their settings, except for the seed and the measurement's settings; their workload is the same if
// fingerprint, mode and data set are. Losses are compared by seed. Repetitions from all files of a side count if they are ok
// and have a median step above 0. A case is not decided unless machine, compiler, build type, device and threads are the same
// for all of them.
Comparison compare_results(const std::vector<NamedResult>& baseline, const std::vector<NamedResult>& contender,
                           double threshold = kDefaultThreshold);

// The suite that measured a result: one of the program's own, or what follows --suite in its call. Empty: not known.
std::string suite_of(const Context& context);
std::string suite_of(const std::vector<NamedResult>& results);  // the first that is known

std::vector<double> log_ratios(const TurnsCase& turns);  // one per pair whose sides are both ok

// The rule by which the document's pairs were measured; the default's parts where it does not say.
PairedRule rule_of(const TurnsDocument& document);

// How many pairs each case should have before the next decision, in the document's order; 0 if it has all that it needs, or if
// more would say nothing: it is skipped, one side has another workload, or a side did not end well.
std::vector<std::size_t> pairs_wanted(const TurnsDocument& document, const PairedRule& rule);

// A case whose new side ended badly in any pair, and whose baseline did not, is a regression, whatever the other pairs say. A
// case whose baseline ended badly after good pairs, or whose two processes were not measured side by side, is not compared.
// Cases without a pair are listed under not_measured.
Comparison compare_turns(const TurnsDocument& document, const PairedRule& rule);

}  // namespace epochbench
