// The answer of `compare` for people, and as JSON.
#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "src/base/json_fields.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/report/compare/compare_report.h"
#include "src/report/text/text_parts.h"
#include "src/report/view.h"

namespace epochbench {
namespace {

constexpr std::size_t kNameColumns = 34;  // what the other columns leave of 100

// The beginning and end of a long name; the full name is below the table.
std::string shortened(const std::string& name) {
  std::vector<std::size_t> characters;  // where each one begins
  for (std::size_t at = 0; at < name.size(); ++at)
    if ((static_cast<unsigned char>(name[at]) & 0xC0) != 0x80) characters.push_back(at);
  if (characters.size() <= kNameColumns) return name;
  const std::string gap = "..";
  const std::size_t head = (kNameColumns - gap.size()) / 2, tail = kNameColumns - gap.size() - head;
  return name.substr(0, characters[head]) + gap + name.substr(characters[characters.size() - tail]);
}

std::string processes_cell(const Comparison& comparison, const ComparedCase& compared) {
  const auto [before, after] = compared.processes;
  if (comparison.interleaved || before == after) return std::to_string(after);
  return std::to_string(before) + ", " + std::to_string(after);
}

std::string table_of(const Comparison& comparison) {
  View table{"", columns(std::string("case|->baseline|>ratio|>95 % interval|verdict|") +
                         (comparison.interleaved ? "->pairs" : "->reps") + "|-->others")};
  for (const ComparedCase& each : comparison.cases) {
    const auto& interval = each.decision.ratio_ci95;
    table.rows.push_back({shortened(one_line(each.name)) + load_mark(is_loaded(each.foreign_cores)),
                          each.step_seconds[0] ? format_seconds(*each.step_seconds[0]) : "",
                          each.decision.ratio ? plain_ratio(*each.decision.ratio) : "",
                          interval ? plain_ratio(interval->first) + " to " + plain_ratio(interval->second) : "",
                          spaced(name(each.decision.finding)), processes_cell(comparison, each),
                          each.foreign_cores ? significant(*each.foreign_cores, 2) : "?"});
  }
  return terminal_table(table);
}

// Notes on a case, one line each under its full name.
std::string notes_of(const Comparison& comparison, const ComparedCase& compared) {
  std::string lines;
  if (!compared.decision.note.empty()) lines += "    " + one_line(compared.decision.note) + "\n";
  for (const Issue& issue : compared.issues)
    lines += "    " + to_string(issue) + (fails(comparison, compared, issue) ? "" : " (reported, not a failure)") + "\n";
  if (lines.empty() && shortened(compared.name) == compared.name) return "";
  return "  " + one_line(compared.name) + "\n" + lines;
}

// One line per case; `title` has "(allowed)" where the call allows it.
std::string left_out(const Comparison& comparison, const std::vector<LeftOutCase>& cases, const std::string& title) {
  std::string text;
  for (const LeftOutCase& each : cases)
    text += title + (is_allowed(comparison, each.name) ? " (allowed): " : ": ") + one_line(to_string(each)) + "\n";
  return text;
}

// What makes the exit code 1 or 2 besides a time, and how to accept it.
std::string rule_text(const Comparison& comparison) {
  const auto any_not_allowed = [&](const auto& cases) {
    return std::ranges::any_of(cases, [&](const auto& each) { return !is_allowed(comparison, each.name); });
  };
  std::string text;
  if (any_not_allowed(comparison.missing)) text = "A missing case counts as a regression; --allow CASE accepts it.\n";
  const bool undecidable = std::ranges::any_of(comparison.cases, [&](const ComparedCase& each) {
    return each.decision.finding == Finding::not_compared && is_judged(comparison, each);
  });
  if (undecidable || any_not_allowed(comparison.changed) || any_not_allowed(comparison.not_measured) ||
      any_not_allowed(comparison.baseline_not_ok))
    text += "A case that is not compared makes the exit code 2; --allow CASE accepts it.\n";
  return text;
}

std::string next_text(const Comparison& comparison) {
  const NextStep next = next_step(comparison);
  if (next.text.empty()) return "";
  return "next: " + next.text + (next.command.empty() ? "" : ":\n  " + next.command) + "\n";
}

Json side_json(const ComparedSide& side) {
  return {{"label", side.label},
          {"git_sha", json_of(side.git_sha)},
          {"git_dirty", json_of(side.git_dirty)},
          {"date", text_or_null(side.date)},
          {"epochbench_version", text_or_null(side.version)},
          {"build_type", text_or_null(side.build_type)},
          {"compiler", text_or_null(side.compiler)}};
}

Json issue_json(const Comparison& comparison, const ComparedCase& compared, const Issue& issue) {
  const bool has_figures = issue.code != IssueCode::not_ok;
  const auto figure = [&](double value) { return has_figures ? Json(value) : Json(nullptr); };
  return {{"code", name(issue.code)},
          {"message", to_string(issue)},
          {"fails", fails(comparison, compared, issue)},
          {"before", figure(issue.before)},
          {"after", figure(issue.after)},
          {"limit", figure(issue.limit)},
          {"step", issue.step > 0 ? Json(issue.step) : Json(nullptr)}};
}

Json case_json(const Comparison& comparison, const ComparedCase& compared) {
  const Decision& decision = compared.decision;
  Json object = {{"name", compared.name},
                 {"verdict", name(decision.finding)},
                 {"ratio", json_of(decision.ratio)},
                 {"ratio_ci95", json_of(decision.ratio_ci95)},
                 {"p_value", json_of(decision.p_value)},
                 {"note", decision.note},
                 {"baseline_step_seconds", json_of(compared.step_seconds[0])},
                 {"new_step_seconds", json_of(compared.step_seconds[1])}};
  if (comparison.interleaved) {
    object["pairs"] = compared.processes[1];
  } else {
    object["baseline_repetitions"] = compared.processes[0];
    object["new_repetitions"] = compared.processes[1];
  }
  object["foreign_cpu_cores"] = json_of(compared.foreign_cores);
  object["more"] = json_of(decision.more);
  object["concerns"] = json_list(compared.issues, [&](const Issue& issue) { return issue_json(comparison, compared, issue); });
  return object;
}

}  // namespace

std::string plain_ratio(double ratio) {
  if (ratio < 0.1 || ratio >= 10) return significant(ratio, 3);
  char text[16];
  std::snprintf(text, sizeof text, "%.3f", ratio);
  return text;
}

std::string compare_text(const Comparison& comparison) {
  std::string text;
  for (const auto& [side, title] :
       {std::pair(&comparison.sides[0], "baseline  "), std::pair(&comparison.sides[1], "new       ")})
    text += title + one_line(side->label) + "  " + build_text(*side) + "\n";
  if (!comparison.cases.empty()) {
    text += "\n" + table_of(comparison) + "\n";
    text += "ratio: new step time over the baseline's, so above 1 is slower; threshold " +
            format_percent(comparison.threshold) + ".\n";
    text += std::string("others: cores that other processes took, the most during any ") +
            (comparison.interleaved ? "pair" : "repetition") + "; ?: not known.\n";
    for (const ComparedCase& each : comparison.cases) text += notes_of(comparison, each);
  }
  text += left_out(comparison, comparison.missing, "missing") + left_out(comparison, comparison.added, "added") +
          left_out(comparison, comparison.changed, "changed, so not compared") +
          left_out(comparison, comparison.not_measured, "not measured") +
          left_out(comparison, comparison.baseline_not_ok, "not ok in the baseline") + rule_text(comparison);
  text += "verdict: " + spaced(name(verdict_of(comparison))) + ": " + reason_text(comparison) + "\n";
  return text + next_text(comparison);
}

Json compare_json(const Comparison& comparison) {
  Json object = {{"verdict", name(verdict_of(comparison))},
                 {"reason", reason_text(comparison)},
                 {"method", comparison.interleaved ? "interleaved" : "files"},
                 {"threshold", comparison.threshold},
                 {"baseline", side_json(comparison.sides[0])},
                 {"new", side_json(comparison.sides[1])},
                 {"cases", json_list(comparison.cases, [&](const auto& each) { return case_json(comparison, each); })}};
  Json reasons = Json::object();
  const std::array left_out{std::pair("missing", &comparison.missing), std::pair("added", &comparison.added),
                            std::pair("changed", &comparison.changed), std::pair("not_measured", &comparison.not_measured),
                            std::pair("baseline_not_ok", &comparison.baseline_not_ok)};
  for (const auto& [key, cases] : left_out) {
    object[key] = Json::array();
    for (const LeftOutCase& each : *cases) {
      object[key].push_back(each.name);
      reasons[each.name] = each.reason;
    }
  }
  object["reasons"] = reasons;
  object["next"] = text_or_null(next_step(comparison).command);
  return object;
}

}  // namespace epochbench
