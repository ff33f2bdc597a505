#include "src/report/compare/compare_github.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/report/compare/compare_sentences.h"

namespace epochbench {
namespace {

constexpr std::size_t kShown = 10;  // annotations of one kind that GitHub shows of a step

// As the runner decodes them. On one line, since a line break in a name would begin a command of its own.
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

// Text in a cell or a line of Markdown: nothing in it is markup, HTML or a mention.
std::string escaped_markdown(const std::string& text) {
  std::string escaped;
  for (const char c : one_line(text)) {
    if (c == '<')
      escaped += "&lt;";
    else if (c == '&')
      escaped += "&amp;";
    else if (c == '@')
      escaped += "&#64;";
    else if (std::string_view("\\`*_{}[]#|~>").find(c) != std::string_view::npos)
      escaped += std::string("\\") + c;
    else
      escaped += c;
  }
  return escaped;
}

struct Annotation {
  std::string title, message;
};

class Annotations {
 public:
  explicit Annotations(const Comparison& comparison) : comparison_(comparison) {
    for (const ComparedCase& each : comparison.cases) add(each);
    add("missing", comparison.missing, comparison.missing_allowed ? notices_ : errors_);
    add("another workload with these settings, so not compared", comparison.changed, warnings_);
    add("the baseline has nothing to compare it with", comparison.added, notices_);
  }

  std::string to_string() const { return lines("error", errors_) + lines("warning", warnings_) + lines("notice", notices_); }

 private:
  void add(const ComparedCase& compared) {
    const Decision& decision = compared.decision;
    const std::string processes = ", " + processes_text(comparison_, compared);
    const std::string note = decision.note.empty() ? "" : ": " + decision.note;
    for (const Issue& issue : compared.issues)
      (fails(issue.code) ? errors_ : warnings_).push_back({compared.name, epochbench::to_string(issue)});
    switch (decision.finding) {
      case Finding::regression:  // a case without a time is one because of an issue, which says so
        if (decision.ratio) errors_.push_back({compared.name, ratio_text(decision) + processes});
        break;
      case Finding::inconclusive:
        warnings_.push_back(
            {compared.name, "inconclusive" + note + (decision.ratio ? "; " + ratio_text(decision) : "") + processes});
        break;
      case Finding::improvement:
        notices_.push_back({compared.name, ratio_text(decision) + processes});
        break;
      case Finding::no_change:
        break;
    }
  }

  static void add(const std::string& what, const std::vector<LeftOutCase>& cases, std::vector<Annotation>& list) {
    for (const LeftOutCase& each : cases) list.push_back({each.name, what + (each.reason.empty() ? "" : ": " + each.reason)});
  }

  static std::string lines(const std::string& kind, const std::vector<Annotation>& list) {
    std::string text;
    const std::size_t shown = list.size() > kShown ? kShown - 1 : list.size();
    const auto line = [&](const Annotation& each) {
      text +=
          "::" + kind + " title=" + escaped_property("epochbench: " + each.title) + "::" + escaped_data(each.message) + "\n";
    };
    for (std::size_t i = 0; i < shown; ++i) line(list[i]);
    if (shown < list.size()) line({"more", "and " + std::to_string(list.size() - shown) + " more; the job summary has all"});
    return text;
  }

  const Comparison& comparison_;
  std::vector<Annotation> errors_, warnings_, notices_;
};

std::string row(const Comparison& comparison, const ComparedCase& compared) {
  const Decision& decision = compared.decision;
  const auto number = [](double value) { return significant(value, 4); };
  std::string notes = decision.note;
  for (const Issue& issue : compared.issues) notes += (notes.empty() ? "" : "; ") + to_string(issue);
  std::string text = "| " + escaped_markdown(compared.name);
  text += " | " + (decision.ratio ? number(*decision.ratio) : "");
  text += " | ";
  if (decision.ratio_ci95) text += number(decision.ratio_ci95->first) + " to " + number(decision.ratio_ci95->second);
  text += " | " + spaced(name(decision.finding)) + " | " + processes_text(comparison, compared);
  text += " | " + (compared.foreign_cores ? significant(*compared.foreign_cores, 2) : "not known");
  return text + " | " + escaped_markdown(notes) + " |\n";
}

std::string list(const std::vector<LeftOutCase>& cases, const std::string& what) {
  std::string text;
  for (const LeftOutCase& each : cases)
    text += "- " + what + ": " + escaped_markdown(each.name + (each.reason.empty() ? "" : ": " + each.reason)) + "\n";
  return text;
}

}  // namespace

std::string github_annotations(const Comparison& comparison) { return Annotations(comparison).to_string(); }

std::string github_summary(const Comparison& comparison) {
  std::string text = "## epochbench: " + spaced(name(verdict_of(comparison))) + "\n\n" + reason_text(comparison) + "\n\n";
  for (const auto& [side, title] : {std::pair(&comparison.sides[0], "baseline"), std::pair(&comparison.sides[1], "new")})
    text += std::string("- ") + title + ": " + escaped_markdown(side->label + " " + build_text(*side)) + "\n";
  if (!comparison.cases.empty()) {
    text += "\n| case | new / baseline time | 95 % interval | verdict | processes | foreign cores | notes |\n";
    text += "|---|---:|---:|---|---|---:|---|\n";
    for (const ComparedCase& each : comparison.cases) text += row(comparison, each);
  }
  const std::string left_out = list(comparison.missing, "missing") + list(comparison.added, "added") +
                               list(comparison.changed, "changed, so not compared") +
                               list(comparison.not_measured, "not measured");
  if (!left_out.empty()) text += "\n" + left_out;
  const NextStep next = next_step(comparison);
  if (!next.text.empty()) text += "\nWhat would decide: " + next.text + "\n";
  if (!next.command.empty()) text += "\n```\n" + next.command + "\n```\n";
  return text + "\n";
}

}  // namespace epochbench
