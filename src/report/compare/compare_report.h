// The answers of `compare`, of `compare --history` and of `bisect`: text for people, JSON, and for GitHub Actions. Nothing is
// computed here.
#pragma once

#include <string>

#include "src/analysis/compare/bisection.h"
#include "src/analysis/compare/comparison.h"
#include "src/analysis/compare/history.h"
#include "src/base/json.h"

namespace epochbench {

// Both sides, one row per case in at most 100 columns, then notes on the cases, what was not compared and why, the verdict with
// its reasons, and what to do next if something is inconclusive.
std::string compare_text(const Comparison& comparison);

// The contract's keys, and: what was compared (`method`, `threshold`, `baseline`, `new`), the reason for the verdict, for each
// case the step times, the processes, the foreign load, `more` (how many more pairs or repetitions would decide; null if
// nothing is open) and `concerns`; `not_measured`; `reasons` by name of what was left out; `next`, a command, null if there is
// nothing to do.
Json compare_json(const Comparison& comparison);

// Commands that GitHub's runner reads from the output. One line per item: `::error` for what fails, `::warning` for what is
// inconclusive, changed or has an issue, `::notice` for what is faster, new or missing by permission. GitHub shows 10 of each
// kind per step, so if there are more, the tenth says how many. Format:
// https://docs.github.com/actions/reference/workflow-commands-for-github-actions
std::string github_annotations(const Comparison& comparison);

// Markdown for a job's summary: a heading with the verdict, the table of cases, and further notes.
std::string github_summary(const Comparison& comparison);

// One row per series, then its changes, each with the commit where it began and the last one before it.
std::string history_text(const History& history);

// {"series": [{name, of, setting, points[], changes[], reason}], "left_out": [{name, file, reason}]}. A change: kind, ratio,
// before and after (in the unit of the points), p_value, and begin, end and last_before, each a point with its index.
Json history_json(const History& history);

// One row per commit that the search tried, then the commit that made the case slower with its ratio and interval, or the
// possible ones, or why none is named; and the change by op.
std::string bisect_text(const BisectAnswer& answer);

// {"verdict": "found" | "range" | "inconclusive", case, good, bad, ratio and ratio_ci95 of bad beside good, suspects[],
// last_fast, first_slow, step {ratio, ratio_ci95, pairs}, ops[{op, before_seconds, after_seconds}], no_ops, commits[]}.
Json bisect_json(const BisectAnswer& answer);

// "1.041": a ratio in the tables of compare and bisect.
std::string plain_ratio(double ratio);

// Parts shared by the table, GitHub's annotations, JSON and the page.
//
// "peak_memory: 120 MiB, 20.0 % more than 100 MiB": a stable code for programs, then words for people.
std::string to_string(const Issue& issue);

// Notes on a case besides its figures, in one line; "" if there are none.
std::string notes_text(const ComparedCase& compared);

// "NAME: REASON"
std::string to_string(const LeftOutCase& left_out);

// "5.20 % slower (95 %: 4.1 % slower to 6.3 % slower)"; "" without a ratio.
std::string ratio_text(const Decision& decision);

// "abc1234 (2026-01-02, 0.1.0, Release, gcc 12.2.0)", as far as known.
std::string build_text(const ComparedSide& side);

// Why the verdict is what it is: "2 of 3 cases are slower, 1 case is missing".
std::string reason_text(const Comparison& comparison);

struct NextStep {
  std::string text;  // "more pairs"; empty: nothing is inconclusive, or no pairs would decide what is
  // A command that is likely to decide it; empty if there is none. For files it contains BASELINE_BINARY and NEW_BINARY.
  std::string command;
};
NextStep next_step(const Comparison& comparison);

// A commit as people quote it: its first 7 digits, with "-dirty" if it was.
std::string commit_text(const std::optional<std::string>& git_sha, const std::optional<bool>& git_dirty);

}  // namespace epochbench
