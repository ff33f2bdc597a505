#include <algorithm>
#include <cmath>

#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/report/compare/compare_report.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

// "20.0 % more", "3.10 % less", "the same"
std::string change_text(double ratio, const char* more, const char* less) {
  if (ratio == 1) return "the same";
  return format_percent(std::fabs(ratio - 1)) + " " + (ratio > 1 ? more : less);
}

std::string issue_sentence(const Issue& issue) {
  const double ratio = issue.before > 0 ? issue.after / issue.before : 0;
  switch (issue.code) {
    case IssueCode::not_ok:
      return "it was ok and is not any more: " + issue.reason;
    case IssueCode::peak_memory:
      return format_bytes(issue.after) + ", " + change_text(ratio, "more", "less") + " than " + format_bytes(issue.before);
    case IssueCode::final_loss:
      return "the loss of step " + std::to_string(issue.step) + " is " + significant(issue.after, 6) + " and was " +
             significant(issue.before, 6) + "; rounding explains a relative difference of " + significant(issue.limit, 2);
    case IssueCode::compile_time:
      return format_seconds(issue.after) + ", " + significant(ratio, 2) + " times the " + format_seconds(issue.before) +
             " of the baseline";
  }
  return "";
}

// " --threshold 5"; "" for the default.
std::string threshold_option(double threshold) {
  return threshold == kDefaultThreshold ? "" : " --threshold " + short_number(100 * threshold, 10);
}

}  // namespace

std::string to_string(const LeftOutCase& left_out) {
  return left_out.name + (left_out.reason.empty() ? "" : ": " + left_out.reason);
}

std::string to_string(const Issue& issue) { return one_line(std::string(name(issue.code)) + ": " + issue_sentence(issue)); }

std::string notes_text(const ComparedCase& compared) {
  std::string notes = compared.decision.note;
  for (const Issue& issue : compared.issues) append(notes, to_string(issue), "; ");
  return notes;
}

std::string ratio_text(const Decision& decision) {
  if (!decision.ratio) return "";
  const auto as_text = [](double ratio) { return change_text(ratio, "slower", "faster"); };
  std::string text = as_text(*decision.ratio);
  if (decision.ratio_ci95)
    text += " (95 %: " + as_text(decision.ratio_ci95->first) + " to " + as_text(decision.ratio_ci95->second) + ")";
  return text;
}

std::string commit_text(const std::optional<std::string>& git_sha, const std::optional<bool>& git_dirty) {
  constexpr std::size_t kQuotedDigits = 7;
  if (!git_sha) return "";
  return one_line(git_sha->substr(0, kQuotedDigits)) + (git_dirty.value_or(false) ? "-dirty" : "");
}

std::string build_text(const ComparedSide& side) {
  constexpr std::size_t kDay = 10;  // characters of "2026-01-02T03:04:05Z"
  const std::string details = joined({side.date.substr(0, kDay), side.version, side.build_type, side.compiler});
  const std::string commit = commit_text(side.git_sha, side.git_dirty);
  if (details.empty()) return commit;
  return one_line((commit.empty() ? "" : commit + " ") + "(" + details + ")");
}

std::string reason_text(const Comparison& comparison) {
  const auto of_cases = [&](const auto& matches) {
    return static_cast<std::size_t>(std::count_if(comparison.cases.begin(), comparison.cases.end(), matches));
  };
  const auto found = [&](Finding finding) {
    return of_cases([&](const ComparedCase& each) {  // cases that are not ok any more have no time and are counted as such
      return each.decision.finding == finding && (finding != Finding::regression || each.step_seconds[1]);
    });
  };
  const auto missing = static_cast<std::size_t>(
      std::ranges::count_if(comparison.missing, [&](const LeftOutCase& each) { return !is_allowed(comparison, each.name); }));
  const auto cases_with = [&](IssueCode code) {
    return of_cases([&](const ComparedCase& each) {
      return std::any_of(each.issues.begin(), each.issues.end(), [&](const Issue& c) { return c.code == code; });
    });
  };
  std::string text;
  const auto add = [&](std::size_t count, const char* one, const char* several) {
    if (count > 0) append(text, counted(count, one, several));
  };
  if (const std::size_t count = not_compared_count(comparison); count > 0)
    text = std::to_string(count) + " of " + counted(case_count(comparison), "case", "cases") +
           (count == 1 ? " was not compared" : " were not compared");
  add(cases_with(IssueCode::not_ok), "case is not ok any more", "cases are not ok any more");
  add(found(Finding::regression), "case is slower", "cases are slower");
  add(cases_with(IssueCode::peak_memory), "case takes more memory", "cases take more memory");
  add(missing, "case is missing", "cases are missing");
  add(found(Finding::inconclusive), "case is inconclusive", "cases are inconclusive");
  add(found(Finding::improvement), "case is faster", "cases are faster");
  add(found(Finding::no_change), "case is as fast as before", "cases are as fast as before");
  return text.empty() ? "no case was compared" : text;
}

namespace {

std::string suite_option(const Comparison& comparison) {
  if (!comparison.case_options.empty()) return " " + comparison.case_options;
  return " --suite " + (comparison.suite.empty() ? "SUITE" : shell_word(comparison.suite));
}

bool needs(const Comparison& comparison, Remedy remedy) {
  return std::ranges::any_of(comparison.cases, [&](const ComparedCase& each) {
    return each.decision.finding == Finding::not_compared && each.decision.remedy == remedy;
  });
}

// Measures a side's file again, by its suite if it has one. A folder gets one more file, whose name is the reader's choice.
NextStep measure_again(const Comparison& comparison, std::size_t side) {
  const std::string repetitions = "--repetitions " + std::to_string(3 * kMinToDecide);
  const std::string text = std::string("measure the ") + (side == 0 ? "baseline" : "new side") + " again, on a quiet machine";
  if (comparison.suite.empty()) return {text + ", with " + repetitions, ""};
  const std::string& label = comparison.sides[side].label;
  const std::string out = label.ends_with(".json") ? " --overwrite --out " + shell_word(label) : "";
  return {text, "epochbench run" + suite_option(comparison) + " " + repetitions + out};
}

NextStep next_step_of_files(const Comparison& comparison) {
  if (needs(comparison, Remedy::measure_baseline) || !comparison.changed.empty() || !comparison.baseline_not_ok.empty())
    return measure_again(comparison, 0);
  if (needs(comparison, Remedy::measure_new)) return measure_again(comparison, 1);
  std::size_t repetitions = 0;
  for (const ComparedCase& each : comparison.cases)
    if (each.decision.finding == Finding::inconclusive && each.decision.remedy == Remedy::more_turns)
      repetitions = std::max(repetitions, each.decision.used + each.decision.more.value_or(0));
  if (repetitions > 0) return {"let both take turns again, with --repetitions " + std::to_string(repetitions), ""};
  const bool open = std::ranges::any_of(
      comparison.cases, [](const ComparedCase& each) { return each.decision.finding == Finding::inconclusive; });
  if (open || needs(comparison, Remedy::interleave))
    return {"interleave both binaries, so that other jobs affect both alike",
            "epochbench compare --interleave BASELINE_BINARY NEW_BINARY" + suite_option(comparison) +
                threshold_option(comparison.threshold)};
  if (needs(comparison, Remedy::speedup))
    return {"measure the baseline again, as the new side was; or ask how much faster one is, whatever differs",
            "epochbench speedup " + shell_word(comparison.sides[0].label) + " " + shell_word(comparison.sides[1].label)};
  return {};
}

NextStep next_step_of_turns(const Comparison& comparison) {
  std::size_t pairs = PairedRule{}.max_pairs;  // the default of --max-pairs
  bool open = false;
  for (const ComparedCase& each : comparison.cases) {
    if (each.decision.finding != Finding::inconclusive || !each.decision.more) continue;
    open = true;
    pairs = std::max(pairs, each.decision.used + *each.decision.more);
  }
  if (!open) return {};
  if (pairs > kMaxPairsOfACall)
    return {"a quieter machine: here about " + std::to_string(pairs) + " pairs would decide, and a call takes at most " +
                std::to_string(kMaxPairsOfACall),
            ""};
  const auto& [baseline, contender] = comparison.sides;
  const bool forced = is_debug_build(baseline.build_type) || is_debug_build(contender.build_type);
  return {"more pairs", "epochbench compare --interleave " + shell_word(baseline.label) + " " + shell_word(contender.label) +
                            suite_option(comparison) + threshold_option(comparison.threshold) + (forced ? " --force" : "") +
                            " --max-pairs " + std::to_string(pairs)};
}

}  // namespace

NextStep next_step(const Comparison& comparison) {
  return comparison.interleaved ? next_step_of_turns(comparison) : next_step_of_files(comparison);
}

}  // namespace epochbench
