// The articles' claims: as a list, and with the verdicts from results.
#include <algorithm>
#include <cmath>
#include <map>

#include "src/base/json_fields.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

constexpr const char* kConflicts = "\nclaims that cannot hold together\n";
constexpr const char* kNoUpperEnd = "∞";

std::string paragraph(const std::string& label, const std::string& text) {
  if (text.empty()) return "";
  const std::string indent(4, ' ');
  return wrapped(indent + label, indent + "  ", text);
}

// "why models need gpus" of why-models-need-gpus.txt: as words that a narrow terminal can wrap.
std::string title_of(std::string article) {
  article.resize(std::min(article.rfind('.'), article.size()));
  replace_all(article, "-", " ");
  return article;
}

std::string quote_text(const Quote& quote) {
  return "\"" + quote.text + "\"" + (quote.reads.empty() ? "" : ", which reads " + quote.reads) + " (" +
         title_of(quote.article) + ")";
}

std::string measured_cell(const ClaimAnswer& answer) {
  if (!answer.measured) return "";
  std::string text = significant(*answer.measured, 3);
  if (answer.measured_ci95 && answer.measured_ci95->first != answer.measured_ci95->second) {
    const auto [low, high] = *answer.measured_ci95;
    text += " [" + significant(low, 3) + ", " + (std::isfinite(high) ? significant(high, 3) : kNoUpperEnd) + "]";
  }
  return with_unit(text, answer.unit);
}

bool any_measured(const ClaimAnswer& answer) {
  return std::any_of(answer.parts.begin(), answer.parts.end(), [](const ClaimAnswer& part) { return part.measured; });
}

// Notes below the claims, by number: sources, and statements shared by several answers, so that each is written once.
class ClaimNotes : public Notes {
 public:
  // Counts the statements that will be shown.
  explicit ClaimNotes(std::span<const ClaimAnswer> answers) {
    for (const ClaimAnswer& answer : answers) {
      if (any_measured(answer))
        for (const ClaimAnswer& part : answer.parts) count(part);
      else
        count(answer);
    }
  }

  // "4 pairs; [2] [3]": replaces statements (separated by "; ") that occur several times by marks.
  std::string brief(const std::string& text) {
    std::string all;
    bool after_mark = false;
    for (const std::string& statement : statements(text)) {
      const bool is_mark = is_shared(statement);
      append(all, is_mark ? mark(statement) : statement, after_mark && is_mark ? " " : "; ");
      after_mark = is_mark;
    }
    return all;
  }

 private:
  static std::vector<std::string> statements(const std::string& text) {
    std::vector<std::string> all;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find("; ", begin), text.size());
      all.push_back(text.substr(begin, end - begin));
      begin = end + 2;
    }
    return all;
  }

  void count(const ClaimAnswer& answer) {
    std::string all = answer.conditions;
    append(all, answer.reason, "; ");
    for (const Warning& warning : answer.warnings) append(all, epochbench::to_string(warning), "; ");
    for (std::string& statement : statements(all)) ++counts_[std::move(statement)];
  }

  bool is_shared(const std::string& statement) const {
    constexpr std::size_t kLong = 60;  // shorter ones read better in place
    const auto found = counts_.find(statement);
    return found != counts_.end() && found->second > 1 && display_width(statement) > kLong;
  }

  std::map<std::string, int> counts_;
};

// The reason why there is no GPU is the same for most claims.
std::string brief(const std::string& reason, ClaimNotes& notes) {
  static const std::string no_gpu = "no GPU: ";
  const auto begin = reason.find(no_gpu);
  if (begin == std::string::npos) return notes.brief(reason);
  return notes.brief(reason.substr(0, begin)) + "no GPU " + notes.mark(reason.substr(begin + no_gpu.size()));
}

// "[2] [3]": each source is written once below the claims; its address is in the JSON and on the page.
std::string source_marks(const ClaimAnswer& answer, ClaimNotes& notes) {
  std::vector<std::string> marks;
  for (const ClaimSource& source : answer.sources)
    if (std::string mark = notes.mark(source.text); !contains(marks, mark)) marks.push_back(std::move(mark));
  return joined(marks, " ");
}

// "reproduced: 4.8 [4.6, 5.1]x, claimed 4 to 8x; samples/s, GPU over CPU (...)".
std::string part_text(const ClaimAnswer& part, ClaimNotes& notes) {
  const std::string measured = measured_cell(part);
  const bool planned = part.evidence && part.evidence != EvidenceClass::measured;
  std::string text = spaced(name(part.verdict)) + (planned ? std::string(" (") + name(*part.evidence) + ")" : "") + ": ";
  text += measured.empty() ? brief(part.reason, notes) : measured + ", claimed " + claimed_text(part);
  text += "; " + part.quantity;
  if (!part.alternative.empty()) text += "; one reading of " + part.alternative;
  if (!part.counts) text += "; not part of the verdict";
  if (!measured.empty() && !part.conditions.empty()) text += " (" + notes.brief(part.conditions) + ")";
  if (!measured.empty() && !part.reason.empty()) text += "; " + notes.brief(part.reason);
  for (const Warning& warning : part.warnings) text += "; " + notes.brief(to_string(warning));
  if (!part.sources.empty()) text += "; sources " + source_marks(part, notes);
  return text;
}

// "  resnet50        reproduced: ...". Combines neighbors with the same text, such as models that were not measured.
std::string parts_text(const std::vector<ClaimAnswer>& parts, ClaimNotes& notes) {
  std::vector<std::pair<std::string, std::string>> rows;  // names, text
  for (const ClaimAnswer& part : parts) {
    std::string text = part_text(part, notes);
    if (!part.measured && !rows.empty() && rows.back().second == text)
      append(rows.back().first, part.id);
    else
      rows.emplace_back(part.id, std::move(text));
  }
  constexpr std::size_t kWidest = 24;  // column of names; longer names become part of the text
  std::size_t width = 0;
  for (const auto& row : rows)
    if (const std::size_t each = display_width(row.first); each <= kWidest) width = std::max(width, each);
  std::string all;
  for (const auto& [names, text] : rows) {
    if (display_width(names) > kWidest)
      all += wrapped(std::string(4, ' '), std::string(6, ' '), names + ": " + text);
    else
      all += wrapped("    " + names + std::string(width + 2 - display_width(names), ' '), std::string(6, ' '), text);
  }
  return all;
}

// "planned", or each class with its verdict; empty if all was measured.
std::string evidence_note(const ClaimAnswer& answer) {
  const bool measured_alone =
      std::ranges::all_of(answer.verdicts, [](const auto& verdict) { return verdict.first == EvidenceClass::measured; });
  if (measured_alone) return "";
  if (answer.verdicts.size() == 1) return " (" + std::string(name(answer.verdicts.front().first)) + ")";
  const auto each = [](const auto& verdict) { return std::string(name(verdict.first)) + " " + spaced(name(verdict.second)); };
  return " (" + joined(answer.verdicts, each) + ")";
}

// What the claim was made for, to compare with what was measured.
std::string background(const Claim& claim) {
  std::string text;
  if (claim.conditions != "none given") text += paragraph("claimed for: ", claim.conditions);
  if (claim.origin != "none given") text += paragraph("origin: ", claim.origin);
  return text;
}

std::string answer_text(const Claim& claim, const ClaimAnswer& answer, ClaimNotes& notes) {
  const bool parts = any_measured(answer);
  std::string head = claim.id + ": " + spaced(name(answer.verdict)) + evidence_note(answer);
  if (answer.measured && !parts) head += ", " + measured_cell(answer) + ", claimed " + claimed_text(answer);
  std::string text = wrapped("", "  ", head) + paragraph("", claim.text);
  if (answer.measured || parts) text += background(claim);
  if (!parts) {
    const bool planned = answer.evidence == EvidenceClass::planned;
    const std::string label = planned ? "computed" : name(answer.evidence.value_or(EvidenceClass::measured));
    text += paragraph(label + ": ", notes.brief(answer.conditions)) + paragraph("why: ", brief(answer.reason, notes)) +
            paragraph("sources: ", source_marks(answer, notes));
    for (const Warning& warning : answer.warnings) text += paragraph("but: ", notes.brief(to_string(warning)));
    return text;
  }
  text += paragraph("why: ", brief(answer.reason, notes));
  return text + parts_text(answer.parts, notes);
}

std::string conflict_text(const ClaimConflict& conflict, std::span<const ClaimAnswer> answers) {
  const auto member = [&](const std::string& id) {
    const auto answer = std::find_if(answers.begin(), answers.end(), [&](const ClaimAnswer& a) { return a.id == id; });
    return id + " (" + spaced(name(answer->verdict)) + (answer->measured ? ", " + measured_cell(*answer) : "") + ")";
  };
  return wrapped("  ", "  ", joined(conflict.claims, member)) + paragraph("", conflict.why);
}

}  // namespace

std::string with_unit(const std::string& number, const std::string& unit) {
  if (unit.empty()) return number;
  return number + (unit == "x" ? "" : " ") + unit;
}

std::string claimed_text(const ClaimPart& part) {
  const std::optional<double>&low = part.claimed.low, &high = part.claimed.high;
  if (!low && !high) return "no figure";
  if (!high) return "above " + with_unit(three_digits(*low), part.unit);
  if (!low) return "at most " + with_unit(three_digits(*high), part.unit);
  if (*low == *high) return with_unit(three_digits(*low), part.unit);
  return three_digits(*low) + " to " + with_unit(three_digits(*high), part.unit);
}

std::string claims_list_text(const ClaimCatalog& catalog) {
  std::string text;
  for (const Claim& claim : catalog.claims) {
    text += claim.id + "\n" + paragraph("", claim.text);
    for (const Quote& quote : claim.quotes) text += paragraph("quote: ", quote_text(quote));
    if (claim.conditions != "none given") text += paragraph("conditions: ", claim.conditions);
    text += paragraph("origin: ", claim.origin) + paragraph("experiment: ", claim.experiment) +
            paragraph("verdict: ", claim.verdict);
    for (const ClaimQuantity& quantity : claim.quantities)
      text += paragraph("claimed: ", claimed_text(quantity) + "; " + quantity.quantity);
  }
  if (!catalog.conflicts.empty()) text += kConflicts;
  for (const ClaimConflict& conflict : catalog.conflicts)
    text += wrapped("  ", "  ", joined(conflict.claims)) + paragraph("", conflict.why);
  return text + "\n" + wrapped("", "", catalog.note);
}

std::string claims_text(const ClaimCatalog& catalog, std::span<const ClaimAnswer> answers) {
  ClaimNotes notes(answers);
  std::string text;
  for (std::size_t i = 0; i < catalog.claims.size(); ++i) text += answer_text(catalog.claims[i], answers[i], notes);
  text += joined(numbered(notes.all()), "");
  if (!catalog.conflicts.empty()) text += kConflicts;
  for (const ClaimConflict& conflict : catalog.conflicts) text += conflict_text(conflict, answers);
  std::string reading =
      "in brackets the 95 % interval of repetitions or seeds, the range of what others published, or what is predicted with 80 "
      "%";
  if (text.find(kNoUpperEnd) != text.npos)
    append(reading, std::string(kNoUpperEnd) + ": the evidence gives no upper end", "; ");
  return text + "\n" + wrapped("", "", reading);
}

}  // namespace epochbench
