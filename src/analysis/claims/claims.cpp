#include "src/analysis/claims/claims.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <stdexcept>
#include <tuple>

#include "src/analysis/claims/claim_kinds.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/statistics.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr ClaimKinds (*kKindsOfFiles[])() = {curve_kinds, expected_kinds, machine_kinds, others_kinds, owning_kinds,
                                             plan_kinds,  run_kinds,      seed_kinds,    trend_kinds};

std::vector<ClaimQuantity> questions_by_figure(const ClaimQuantity& quantity) {
  std::vector<ClaimQuantity> questions(quantity.figures.size(), quantity);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    questions[i].figures = {quantity.figures[i]};
    append(questions[i].id, quantity.figures[i].of, "/");
  }
  return questions;
}

// What has an answer of its own: each model, named after it if there are several, or the quantity.
std::vector<ClaimQuantity> questions_by_model(const ClaimQuantity& quantity, const ClaimKind& kind) {
  const bool of_all = quantity.models.empty() || (kind.over.list && quantity.over == kOverParameters);
  if (of_all || !(kind.by_model || quantity.each)) return {quantity};
  std::vector<ClaimQuantity> questions(quantity.models.size(), quantity);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const std::string& model = quantity.models[i];
    questions[i].models = {model};
    if (questions.size() == 1 && !quantity.each) continue;
    append(questions[i].id, model, "/");
    if (!quantity.alternative.empty()) questions[i].alternative += "/" + model;
  }
  return questions;
}

void check_preconditions(std::vector<ClaimAnswer>& parts) {
  for (ClaimAnswer& part : parts) {
    if (part.precondition.empty() || part.verdict == Verdict::not_testable) continue;
    const auto fails = [&](const ClaimAnswer& given) {
      const bool meant = given.id == part.precondition || given.id.starts_with(part.precondition + "/");
      return meant && given.verdict != Verdict::reproduced;
    };
    const auto given = std::ranges::find_if(parts, fails);
    if (given == parts.end()) continue;
    part.verdict = Verdict::not_testable;
    part.reason = "claimed only where this holds: " + given->quantity;
  }
}

Answers judged_parts(const Claim& claim, const Evidence& evidence, std::size_t choices) {
  Answers parts;
  for (ClaimQuantity quantity : claim.quantities) {
    quantity.choices = choices;
    const ClaimKind& kind = kind_named(quantity.kind);
    const bool of_others = kind.evidence == EvidenceClass::published || kind.evidence == EvidenceClass::predicted;
    const bool by_figure = quantity.each && kind.by_figure;
    for (const ClaimQuantity& question : by_figure ? questions_by_figure(quantity) : questions_by_model(quantity, kind))
      for (ClaimAnswer& part :
           kind.numbers ? Answers{answered(question, kind.numbers(question, evidence))} : kind.answers(question, evidence)) {
        if (part.id.empty()) part.id = kind.name;  // a quantity without a model or an id of its own
        const bool has_evidence = of_others || part.measured || part.verdict != Verdict::not_testable;
        if (!part.evidence && has_evidence) part.evidence = kind.evidence;
        parts.push_back(std::move(part));
      }
  }
  return parts;
}

// Whether the measured part could be the one for which a claim about some model holds.
bool is_choice(const ClaimAnswer& part) {
  return part.counts && part.carries && part.evidence == EvidenceClass::measured && part.measured_ci95;
}

// Holm's method ("A simple sequentially rejective multiple test procedure", 1979): k parts are judged with a k-th of the error;
// those that hold are settled, and the others share the error among fewer.
Answers judged_as_choices(const Claim& claim, const Evidence& evidence, Answers parts) {
  auto left = static_cast<std::size_t>(std::ranges::count_if(parts, is_choice));
  std::vector<bool> holds(parts.size(), false);
  for (bool found = left > 1; found && left > 0;) {
    const Answers again = judged_parts(claim, evidence, left);
    found = false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (holds[i]) continue;
      parts[i] = again[i];
      holds[i] = is_choice(parts[i]) && parts[i].verdict == Verdict::reproduced;
      found = found || holds[i];
      left -= holds[i] ? 1 : 0;
    }
  }
  return parts;
}

ClaimAnswer judge(const Claim& claim, const Evidence& evidence) {
  ClaimAnswer answer;
  answer.parts = judged_parts(claim, evidence, 1);
  if (claim.holds_for == HoldsFor::any) answer.parts = judged_as_choices(claim, evidence, std::move(answer.parts));
  check_preconditions(answer.parts);
  conclude(answer, claim.holds_for);
  answer.id = claim.id;
  return answer;
}

}  // namespace

Words kind_names() {
  std::set<std::string> names;
  for (const auto& kinds : kKindsOfFiles)
    for (const ClaimKind& kind : kinds()) names.insert(kind.name);
  return {names.begin(), names.end()};
}

const ClaimKind& kind_named(const std::string& name) {
  for (const auto& kinds : kKindsOfFiles)
    for (const ClaimKind& kind : kinds())
      if (kind.name == name) return kind;
  throw std::out_of_range("no kind of a quantity is called '" + name + "'");
}

ClaimSteps steps_of(std::span<const Claim> claims) {
  ClaimSteps steps;
  for (const Claim& claim : claims)
    for (const ClaimQuantity& quantity : claim.quantities)
      if (const ClaimKind& kind = kind_named(quantity.kind); kind.add_steps) kind.add_steps(quantity, steps);
  return steps;
}

Verdict verdict_of(const ClaimedRange& claimed, const std::pair<double, double>& measured_ci95) {
  const auto [low, high] = measured_ci95;
  const bool below = claimed.low && high < *claimed.low, above = claimed.high && low > *claimed.high;
  if (claimed.exact && (below || above)) return Verdict::not_reproduced;
  if (below) return claimed.less_is_more ? Verdict::exceeded : Verdict::not_reproduced;
  if (above) return claimed.less_is_more ? Verdict::not_reproduced : Verdict::exceeded;
  const bool inside = (!claimed.low || low >= *claimed.low) && (!claimed.high || high <= *claimed.high);
  return inside ? Verdict::reproduced : Verdict::undecided;
}

ClaimAnswer unanswered(const ClaimQuantity& quantity, std::string reason) {
  ClaimAnswer answer;
  static_cast<ClaimPart&>(answer) = quantity;
  answer.reason = std::move(reason);
  return answer;
}

ClaimAnswer answered(const ClaimQuantity& quantity, const Estimate& estimate, std::string conditions) {
  ClaimAnswer answer = unanswered(quantity, estimate.reason);
  answer.conditions = std::move(conditions);
  append(answer.conditions, quantity.differs, "; ");
  if (!std::isfinite(estimate.value / quantity.scale)) return answer;
  answer.measured = estimate.value / quantity.scale;
  answer.verdict = Verdict::undecided;
  if (!estimate.ci95) return answer;
  auto& [low, high] =
      answer.measured_ci95.emplace(estimate.ci95->first / quantity.scale, estimate.ci95->second / quantity.scale);
  if (quantity.weak == "of") high = std::numeric_limits<double>::infinity();
  if (quantity.weak == "to") low = std::min(low, 0.0);
  answer.verdict = verdict_of(quantity.claimed, *answer.measured_ci95);
  if (answer.verdict == Verdict::undecided)
    answer.reason = quantity.weak.empty() ? "the interval goes across a bound of the claim"
                                          : "one side could have been faster, so the ratio is only a bound";
  return answer;
}

ClaimAnswer answered(const ClaimQuantity& quantity, const Numbers& numbers) {
  if (!numbers.missing.empty()) return unanswered(quantity, numbers.missing);
  const ClaimedRange& claimed = quantity.claimed;
  ClaimAnswer answer = answered(quantity, estimate(numbers, quantity.choices), numbers.conditions);
  if (numbers.repeated && quantity.choices > 1 && answer.measured_ci95)
    append(answer.conditions,
           "the interval is at " + short_number(100 - 5 / static_cast<double>(quantity.choices), 4) +
               " %, since it is one of " + std::to_string(quantity.choices) + " that may decide",
           "; ");
  answer.warnings = numbers.warnings;
  answer.sources = numbers.sources;
  if (!claimed.low && !claimed.high) {
    answer.verdict = Verdict::not_testable;
    answer.reason = "nothing is claimed of this number alone";
  } else if (numbers.reached && !answer.measured_ci95 && claimed.high && answer.measured > claimed.high) {
    answer.verdict = Verdict::exceeded;
    answer.reason = "reached at least once, and a ceiling is what is reached";
  } else if (answer.verdict == Verdict::undecided && !answer.sources.empty() && quantity.weak.empty()) {
    answer.reason = "what was published lies on both sides of a bound of the claim";
  }
  return answer;
}

void cite(std::vector<ClaimSource>& sources, const ClaimSource& source) {
  if (!contains(sources, source)) sources.push_back(source);
}

ClaimSource source_of(const CatalogFact& fact) {
  const CatalogSource& source = embedded_devices().sources.at(fact.source);
  return {source.title + ", " + source.date, source.url};
}

PlannedStep step_of(const RunChoice& choice, const std::string& model, Precision precision) {
  return {model_of(choice, model), choice.mode, precision, choice.batch.value_or(1)};
}

PlannedStep step_of(const RunChoice& choice, const std::string& model) {
  return step_of(choice, model, choice.precisions.front());
}

Numbers certain(double value, std::string conditions) {
  return {.of = {value}, .conditions = std::move(conditions), .repeated = nullptr};
}

Estimate estimate(const Numbers& numbers, std::size_t choices) {
  const double error = numbers.error / static_cast<double>(choices);
  const auto& [of, to] = std::tie(numbers.of, numbers.to);
  if (numbers.of_magnitudes && to.empty()) return geometric_mean_estimate(of, error);
  if (numbers.repeated && to.empty()) return arithmetic_mean_estimate(of, kMinRepetitions, numbers.repeated, error);
  if (numbers.repeated) return ratio_estimate(to, of, error);
  if (numbers.ci95) return {of.front(), numbers.ci95, ""};
  const auto [least, greatest] = std::ranges::minmax(of);
  if (to.empty()) return {mean(of), {{least, greatest}}, ""};
  const auto [least_to, greatest_to] = std::ranges::minmax(to);
  return {geometric_mean(of) / geometric_mean(to), {{least / greatest_to, greatest / least_to}}, ""};
}

std::vector<ClaimAnswer> judge(std::span<const Claim> claims, const std::vector<NamedResult>& results,
                               const ClaimFacts& facts) {
  // The newest first, so that no answer depends on the order of the files.
  std::vector<NamedResult> newest_first = results;
  std::ranges::stable_sort(newest_first, std::greater(),
                           [](const NamedResult& each) { return std::pair(each.result.context.date, each.path); });
  const Evidence evidence = evidence_of(newest_first, facts);
  std::vector<ClaimAnswer> answers;
  for (const Claim& claim : claims) answers.push_back(judge(claim, evidence));
  return answers;
}

}  // namespace epochbench
