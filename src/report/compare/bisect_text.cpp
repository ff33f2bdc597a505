// The answer of `bisect` for people, and as JSON.
#include <algorithm>
#include <string>

#include "src/base/json_fields.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/report/compare/compare_report.h"
#include "src/report/text/text_parts.h"
#include "src/report/view.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

constexpr std::size_t kShownOps = 8;

std::string named(const Commit& commit) { return commit.short_sha() + " (" + commit.date + ") " + one_line(commit.subject); }

std::string ratio_with_interval(const Decision& decision) {
  if (!decision.ratio) return "of unknown ratio";
  std::string text = plain_ratio(*decision.ratio) + " times";
  if (decision.ratio_ci95)
    text += " (95 % interval " + plain_ratio(decision.ratio_ci95->first) + " to " + plain_ratio(decision.ratio_ci95->second) +
            ", " + counted(decision.used, "pair", "pairs") + ")";
  return text;
}

std::string commits_text(const BisectAnswer& answer) {
  View table{"", columns("commit|date|->pairs|>ratio|is|--subject")};
  std::string reasons;
  for (const MeasuredCommit& commit : answer.commits) {
    if (commit.level == Level::unknown) continue;
    table.rows.push_back({commit.short_sha(), commit.date, commit.pairs > 0 ? std::to_string(commit.pairs) : "",
                          cell(commit.ratio, plain_ratio), name(commit.level), one_line(commit.subject)});
    if (!commit.reason.empty()) reasons += "skipped " + commit.short_sha() + ": " + one_line(commit.reason) + "\n";
  }
  return terminal_table(table) + "ratio: step time over that of " + answer.good.short_sha() +
         "; fast and slow: below and above half of the slowdown.\n" + reasons;
}

const char* verdict_word(const BisectAnswer& answer) {
  return !answer.is_confirmed() ? "inconclusive" : answer.names_one() ? "found" : "range";
}

std::string verdict_text(const BisectAnswer& answer) {
  const Decision& step = answer.step.decision;
  const std::string ends = named(answer.first_slow()) + "\n  takes " + ratio_with_interval(step) + " the time of " +
                           answer.last_fast().short_sha() + "\n";
  if (!answer.is_confirmed())
    return "inconclusive: the search ended at\n  " + ends + "  and these pairs alone show no slowdown" +
           (step.note.empty() ? "" : " (" + one_line(step.note) + ")") + ".\nnext: more pairs, with --resume and --max-pairs " +
           std::to_string(2 * kMaxBisectPairs) + ", or a quieter machine\n";
  if (answer.names_one()) return "first slow commit: " + ends;
  return "first slow commit: one of " + std::to_string(answer.search.suspects()) + "; the last one is\n  " + ends +
         "  those between could not be measured or decided\n";
}

std::string change_text(const OpChange& op) {
  const double change = op.after_seconds - op.before_seconds;
  const std::string share = op.before_seconds > 0 ? " (" + std::string(change < 0 ? "" : "+") +
                                                        significant(100 * change / op.before_seconds, 3) + " %)"
                                                  : "";
  return (change < 0 ? "-" : "+") + format_seconds(std::max(change, -change)) + share;
}

std::string ops_text(const BisectAnswer& answer) {
  if (answer.ops.empty()) return answer.no_ops.empty() ? "" : "\nchange by op: " + one_line(answer.no_ops) + "\n";
  View table{"", columns("op|>before|>after|>change")};
  for (std::size_t i = 0; i < std::min(kShownOps, answer.ops.size()); ++i) {
    const OpChange& op = answer.ops[i];
    table.rows.push_back({op.op, format_seconds(op.before_seconds), format_seconds(op.after_seconds), change_text(op)});
  }
  return "\n" + terminal_table(table) + "ops: medians of three profiles of each of the two commits, in turns; no interval.\n";
}

Json commit_json(const Commit& commit) { return {{"sha", commit.sha}, {"date", commit.date}, {"subject", commit.subject}}; }

Json measured_json(const MeasuredCommit& commit) {
  Json object = commit_json(commit);
  object["level"] = name(commit.level);
  object["pairs"] = commit.pairs;
  object["ratio"] = json_of(commit.ratio);
  object["reason"] = text_or_null(commit.reason);
  return object;
}

Json op_json(const OpChange& op) {
  return {{"op", op.op}, {"before_seconds", op.before_seconds}, {"after_seconds", op.after_seconds}};
}

}  // namespace

std::string bisect_text(const BisectAnswer& answer) {
  return "good  " + named(answer.good) + "\nbad   " + named(answer.commits.back()) + "\ncase  " + one_line(answer.case_name) +
         ", at bad " + ratio_with_interval(answer.whole) + " the step time\n\n" + commits_text(answer) + "\n" +
         verdict_text(answer) + ops_text(answer);
}

Json bisect_json(const BisectAnswer& answer) {
  Json suspects = Json::array();
  const std::size_t first = answer.search.first_slow + 1 - answer.search.suspects();
  for (std::size_t i = first; i <= answer.search.first_slow; ++i) suspects.push_back(answer.commits[i].sha);
  const Decision& step = answer.step.decision;
  return {{"verdict", verdict_word(answer)},
          {"case", answer.case_name},
          {"good", commit_json(answer.good)},
          {"bad", commit_json(answer.commits.back())},
          {"ratio", json_of(answer.whole.ratio)},
          {"ratio_ci95", json_of(answer.whole.ratio_ci95)},
          {"suspects", suspects},
          {"last_fast", commit_json(answer.last_fast())},
          {"first_slow", commit_json(answer.first_slow())},
          {"step", {{"ratio", json_of(step.ratio)}, {"ratio_ci95", json_of(step.ratio_ci95)}, {"pairs", step.used}}},
          {"ops", json_list(answer.ops, op_json)},
          {"no_ops", text_or_null(answer.no_ops)},
          {"commits", json_list(answer.commits, measured_json)}};
}

}  // namespace epochbench
