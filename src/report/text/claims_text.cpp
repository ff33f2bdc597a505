// The articles' claims: as a list, and with what results say of them.
#include <algorithm>
#include <cmath>

#include "src/base/json_fields.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

constexpr const char* kConflicts = "\nclaims that cannot hold together\n";

std::string paragraph(const std::string& label, const std::string& text) {
  if (text.empty()) return "";
  const std::string indent(4, ' ');
  return wrapped(indent + label, indent + "  ", text);
}

// "why models need gpus" of why-models-need-gpus.txt: words that a narrow terminal can wrap.
std::string title_of(std::string article) {
  article.resize(std::min(article.rfind('.'), article.size()));
  replace_all(article, "-", " ");
  return article;
}

std::string quote_text(const Quote& quote) {
  return "\"" + quote.text + "\"" + (quote.reads.empty() ? "" : ", which reads " + quote.reads) + " (" +
         title_of(quote.article) + ")";
}

std::string with_unit(const std::string& number, const std::string& unit) {
  if (unit.empty()) return number;
  return number + (unit == "x" ? "" : " ") + unit;
}

std::string claimed_cell(const ClaimedRange& claimed, const std::string& unit) {
  if (!claimed.low && !claimed.high) return "no figure";
  if (!claimed.high) return "above " + with_unit(three_digits(*claimed.low), unit);
  if (!claimed.low) return "at most " + with_unit(three_digits(*claimed.high), unit);
  return three_digits(*claimed.low) + " to " + with_unit(three_digits(*claimed.high), unit);
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

// "[2] [3]": each source stands once below the claims; its address is in the JSON and on the page.
std::string source_marks(const ClaimAnswer& answer, Notes& notes) {
  std::vector<std::string> marks;
  for (const ClaimSource& source : answer.sources)
    if (std::string mark = notes.mark(source.text); !contains(marks, mark)) marks.push_back(std::move(mark));
  return joined(marks, " ");
}

// "  resnet50        reproduced       4.8 [4.6, 5.1]x, claimed 4 to 8x", with the quantity where the parts differ in it.
std::string part_text(const ClaimAnswer& part, std::size_t width, Notes& notes) {
  const std::string padded = part.id + std::string(width - display_width(part.id), ' ');
  const std::string measured = measured_cell(part);
  const bool planned = part.evidence && part.evidence != EvidenceClass::measured;
  std::string text = spaced(name(part.verdict)) + (planned ? std::string(" (") + name(*part.evidence) + ")" : "") + ": ";
  text += measured.empty() ? brief(part.reason, notes) : measured + ", claimed " + claimed_cell(part.claimed, part.unit);
  text += "; " + part.quantity;
  if (!part.alternative.empty()) text += "; one reading of " + part.alternative;
  if (!part.counts) text += "; not part of the verdict";
  if (!measured.empty() && !part.conditions.empty()) text += " (" + part.conditions + ")";
  if (!measured.empty() && !part.reason.empty()) text += "; " + part.reason;
  for (const Warning& warning : part.warnings) text += "; " + to_string(warning);
  if (!part.sources.empty()) text += "; sources " + source_marks(part, notes);
  return wrapped("    " + padded + "  ", std::string(6, ' '), text);
}

// "planned", or each class with its verdict; empty where all was measured.
std::string evidence_note(const ClaimAnswer& answer) {
  const bool measured_alone =
      std::ranges::all_of(answer.verdicts, [](const auto& verdict) { return verdict.first == EvidenceClass::measured; });
  if (measured_alone) return "";
  if (answer.verdicts.size() == 1) return " (" + std::string(name(answer.verdicts.front().first)) + ")";
  const auto each = [](const auto& verdict) { return std::string(name(verdict.first)) + " " + spaced(name(verdict.second)); };
  return " (" + joined(answer.verdicts, each) + ")";
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
  std::string head = claim.id + ": " + spaced(name(answer.verdict)) + evidence_note(answer);
  if (answer.measured && !parts)
    head += ", " + measured_cell(answer) + ", claimed " + claimed_cell(answer.claimed, answer.unit);
  std::string text = wrapped("", "  ", head) + paragraph("", claim.text);
  if (answer.measured || parts) text += background(claim);
  if (!parts) {
    const bool planned = answer.evidence == EvidenceClass::planned;
    const std::string label = planned ? "computed" : name(answer.evidence.value_or(EvidenceClass::measured));
    text += paragraph(label + ": ", answer.conditions) + paragraph("why: ", brief(answer.reason, notes)) +
            paragraph("sources: ", source_marks(answer, notes));
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
  constexpr Verdict kInOrder[] = {Verdict::reproduced, Verdict::exceeded, Verdict::not_reproduced, Verdict::undecided,
                                  Verdict::not_testable};
  const auto counted_text = [&](Verdict verdict) {
    return std::to_string(std::ranges::count(answers, verdict, &ClaimAnswer::verdict)) + " " + spaced(name(verdict));
  };
  return counted(answers.size(), "claim", "claims") + ": " + joined(kInOrder, counted_text) + " here\n";
}

std::string conflict_text(const ClaimConflict& conflict, std::span<const ClaimAnswer> answers) {
  const auto member = [&](const std::string& id) {
    const auto answer = std::find_if(answers.begin(), answers.end(), [&](const ClaimAnswer& a) { return a.id == id; });
    return id + " (" + spaced(name(answer->verdict)) + (answer->measured ? ", " + measured_cell(*answer) : "") + ")";
  };
  return wrapped("  ", "  ", joined(conflict.claims, member)) + paragraph("", conflict.why);
}

// [low, high], null where it is open.
Json claimed_json(const ClaimedRange& claimed) { return Json::array({json_of(claimed.low), json_of(claimed.high)}); }

Json quote_json(const Quote& quote, const std::vector<Article>& articles) {
  const auto article = std::ranges::find(articles, quote.article, &Article::file);
  return {{"article", quote.article},
          {"sha256", article == articles.end() ? Json(nullptr) : Json(article->sha256)},
          {"text", quote.text},
          {"reads", text_or_null(quote.reads)}};
}

Json answer_json(const ClaimAnswer& answer) {
  Json json = {{"id", answer.id},
               {"verdict", name(answer.verdict)},
               {"evidence", answer.evidence ? Json(name(*answer.evidence)) : Json(nullptr)},
               {"quantity", answer.quantity},
               {"unit", answer.unit},
               {"claimed", claimed_json(answer.claimed)},
               {"measured", json_of(answer.measured)},
               {"measured_ci95", json_of(answer.measured_ci95)},
               {"conditions", answer.conditions},
               {"reason", text_or_null(answer.reason)},
               {"warnings", warnings_json(answer.warnings)}};
  if (!answer.alternative.empty()) json["alternative"] = answer.alternative;
  if (!answer.counts) json["counts"] = false;
  if (!answer.sources.empty())
    json["sources"] = json_list(answer.sources, [](const ClaimSource& source) {
      return Json{{"text", source.text}, {"url", text_or_null(source.url)}};
    });
  if (!answer.parts.empty()) json["parts"] = json_list(answer.parts, answer_json);
  return json;
}

}  // namespace

std::string claims_list_text(const ClaimCatalog& catalog) {
  std::string text;
  for (const Claim& claim : catalog.claims) {
    text += claim.id + "\n" + paragraph("", claim.text);
    for (const Quote& quote : claim.quotes) text += paragraph("quote: ", quote_text(quote));
    if (claim.conditions != "none given") text += paragraph("conditions: ", claim.conditions);
    text += paragraph("origin: ", claim.origin) + paragraph("experiment: ", claim.experiment) +
            paragraph("verdict: ", claim.verdict);
    for (const ClaimQuantity& quantity : claim.quantities)
      text += paragraph("claimed: ", claimed_cell(quantity.claimed, quantity.unit) + "; " + quantity.quantity);
  }
  if (!catalog.conflicts.empty()) text += kConflicts;
  for (const ClaimConflict& conflict : catalog.conflicts)
    text += wrapped("  ", "  ", joined(conflict.claims)) + paragraph("", conflict.why);
  return text + "\n" + wrapped("", "", catalog.note);
}

std::string claims_text(const ClaimCatalog& catalog, std::span<const ClaimAnswer> answers, ClaimsShown shown) {
  std::string text = counts(answers) + "\n", others;
  Notes notes;
  for (std::size_t i = 0; i < catalog.claims.size(); ++i) {
    if (shown == ClaimsShown::all || answers[i].verdict != Verdict::not_testable)
      text += answer_text(catalog.claims[i], answers[i], notes);
    else
      append(others, catalog.claims[i].id);
  }
  text += notes.to_string();
  if (!others.empty())
    text +=
        "\n" + wrapped("", "  ",
                       "not judged without results, prices or hardware (`epochbench run --suite claims` measures what it can; "
                       "--id ID says what a claim needs): " +
                           others);
  if (!catalog.conflicts.empty()) text += kConflicts;
  for (const ClaimConflict& conflict : catalog.conflicts) text += conflict_text(conflict, answers);
  return text + "\n" +
         wrapped("", "",
                 "in brackets the 95 % interval of repetitions or seeds, the range of what others published, or what is "
                 "predicted with 80 %; " +
                     catalog.note);
}

Json claim_json(const Claim& claim, const std::vector<Article>& articles) {
  const auto quoted = [&](const Quote& quote) { return quote_json(quote, articles); };
  Json quantities = Json::array();
  for (const ClaimQuantity& quantity : claim.quantities)
    quantities.push_back({{"id", quantity.id},
                          {"quantity", quantity.quantity},
                          {"unit", quantity.unit},
                          {"claimed", claimed_json(quantity.claimed)},
                          {"models", quantity.models}});
  return {{"id", claim.id},
          {"text", claim.text},
          {"quotes", json_list(claim.quotes, quoted)},
          {"claim_conditions", claim.conditions},
          {"origin", claim.origin},
          {"experiment", claim.experiment},
          {"verdict_follows", claim.verdict},
          {"quantities", quantities}};
}

Json claims_json(const ClaimCatalog& catalog, std::span<const ClaimAnswer> answers) {
  Json document = {{"claims", Json::array()}, {"conflicts", Json::array()}};
  for (std::size_t i = 0; i < catalog.claims.size(); ++i) {
    Json json = answer_json(answers[i]);
    json.update(claim_json(catalog.claims[i], catalog.articles));
    json.erase("quantities");
    json["verdicts"] = Json::object();  // by class of evidence
    for (const auto& [evidence, verdict] : answers[i].verdicts) json["verdicts"][name(evidence)] = name(verdict);
    document["claims"].push_back(std::move(json));
  }
  for (const ClaimConflict& conflict : catalog.conflicts)
    document["conflicts"].push_back({{"claims", conflict.claims}, {"why", conflict.why}});
  return document;
}

}  // namespace epochbench
