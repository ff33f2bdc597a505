// What results say about the claims of articles: a table of answers for each claim, and what the page draws of them.
#include <algorithm>
#include <cmath>

#include "src/analysis/compare/comparison.h"
#include "src/base/lookup.h"
#include "src/report/html/html_page.h"
#include "src/report/html/page_parts.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

constexpr const char* kClaimsSuite = "claims";
constexpr const char* kNoneGiven = "none given";  // in place of conditions in the catalog

std::string verdict_text(Verdict verdict) {
  constexpr std::pair<Verdict, const char*> kMarks[] = {{Verdict::reproduced, "✓ "},
                                                        {Verdict::exceeded, "▲ "},
                                                        {Verdict::not_reproduced, "✗ "},
                                                        {Verdict::undecided, "? "},
                                                        {Verdict::not_testable, "– "}};
  return std::ranges::find(kMarks, verdict, &std::pair<Verdict, const char*>::first)->second + spaced(name(verdict)) +
         (verdict == Verdict::not_testable ? " here" : "");
}

// Includes the class of evidence unless a run measured it.
std::string verdict_text(const ClaimAnswer& answer) {
  const bool measured = !answer.evidence || *answer.evidence == EvidenceClass::measured;
  return verdict_text(answer.verdict) + (measured ? "" : std::string(" (") + name(*answer.evidence) + ")");
}

// "2.1x (1.9 to 2.3 at 95 %)", "at most 16 GB", "not known".
std::string found_text(const ClaimAnswer& answer) {
  if (!answer.measured || !std::isfinite(*answer.measured)) return kNotKnown;
  const std::string value = with_unit(three_digits(*answer.measured), answer.unit);
  if (!answer.measured_ci95) return value;
  if (answer.evidence == EvidenceClass::predicted)
    return (std::isfinite(answer.measured_ci95->second) ? "at most " : "at least ") + value;
  const auto end = [](double number) { return std::isfinite(number) ? three_digits(number) : kNotKnown; };
  return value + " (" + range_text(*answer.measured_ci95, end) +
         (answer.evidence == EvidenceClass::published ? ")" : " at 95 %)");
}

std::size_t count_measured(const std::vector<ClaimAnswer>& answers) {
  std::size_t count = 0;
  for (const ClaimAnswer& answer : answers) count += answer.measured.has_value() + count_measured(answer.parts);
  return count;
}

std::vector<ClaimAnswer> measured_parts(const ClaimAnswer& answer) {
  std::vector<ClaimAnswer> parts;
  std::ranges::copy_if(answer.parts, std::back_inserter(parts), [](const auto& part) { return count_measured({part}) > 0; });
  return parts;
}

std::string given(const std::string& text) { return text == kNoneGiven ? "" : text; }

// One row per answer; its reservations are notes below the table.
View answers_view(const ClaimAnswer& claim, const std::vector<ClaimAnswer>& answers) {
  View view = {"Answers to " + claim.id, columns("of|=verdict|found|claimed|quantity|\"under which conditions")};
  Notes notes;
  for (const ClaimAnswer& answer : answers) {
    std::string conditions = answer.conditions;
    append(conditions, given(answer.reason), "; ");
    for (const Warning& warning : answer.warnings) append(conditions, notes.mark(to_string(warning)), " ");
    view.rows.push_back(
        {answer.id, verdict_text(answer), found_text(answer), claimed_text(answer), answer.quantity, conditions});
  }
  view.notes = notes.all();
  return view;
}

View unmeasured_view(const ClaimCatalog& catalog, const std::vector<ClaimAnswer>& answers) {
  View view = {"Not measured", columns("claim|\"says|\"why not")};
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (count_measured({answers[i]}) == 0)
      view.rows.push_back(
          {answers[i].id, catalog.claims[i].text, answers[i].reason.empty() ? answers[i].conditions : answers[i].reason});
  return view;
}

// An answer with its numbers as texts.
void add_texts(Json& json, const ClaimAnswer& answer) {
  json["verdict_text"] = verdict_text(answer);
  json["found_text"] = found_text(answer);
  json["claimed_text"] = claimed_text(answer);
  for (std::size_t i = 0; i < answer.parts.size(); ++i) add_texts(json["parts"][i], answer.parts[i]);
}

// claims_json() with texts.
Json claims_part(const ClaimCatalog& catalog, const std::vector<ClaimAnswer>& answers) {
  Json part = claims_json(catalog, answers);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    add_texts(part["claims"][i], answers[i]);
    for (const auto& [evidence, verdict] : answers[i].verdicts)
      part["claims"][i]["verdicts"][name(evidence)] = verdict_text(verdict);
  }
  return part;
}

// null if the results do not answer any claim: arithmetic, which holds for any result, does not justify a section.
void add_answers(Json& data, const std::vector<NamedResult>& results, const ClaimCatalog& catalog, const ClaimFacts& facts) {
  const std::vector<ClaimAnswer> answers = judge(catalog.claims, results, facts);
  if (count_measured(answers) == count_measured(judge(catalog.claims, {}, facts))) return;
  data["claims"] = claims_part(catalog, answers);
  data["claims"]["counts"] = trimmed(claim_counts_text(answers));
  data["tables"]["claims"] = page_table(unmeasured_view(catalog, answers));
  for (const ClaimAnswer& answer : answers) {
    if (count_measured({answer}) == 0) continue;
    const std::vector<ClaimAnswer> parts = measured_parts(answer);
    data["tables"]["claim " + answer.id] = page_table(answers_view(answer, parts.empty() ? std::vector{answer} : parts));
  }
}

}  // namespace

bool shows_claims(const std::vector<NamedResult>& results, const PageOptions& options) {
  return options.claims || options.articles || suite_of(results) == kClaimsSuite;
}

void add_claims(Json& data, const std::vector<NamedResult>& results, const ClaimCatalog& catalog, const PageOptions& options) {
  data["claims"] = data["articles"] = nullptr;
  if (options.claims || (!options.articles && shows_claims(results, options)))
    add_answers(data, results, catalog, options.facts);
  if (!options.articles) return;
  data["articles"] = claims_part(catalog, judge(catalog.claims, results, options.facts));
  data["articles"]["articles"] = json_list(catalog.articles, [](const Article& article) {
    return Json{{"file", article.file}};
  });
}

}  // namespace epochbench
