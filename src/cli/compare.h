// epochbench compare: the ways to compare two sides, and what they share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/analysis/compare/comparison.h"
#include "src/case/case_block.h"

namespace epochbench {

struct CompareOptions {
  std::string baseline, contender;   // results: a file or a folder each; empty: not given
  std::string history;               // a folder of results; empty: not asked for
  std::optional<double> threshold;   // as a fraction
  std::vector<std::string> allowed;  // names of cases
  bool force = false, github = false, json = false;
  // For two binaries that take turns, instead of results.
  std::vector<std::string> interleave;  // their paths: the baseline and the new one; empty: not asked for
  std::string suite;
  CaseBlock cases;  // of one model, instead of a suite
  std::optional<std::size_t> max_pairs;
  std::optional<std::uint64_t> order_seed;
  std::string out;  // keeps every pair; empty: nowhere
  bool overwrite = false, anonymous = false;
  bool quiet = false;
  std::vector<std::string> command_line;
};

int compare_interleave(const CompareOptions& options);

// Errors: CallError for a debug build, unless --force accepts it: "WHAT Debug build, ...; HOW it with ...Release".
void refuse_debug_build(const std::string& what, const std::string& build_type, const std::string& how,
                        const CompareOptions& options);

// The cases of --allow, with the whole names that these have. Errors: CallError for one that no case has.
std::vector<std::string> allowed_cases(const CompareOptions& options, const std::vector<std::string>& names);

// Prints the answer as text or JSON on stdout, with --github also annotations (on stderr if JSON is on stdout, since GitHub's
// runner reads both) and a job summary, appended to the file that GITHUB_STEP_SUMMARY names. Returns the exit code.
int present(Comparison comparison, const CompareOptions& options);

}  // namespace epochbench
