#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/report/compare/compare_report.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

constexpr std::size_t kShown = 10;  // annotations of one kind that GitHub shows per step

// Escaped as the runner decodes it. On one line, since a line break in a name would begin another command.
std::string escaped_data(const std::string& text) {
  std::string escaped = one_line(text);
  replace_all(escaped, "%", "%25");
  return escaped;
}

std::string escaped_property(const std::string& property) {
  std::string text = escaped_data(property);
  replace_all(text, ":", "%3A");
  replace_all(text, ",", "%2C");
  return text;
}

// Text for a cell or a line of Markdown, escaped so that nothing in it is markup, HTML or a mention.
std::string escaped_markdown(const std::string& text) {
  std::string escaped;
  for (const char c : one_line(text))
    escaped += (contains(std::string_view("\\`*_{}[]#|~>"), c) ? "\\" : "") + std::string(1, c);
  replace_all(escaped, "&", "&amp;");  // before the others, which contain it
  replace_all(escaped, "<", "&lt;");
  replace_all(escaped, "@", "&#64;");
  return escaped;
}

// "5 and 5 repetitions", "10 pairs"
std::string processes_text(const Comparison& comparison, const ComparedCase& compared) {
  const auto [before, after] = compared.processes;
  if (comparison.interleaved) return counted(after, "pair", "pairs");
  if (before == after) return counted(after, "repetition", "repetitions") + " per side";
  return std::to_string(before) + " and " + counted(after, "repetition", "repetitions");
}

struct Annotation {
  std::string title, message;
};

std::string lines(const std::string& kind, const std::vector<Annotation>& list) {
  std::string text;
  const std::size_t shown = list.size() > kShown ? kShown - 1 : list.size();
  const auto line = [&](const Annotation& each) {
    text += "::" + kind + " title=" + escaped_property("epochbench: " + each.title) + "::" + escaped_data(each.message) + "\n";
  };
  for (std::size_t i = 0; i < shown; ++i) line(list[i]);
  if (shown < list.size()) line({"more", "and " + std::to_string(list.size() - shown) + " more; the job summary has all"});
  return text;
}

std::string row(const Comparison& comparison, const ComparedCase& compared) {
  const Decision& decision = compared.decision;
  const auto number = [](double value) { return significant(value, 4); };
  std::string text = "| " + escaped_markdown(compared.name) + load_mark(is_loaded(compared.foreign_cores));
  text += " | " + (decision.ratio ? number(*decision.ratio) : "");
  text += " | ";
  if (decision.ratio_ci95) text += number(decision.ratio_ci95->first) + " to " + number(decision.ratio_ci95->second);
  text += " | " + spaced(name(decision.finding)) + " | " + processes_text(comparison, compared);
  text += " | " + (compared.foreign_cores ? significant(*compared.foreign_cores, 2) : "not known");
  return text + " | " + escaped_markdown(notes_text(compared)) + " |\n";
}

std::string list(const std::vector<LeftOutCase>& cases, const std::string& what) {
  std::string text;
  for (const LeftOutCase& each : cases) text += "- " + what + ": " + escaped_markdown(to_string(each)) + "\n";
  return text;
}

}  // namespace

std::string github_annotations(const Comparison& comparison) {
  std::vector<Annotation> errors, warnings, notices;
  for (const ComparedCase& compared : comparison.cases) {
    const Decision& decision = compared.decision;
    const std::string processes = ", " + processes_text(comparison, compared);
    const std::string note = decision.note.empty() ? "" : ": " + decision.note;
    for (const Issue& issue : compared.issues)
      (fails(comparison, compared, issue) ? errors : warnings).push_back({compared.name, to_string(issue)});
    if (decision.finding == Finding::regression && decision.ratio)  // without a time, an issue says why
      errors.push_back({compared.name, ratio_text(decision) + processes});
    const bool undecidable = decision.finding == Finding::not_compared;
    if (undecidable || decision.finding == Finding::inconclusive)
      (undecidable && is_judged(comparison, compared) ? errors : warnings)
          .push_back({compared.name,
                      spaced(name(decision.finding)) + note + (decision.ratio ? "; " + ratio_text(decision) : "") + processes});
    if (decision.finding == Finding::improvement) notices.push_back({compared.name, ratio_text(decision) + processes});
  }
  const auto add = [&](std::vector<Annotation>& list, const std::string& what, const std::vector<LeftOutCase>& cases) {
    for (const LeftOutCase& each : cases)
      (is_allowed(comparison, each.name) ? notices : list)
          .push_back({each.name, what + (each.reason.empty() ? "" : ": " + each.reason)});
  };
  add(errors, "missing", comparison.missing);
  add(errors, "another workload with these settings, so not compared", comparison.changed);
  add(errors, "not measured", comparison.not_measured);
  add(errors, "not ok in the baseline", comparison.baseline_not_ok);
  add(notices, "the baseline has nothing to compare it with", comparison.added);
  return lines("error", errors) + lines("warning", warnings) + lines("notice", notices);
}

std::string github_summary(const Comparison& comparison) {
  std::string text = "## epochbench: " + spaced(name(verdict_of(comparison))) + "\n\n" + reason_text(comparison) + "\n\n";
  for (const auto& [side, title] : {std::pair(&comparison.sides[0], "baseline"), std::pair(&comparison.sides[1], "new")})
    text += std::string("- ") + title + ": " + escaped_markdown(side->label + " " + build_text(*side)) + "\n";
  if (!comparison.cases.empty()) {
    const bool loaded = std::ranges::any_of(comparison.cases, [](const auto& each) { return is_loaded(each.foreign_cores); });
    if (loaded) text += "\n" + load_note() + "\n";
    text += "\n| case | new / baseline time | 95 % interval | verdict | processes | foreign cores | notes |\n";
    text += "|---|---:|---:|---|---|---:|---|\n";
    for (const ComparedCase& each : comparison.cases) text += row(comparison, each);
  }
  const std::string left_out = list(comparison.missing, "missing") + list(comparison.added, "added") +
                               list(comparison.changed, "changed, so not compared") +
                               list(comparison.not_measured, "not measured") +
                               list(comparison.baseline_not_ok, "not ok in the baseline");
  if (!left_out.empty()) text += "\n" + left_out;
  const NextStep next = next_step(comparison);
  if (!next.text.empty()) text += "\nWhat would decide: " + next.text + "\n";
  if (!next.command.empty()) text += "\n```\n" + next.command + "\n```\n";
  return text + "\n";
}

}  // namespace epochbench
