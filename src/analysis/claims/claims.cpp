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

constexpr const char* kPeaks = "cpu_memory cpu_memory_bandwidth cpu_peak_fp32 gpu_memory gpu_memory_bandwidth gpu_peak_fp32";

constexpr const char* kPublished =
    "samples_per_second samples_per_second_per_node seconds_to_target epochs_per_usd answers_per_second latency usd_per_hour";

constexpr auto kOfPlans = KindRow::About::plans, kOfOthers = KindRow::About::others;

constexpr KindRow kKinds[] = {
    {.name = "ratio", .answers = answer_ratio, .has_partner = true},
    {.name = "value", .answers = answer_value},
    {.name = "slope", .answers = answer_slope, .over = "parameters batch"},
    {.name = "difference", .answers = answer_difference, .has_partner = true, .measures = "accuracy loss"},
    {.name = "error", .answers = answer_error, .has_partner = true, .measures = "losses"},
    {.name = "error_ratio", .answers = answer_error_ratio, .has_partner = true, .measures = "losses"},
    {.name = "effect", .answers = answer_effect, .has_partner = true},
    {.name = "peak", .answers = answer_peak, .about = kOfOthers, .measures = kPeaks},
    {.name = "peak_ratio", .answers = answer_peak_ratio, .about = kOfOthers, .measures = kPeaks, .over = kPeaks},
    {.name = "weights", .answers = answer_weights, .about = kOfOthers},
    {.name = "plan", .answers = answer_plan, .about = kOfPlans, .measures = "bytes flops"},
    {.name = "memory", .answers = answer_memory},
    {.name = "crossover",
     .answers = answer_crossover,
     .has_partner = true,
     .measures = "time cost",
     .over = "batch width samples"},
    {.name = "plateau", .answers = answer_plateau, .over = "batch width samples"},
    {.name = "cores", .answers = answer_cores, .has_partner = true},
    {.name = "suite", .answers = answer_suite, .about = kOfOthers},
    {.name = "feeding", .answers = answer_input, .measures = "starved decoded gain"},
    {.name = "break_even", .answers = answer_break_even, .about = kOfOthers, .measures = "owning renting idle"},
    {.name = "published", .answers = answer_published, .about = kOfOthers, .measures = kPublished},
    {.name = "rated", .answers = answer_rated, .about = kOfOthers},
    {.name = "stated", .answers = answer_stated, .about = kOfOthers},
    {.name = "predicted", .answers = answer_predicted, .about = kOfPlans, .measures = "seconds samples_per_second"},
    {.name = "expected",
     .answers = answer_expected,
     .about = kOfPlans,
     .has_partner = true,
     .measures = "samples_per_second samples_per_usd"},
    {.name = "missing",
     .answers = [](const ClaimQuantity& quantity, const Evidence&) { return Answers{unanswered(quantity, quantity.reason)}; },
     .about = kOfOthers},
};
static_assert(std::size(kKinds) == static_cast<std::size_t>(QuantityKind::missing) + 1);

ClaimAnswer judge(const Claim& claim, const Evidence& evidence) {
  ClaimAnswer answer;
  for (const ClaimQuantity& quantity : claim.quantities) {
    const KindRow& kind = quantity_kinds()[static_cast<std::size_t>(quantity.kind)];
    for (ClaimAnswer& part : kind.answers(quantity, evidence)) {
      if (part.id.empty()) part.id = kind.name;  // a quantity without a model or an id of its own
      answer.parts.push_back(std::move(part));
    }
  }
  for (ClaimAnswer& part : answer.parts)
    if (!part.evidence && (part.measured || part.verdict != Verdict::not_testable)) part.evidence = EvidenceClass::measured;
  conclude(answer, claim.holds_for);
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
  if (!std::isfinite(estimate.value / quantity.scale)) return answer;
  answer.measured = estimate.value / quantity.scale;
  answer.verdict = Verdict::undecided;
  if (!estimate.ci95) return answer;
  answer.measured_ci95 = {estimate.ci95->first / quantity.scale, estimate.ci95->second / quantity.scale};
  answer.verdict = verdict_of(quantity.claimed, *answer.measured_ci95);
  if (answer.verdict == Verdict::undecided) answer.reason = "the interval goes across a bound of the claim";
  return answer;
}

Estimate exact(double value) { return {value, {{value, value}}, ""}; }

std::vector<ClaimAnswer> judge(std::span<const Claim> claims, const std::vector<NamedResult>& results,
                               const ClaimFacts& facts) {
  const Evidence evidence = evidence_of(results, facts);
  std::vector<ClaimAnswer> answers;
  for (const Claim& claim : claims) answers.push_back(judge(claim, evidence));
  return answers;
}

}  // namespace epochbench
