// The verdicts on claims as a table: one row per claim, one column per class of evidence.
#include <algorithm>
#include <array>

#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

// Verdicts in the order in which they are counted, with words short enough for four columns within 80.
struct VerdictWord {
  Verdict verdict;
  const char* word;
};
constexpr VerdictWord kWords[] = {{Verdict::reproduced, "holds"},
                                  {Verdict::exceeded, "beyond"},
                                  {Verdict::not_reproduced, "fails"},
                                  {Verdict::undecided, "unclear"},
                                  {Verdict::not_testable, "-"}};

std::string word_of(Verdict verdict) { return std::ranges::find(kWords, verdict, &VerdictWord::verdict)->word; }

// "54 claims: 23 reproduced, ..."; with the words of the table: "23 reproduced (holds), ...".
std::string counts(std::span<const ClaimAnswer> answers, bool with_words) {
  const auto counted_text = [&](const VerdictWord& each) {
    return std::to_string(std::ranges::count(answers, each.verdict, &ClaimAnswer::verdict)) + " " + spaced(name(each.verdict)) +
           (each.verdict == Verdict::not_testable ? " here" : "") + (with_words ? std::string(" (") + each.word + ")" : "");
  };
  return wrapped("", "  ", counted(answers.size(), "claim", "claims") + ": " + joined(kWords, counted_text));
}

// "4–8x", "> 1x", "≤ 16 GB": shorter than next to a measured figure.
std::string range_cell(const ClaimedRange& claimed, const std::string& unit) {
  const auto number = [](double value) { return short_number(value, 3); };
  if (!claimed.low && !claimed.high) return "no figure";
  const std::string range = !claimed.high                   ? "> " + number(*claimed.low)
                            : !claimed.low                  ? "≤ " + number(*claimed.high)
                            : *claimed.low == *claimed.high ? number(*claimed.low)
                                                            : number(*claimed.low) + "–" + number(*claimed.high);
  return range + (unit.empty() || unit == "x" ? unit : " " + unit);
}

// For a claim with several figures only "several".
std::string claimed_cell(const ClaimAnswer& answer) {
  std::vector<std::string> ranges;
  for (const ClaimAnswer& part : answer.parts)
    if (part.counts) ranges.push_back(range_cell(part.claimed, part.unit));
  ranges = without_repeats(std::move(ranges));
  return ranges.size() > 1 ? "several" : range_cell(answer.claimed, answer.unit);
}

std::string verdict_cell(const ClaimAnswer& answer, EvidenceClass evidence) {
  for (const auto& [of_class, verdict] : answer.verdicts)
    if (of_class == evidence) return word_of(verdict);
  return "";
}

}  // namespace

std::string claim_counts_text(std::span<const ClaimAnswer> answers) { return counts(answers, false); }

std::string claims_table_text(std::span<const ClaimAnswer> answers) {
  constexpr std::array kClasses{EvidenceClass::measured, EvidenceClass::planned, EvidenceClass::published,
                                EvidenceClass::predicted};
  View table{"", columns("claim|--claimed|measured|-planned|others|predicted")};
  for (const ClaimAnswer& answer : answers) {
    std::vector<Cell> cells{answer.id, claimed_cell(answer)};
    for (const EvidenceClass evidence : kClasses) cells.push_back(verdict_cell(answer, evidence));
    if (answer.verdicts.empty()) cells.back() = word_of(Verdict::not_testable);
    table.rows.push_back(std::move(cells));
  }
  return counts(answers, true) + "\n" + terminal_table(table) +
         wrapped("", "",
                 "measured: by runs of these results; planned: counted from a model's graph, or computed from prices; others: "
                 "published by others; predicted: by a model fitted on published and measured steps. The leftmost verdict of a "
                 "row is the one that is counted, of measured and planned the worse. unclear: the evidence lies on both sides "
                 "of a bound of the claim, or there is too little of it");
}

}  // namespace epochbench
