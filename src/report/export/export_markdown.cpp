// A table for a pull request, in GitHub's Markdown: one row per case.
#include <algorithm>
#include <cctype>
#include <vector>

#include "src/analysis/compare/decision.h"
#include "src/base/text.h"
#include "src/report/export/export_formats.h"
#include "src/report/text/case_columns.h"
#include "src/report/text/result_text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

// As code, so that markup, mentions and issue numbers in it have no effect. If a character would end the code or the cell, as
// HTML with character references, which are never structure (CommonMark 0.31, section 2.5).
std::string code(const std::string& text) {
  const std::string line = one_line_of(text, 300);
  if (line.find_first_not_of(' ') == std::string::npos) return "";
  if (line.find_first_of("`|\\") == std::string::npos) return "`" + line + "`";
  std::string html = "<code>";
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x80 || std::isalnum(byte) || c == ' ' || c == '/' || c == '-' || c == '.' || c == ',';
    html += plain ? std::string(1, c) : "&#" + std::to_string(byte) + ";";
  }
  return html + "</code>";
}

// Leaves out the columns that are empty for all runs.
std::string table(const std::vector<RunGroup>& groups) {
  const View view = cases_view(kInMarkdown, groups, "run|repetitions", [](const RunGroup& group) {
    return std::vector<Cell>{code(group.name) + load_mark(any_disturbed(group.runs)), std::to_string(group.runs.size())};
  });
  std::string head = "|", rule = "|";
  std::vector<std::string> rows(view.rows.size(), "|");
  for (std::size_t at = 0; at < view.columns.size(); ++at) {
    if (std::ranges::all_of(view.rows, [&](const auto& row) { return row[at].text.empty(); })) continue;
    head += " " + view.columns[at].title + " |";
    rule += at == 0 ? " --- |" : " ---: |";
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] += " " + view.rows[i][at].text + " |";
  }
  std::string text = head + "\n" + rule + "\n";
  for (const std::string& row : rows) text += row + "\n";
  return (text.find(kLoadMark) == std::string::npos ? "" : load_note() + "\n\n") + text + "\n";
}

std::string ratios(const Result& result) {
  std::string text;
  for (const std::string& line : ratio_lines(result)) text += "- samples/s: " + code(line) + "\n";
  return text.empty() ? "" : text + "\n";
}

// One line per training to a target.
std::string to_quality(const Result& result) {
  std::string text;
  for (const TimeToQuality& time : times_to_quality(result.runs)) text += "- to quality: " + code(time_to_quality(time)) + "\n";
  return text.empty() ? "" : text + "\n";
}

// One line per status and message, with the runs that ended so.
std::string not_ok(const Result& result) {
  constexpr std::size_t kMaxNames = 8;  // a suite may skip hundreds for one reason
  Reasons reasons;
  for (const Run& run : result.runs)
    if (run.status != RunStatus::ok)
      add_reason(reasons, describe(run.status, run.message ? std::optional(code(*run.message)) : std::nullopt),
                 code(label_of(run)));
  std::string text;
  for (const auto& [reason, names] : reasons) text += "- " + some_of(names, kMaxNames) + ": " + reason + "\n";
  return text.empty() ? "" : text + "\n";
}

std::string machine(const Context& context) {
  std::string text = code(context.cpu.model);
  append(text, cores_text(context.cpu));
  for (const GpuInfo& gpu : context.gpus) text += ", " + code(gpu.name);
  text += "; epochbench " + code(context.version);
  if (context.git_sha) text += " at " + code(context.git_sha->substr(0, 12));
  append(text, code(context.build_type));
  append(text, code(context.compiler));
  return text + "; " + code(context.date) + "\n";
}

}  // namespace

std::string markdown_text(const Result& result) {
  Result ok = result;
  std::erase_if(ok.runs, [](const Run& run) { return run.status != RunStatus::ok; });
  std::string text = ok.runs.empty() ? "" : table(runs_by_case(ok.runs));
  text += ratios(ok) + to_quality(ok) + not_ok(result) + machine(result.context);
  if (ok.runs.empty()) return text;
  text +=
      "\nGeometric means of the repetitions, each a process of its own; the 95 % interval of samples/s takes five and "
      "holds within this session, two to four have a range. Step: the median step; samples/s and epoch: of all steps "
      "together.\n";
  if (const std::string epochs = epochs_text(ok.runs); !epochs.empty()) text += "\nEpoch: " + code(epochs) + "\n";
  for (const std::string& sentence : capped_shares(ok.runs)) text += "\nOf peak: " + code(sentence) + "\n";
  return text;
}

}  // namespace epochbench
