#include "src/report/text/claims_text.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "src/base/table.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/report/text/notes.h"
#include "src/report/text/warning_text.h"

namespace epochbench {
namespace {

std::string paragraph(const std::string& label, const std::string& text) {
  if (text.empty()) return "";
  const std::string indent(4, ' ');
  return wrapped(indent + label, indent + "  ", text);
}

std::string with_unit(const std::string& number, const std::string& unit) {
  if (unit.empty()) return number;
  return number + (unit == "x" ? "" : " ") + unit;
}

std::string claimed_cell(const ClaimedRange& claimed, const std::string& unit) {
  if (!claimed.low && !claimed.high) return "no figure";
  if (!claimed.high) return "above " + with_unit(significant(*claimed.low, 3), unit);
  if (!claimed.low) return "at most " + with_unit(significant(*claimed.high, 3), unit);
  return significant(*claimed.low, 3) + " to " + with_unit(significant(*claimed.high, 3), unit);
}

std::string measured_cell(const ClaimAnswer& answer) {
  if (!answer.measured) return "";
  std::string text = significant(*answer.measured, 3);
  if (answer.measured_ci95 && answer.measured_ci95->first != answer.measured_ci95->second) {
    const auto [low, high] = *answer.measured_ci95;
    text += " [" + significant(low, 3) + ", " + (std::isfinite(high) ? significant(high, 3) : "open") + "]";
  }
  return with_unit(text, answer.unit);
}

// Why there is no GPU to judge by is the same for most claims, so it is written once below them.
std::string brief(const std::string& reason, Notes& notes) {
  static const std::string no_gpu = "no GPU: ";
  const auto begin = reason.find(no_gpu);
  if (begin == std::string::npos) return reason;
  return reason.substr(0, begin) + "no GPU " + notes.mark(reason.substr(begin + no_gpu.size()));
}

// "  resnet50        reproduced       4.8 [4.6, 5.1]x, claimed 4 to 8x", with the quantity where the parts differ in it.
std::string part_text(const ClaimAnswer& part, std::size_t width, Notes& notes) {
  const std::string padded = part.id + std::string(width - display_width(part.id), ' ');
  const std::string measured = measured_cell(part);
  std::string text = spaced(name(part.verdict)) + ": ";
  text += measured.empty() ? brief(part.reason, notes) : measured + ", claimed " + claimed_cell(part.claimed, part.unit);
  text += "; " + part.quantity;
  if (!measured.empty() && !part.conditions.empty()) text += " (" + part.conditions + ")";
  if (!measured.empty() && !part.reason.empty()) text += "; " + part.reason;
  for (const Warning& warning : part.warnings) text += "; " + to_string(warning);
  return wrapped("    " + padded + "  ", std::string(6, ' '), text);
}

bool any_measured(const ClaimAnswer& answer) {
  return std::any_of(answer.parts.begin(), answer.parts.end(), [](const ClaimAnswer& part) { return part.measured; });
}

// What the claim was said of, for beside what was measured.
std::string background(const Claim& claim) {
  std::string text;
  if (claim.conditions != "none given") text += paragraph("claimed for: ", claim.conditions);
  if (claim.origin != "none given") text += paragraph("origin: ", claim.origin);
  return text;
}

std::string answer_text(const Claim& claim, const ClaimAnswer& answer, Notes& notes) {
  const bool parts = any_measured(answer);
  std::string head = claim.id + ": " + spaced(name(answer.verdict));
  if (answer.measured && !parts)
    head += ", " + measured_cell(answer) + ", claimed " + claimed_cell(answer.claimed, answer.unit);
  std::string text = wrapped(head, "  ", "") + paragraph("", claim.text);
  if (answer.measured || parts) text += background(claim);
  if (!parts) {
    text += paragraph("measured: ", answer.conditions) + paragraph("why: ", brief(answer.reason, notes));
    for (const Warning& warning : answer.warnings) text += paragraph("but: ", to_string(warning));
    return text;
  }
  text += paragraph("why: ", brief(answer.reason, notes));
  std::size_t width = 0;
  for (const ClaimAnswer& part : answer.parts) width = std::max(width, display_width(part.id));
  for (const ClaimAnswer& part : answer.parts) text += part_text(part, width, notes);
  return text;
}

std::string counts(std::span<const ClaimAnswer> answers) {
  std::map<Verdict, int> counts;
  for (const ClaimAnswer& answer : answers) ++counts[answer.verdict];
  std::string text;
  for (const Verdict verdict :
       {Verdict::reproduced, Verdict::exceeded, Verdict::not_reproduced, Verdict::undecided, Verdict::not_testable})
    text += (text.empty() ? "" : ", ") + std::to_string(counts[verdict]) + " " + spaced(name(verdict)) +
            (verdict == Verdict::not_testable ? " here" : "");
  return std::to_string(answers.size()) + " claims: " + text + "\n";
}

std::string conflict_text(const ClaimConflict& conflict, std::span<const ClaimAnswer> answers) {
  std::string members;
  for (const std::string& id : conflict.claims) {
    const auto answer = std::find_if(answers.begin(), answers.end(), [&](const ClaimAnswer& a) { return a.id == id; });
    members += (members.empty() ? "" : ", ") + id + " (" + spaced(name(answer->verdict));
    if (answer->measured) members += ", " + measured_cell(*answer);
    members += ")";
  }
  return wrapped("  ", "  ", members) + paragraph("", conflict.why);
}

}  // namespace

std::string claims_list_text(const ClaimCatalog& catalog) {
  std::string text;
  for (const Claim& claim : catalog.claims) {
    text += claim.id + "\n" + paragraph("", claim.text);
    if (claim.conditions != "none given") text += paragraph("conditions: ", claim.conditions);
    text += paragraph("origin: ", claim.origin) + paragraph("experiment: ", claim.experiment) +
            paragraph("verdict: ", claim.verdict);
    for (const ClaimQuantity& quantity : claim.quantities)
      text += paragraph("claimed: ", claimed_cell(quantity.claimed, quantity.unit) + "; " + quantity.quantity);
  }
  text += "\nclaims that cannot hold together\n";
  for (const ClaimConflict& conflict : catalog.conflicts) {
    std::string members;
    for (const std::string& id : conflict.claims) members += (members.empty() ? "" : ", ") + id;
    text += wrapped("  ", "  ", members) + paragraph("", conflict.why);
  }
  return text + "\n" + wrapped("", "", catalog.note);
}

std::string claims_text(const ClaimCatalog& catalog, std::span<const ClaimAnswer> answers) {
  std::string text = counts(answers) + "\n";
  Notes notes;
  for (std::size_t i = 0; i < catalog.claims.size(); ++i) text += answer_text(catalog.claims[i], answers[i], notes);
  text += notes.to_string() + "\nclaims that cannot hold together\n";
  for (const ClaimConflict& conflict : catalog.conflicts) text += conflict_text(conflict, answers);
  return text + "\n" + wrapped("", "", "in brackets the 95 % interval of repetitions or seeds; " + catalog.note);
}

}  // namespace epochbench
