#include "src/report/compare/compare_text.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "src/base/table.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/report/compare/compare_sentences.h"

namespace epochbench {
namespace {

constexpr std::size_t kNameColumns = 34;  // what the other columns leave of 100

// The beginning and the end of a long name, which is written in full below the table.
std::string shortened(const std::string& name) {
  std::vector<std::size_t> characters;  // where each begins
  for (std::size_t at = 0; at < name.size(); ++at)
    if ((static_cast<unsigned char>(name[at]) & 0xC0) != 0x80) characters.push_back(at);
  if (characters.size() <= kNameColumns) return name;
  const std::string gap = "..";
  const std::size_t head = (kNameColumns - gap.size()) / 2, tail = kNameColumns - gap.size() - head;
  return name.substr(0, characters[head]) + gap + name.substr(characters[characters.size() - tail]);
}

std::string plain_ratio(double ratio) {
  if (ratio < 0.1 || ratio >= 10) return significant(ratio, 3);
  char text[16];
  std::snprintf(text, sizeof text, "%.3f", ratio);
  return text;
}

std::string processes_cell(const Comparison& comparison, const ComparedCase& compared) {
  const auto [before, after] = compared.processes;
  if (comparison.interleaved || before == after) return std::to_string(after);
  return std::to_string(before) + ", " + std::to_string(after);
}

std::string table_of(const Comparison& comparison) {
  using Align = Table::Align;
  Table table({{"case"},
               {"baseline", Align::right},
               {"ratio", Align::right},
               {"95 % interval", Align::right},
               {"verdict"},
               {comparison.interleaved ? "pairs" : "reps", Align::right},
               {"others", Align::right}});
  for (const ComparedCase& each : comparison.cases) {
    const auto& interval = each.decision.ratio_ci95;
    table.add({shortened(one_line(each.name)), each.step_seconds[0] ? format_seconds(*each.step_seconds[0]) : "",
               each.decision.ratio ? plain_ratio(*each.decision.ratio) : "",
               interval ? plain_ratio(interval->first) + " to " + plain_ratio(interval->second) : "",
               spaced(name(each.decision.finding)), processes_cell(comparison, each),
               each.foreign_cores ? significant(*each.foreign_cores, 2) : "?"});
  }
  return table.to_string();
}

// Notes on a case besides its row, one line each under its full name.
std::string notes_of(const ComparedCase& compared) {
  std::string lines;
  if (!compared.decision.note.empty()) lines += "    " + one_line(compared.decision.note) + "\n";
  for (const Issue& issue : compared.issues)
    lines += "    " + to_string(issue) + (fails(issue.code) ? "" : " (reported, not a failure)") + "\n";
  if (lines.empty() && shortened(compared.name) == compared.name) return "";
  return "  " + one_line(compared.name) + "\n" + lines;
}

std::string left_out(const std::vector<LeftOutCase>& cases, const char* title) {
  std::string text;
  for (const LeftOutCase& each : cases)
    text += std::string(title) + ": " + one_line(each.name) + (each.reason.empty() ? "" : ": " + one_line(each.reason)) + "\n";
  return text;
}

std::string next_text(const Comparison& comparison) {
  const NextStep next = next_step(comparison);
  if (next.text.empty()) return "";
  return "next: " + next.text + (next.command.empty() ? "" : ":\n  " + next.command) + "\n";
}

}  // namespace

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
    for (const ComparedCase& each : comparison.cases) text += notes_of(each);
  }
  text += left_out(comparison.missing, comparison.missing_allowed ? "missing (allowed)" : "missing") +
          left_out(comparison.added, "added") + left_out(comparison.changed, "changed, so not compared") +
          left_out(comparison.not_measured, "not measured");
  text += "verdict: " + spaced(name(verdict_of(comparison))) + ": " + reason_text(comparison) + "\n";
  return text + next_text(comparison);
}

}  // namespace epochbench
