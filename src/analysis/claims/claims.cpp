#include "src/analysis/claims/claims.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "src/analysis/claims/claim_kinds.h"
#include "src/base/numbers.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr std::array<const char*, 5> kVerdicts{"not_testable", "reproduced", "exceeded", "undecided", "not_reproduced"};

constexpr KindRow kKinds[] = {
    {.name = "ratio", .answers = answer_ratio, .has_partner = true},
    {.name = "value", .answers = answer_value},
    {.name = "slope", .answers = answer_slope, .over_sizes = true},
    {.name = "difference", .answers = answer_difference, .has_partner = true},
    {.name = "error", .answers = answer_error},
    {.name = "error_ratio", .answers = answer_error_ratio, .has_partner = true},
    {.name = "peak", .answers = answer_peak, .of_runs = false},
    {.name = "weights", .answers = answer_weights, .of_runs = false},
    {.name = "memory", .answers = answer_memory},
    {.name = "crossover", .answers = answer_crossover, .has_partner = true, .over_sizes = true},
    {.name = "plateau", .answers = answer_plateau, .over_sizes = true},
    {.name = "cores", .answers = answer_cores, .has_partner = true},
    {.name = "feeding", .answers = answer_input},
    {.name = "break_even", .answers = answer_break_even, .of_runs = false},
    {.name = "missing",
     .answers = [](const ClaimQuantity& quantity, const Evidence&) { return Answers{unanswered(quantity, quantity.reason)}; },
     .of_runs = false},
};
static_assert(std::size(kKinds) == static_cast<std::size_t>(QuantityKind::missing) + 1);

// As good as the worst of what could be tested; the rest is named. What nothing is claimed of was tested, if it has a value.
void conclude_of_all(ClaimAnswer& answer) {
  std::string untested, carrying;
  bool carried = false;
  for (const ClaimAnswer& part : answer.parts) {
    answer.verdict = std::max(answer.verdict, part.verdict);
    carried = carried || (part.carries && part.verdict != Verdict::not_testable);
    if (part.carries) append(carrying, part.id);
    if (part.verdict == Verdict::not_testable && !part.measured) append(untested, part.id);
  }
  const ClaimAnswer& first = answer.parts.front();
  static_cast<ClaimPart&>(answer) = first;
  answer.measured = first.measured;
  answer.measured_ci95 = first.measured_ci95;
  answer.conditions = first.conditions;
  if (!carried && answer.verdict != Verdict::not_testable && answer.verdict != Verdict::not_reproduced) {
    answer.verdict = Verdict::not_testable;
    answer.reason = "what could be tested does not carry the claim without " + carrying;
    return;
  }
  const auto worst = std::ranges::find(answer.parts, answer.verdict, &ClaimAnswer::verdict);
  if (!worst->reason.empty())
    answer.reason = worst->id + ": " + worst->reason;
  else if (answer.verdict != Verdict::reproduced)
    answer.reason = "for " + worst->id;
  if (!untested.empty() && answer.verdict != Verdict::not_testable)
    append(answer.reason, "not testable here: " + untested, "; ");
}

// A claim of some model holds if it holds for one; the best of the parts speaks for it, in its own quantity and unit.
void conclude_of_any(ClaimAnswer& answer) {
  const auto rank = [](const ClaimAnswer& part) {
    // A model that was not measured says nothing, whatever the others say.
    return part.verdict == Verdict::not_testable ? static_cast<int>(kVerdicts.size()) : static_cast<int>(part.verdict);
  };
  const auto best = std::ranges::min_element(answer.parts, {}, rank);
  std::string measured;
  for (const ClaimAnswer& part : answer.parts)
    if (part.measured)
      append(measured,
             part.id + " " + short_number(*part.measured, 3) + (part.unit == "x" ? "" : " ") + part.unit + ", " +
                 (part.verdict == Verdict::reproduced ? "which holds" : name(part.verdict)),
             "; ");
  const std::string reason = measured.empty() ? best->reason : "of a model, whichever: " + measured;
  answer = ClaimAnswer(*best);
  answer.reason = reason;
}

ClaimAnswer judge(const Claim& claim, const Evidence& evidence) {
  ClaimAnswer answer;
  for (const ClaimQuantity& quantity : claim.quantities)
    for (ClaimAnswer& part : quantity_kinds()[static_cast<std::size_t>(quantity.kind)].answers(quantity, evidence))
      answer.parts.push_back(std::move(part));
  if (answer.parts.size() == 1) {
    answer = ClaimAnswer(answer.parts.front());
  } else if (claim.holds_for_any) {
    conclude_of_any(answer);
  } else {
    conclude_of_all(answer);
  }
  answer.id = claim.id;
  return answer;
}

}  // namespace

std::span<const KindRow> quantity_kinds() { return kKinds; }

const char* name(Verdict verdict) { return kVerdicts[static_cast<std::size_t>(verdict)]; }

Verdict verdict_of(const ClaimedRange& claimed, const std::pair<double, double>& measured_ci95) {
  const auto [low, high] = measured_ci95;
  const bool below = claimed.low && high < *claimed.low, above = claimed.high && low > *claimed.high;
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
  if (!std::isfinite(estimate.value)) return answer;
  answer.measured = estimate.value / quantity.scale;
  answer.verdict = Verdict::undecided;
  if (!estimate.ci95) return answer;
  answer.measured_ci95 = {estimate.ci95->first / quantity.scale, estimate.ci95->second / quantity.scale};
  answer.verdict = verdict_of(quantity.claimed, *answer.measured_ci95);
  if (answer.verdict == Verdict::undecided) answer.reason = "the interval goes across a bound of the claim";
  return answer;
}

Estimate exact(double value) { return {value, {{value, value}}, ""}; }

std::vector<ClaimAnswer> judge(std::span<const Claim> claims, const std::vector<NamedResult>& results) {
  const Evidence evidence = evidence_of(results);
  std::vector<ClaimAnswer> answers;
  for (const Claim& claim : claims) answers.push_back(judge(claim, evidence));
  return answers;
}

}  // namespace epochbench
