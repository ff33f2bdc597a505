// What a comparison says, in words: the parts that the table, GitHub's annotations and JSON share.
#pragma once

#include <string>
#include <vector>

#include "src/analysis/compare/comparison.h"

namespace epochbench {

// "peak_memory: 120 MiB, 20.0 % more than 100 MiB": the code, which programs look for and which stays, then words for people.
std::string to_string(const Issue& issue);

// "5.20 % slower (95 %: 4.1 % slower to 6.3 % slower)"; "" without a ratio.
std::string ratio_text(const Decision& decision);

// "5 and 5 repetitions", "10 pairs"
std::string processes_text(const Comparison& comparison, const ComparedCase& compared);

// "abc1234 (2026-01-02, 0.1.0, Release, gcc 12.2.0)", as far as it is known.
std::string build_text(const ComparedSide& side);

// Why the verdict is what it is: "2 of 3 cases are slower, 1 case is missing".
std::string reason_text(const Comparison& comparison);

struct NextStep {
  std::string text;  // "more pairs"; empty: nothing is inconclusive, or no pairs would decide what is
  std::string
      command;  // that is likely to decide it, or empty: no call is. Of files, with BASELINE_BINARY and NEW_BINARY in it
};
NextStep next_step(const Comparison& comparison);

// Without control characters, so that no name out of a file moves a terminal's cursor or begins a line of its own.
std::string one_line(std::string text);

// A commit as people quote it: its first 7 digits, and "-dirty" where it was.
std::string commit_text(const std::optional<std::string>& git_sha, const std::optional<bool>& git_dirty);

}  // namespace epochbench
