// The claims of articles and what results say about them: pure functions over bench/claims.json, as read, and results.
//
// A verdict compares a measured 95 % interval with the claimed one. The unit of an interval is the repetition (a process) or
// the seed, never the step. What cannot be measured here is not testable, with the reason; nothing is guessed.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/analysis/claims/claim_catalog.h"
#include "src/analysis/cost/local_cost.h"
#include "src/analysis/fairness.h"
#include "src/analysis/predict/prediction.h"
#include "src/case/choices.h"
#include "src/result/evidence.h"
#include "src/result/published.h"
#include "src/result/turns.h"

namespace epochbench {

// What was tested from best to worst, after what was not.
enum class Verdict : std::uint8_t { not_testable, reproduced, exceeded, undecided, not_reproduced };
constexpr auto texts_of(Verdict) { return std::array{"not_testable", "reproduced", "exceeded", "undecided", "not_reproduced"}; }

// A source that an answer rests on, with what its terms require beside it.
struct ClaimSource {
  std::string text, url;
  bool operator==(const ClaimSource&) const = default;
};

struct ClaimAnswer : ClaimPart {
  Verdict verdict = Verdict::not_testable;
  std::optional<EvidenceClass> evidence;                    // of the verdict, or of what was measured; empty: none
  std::vector<std::pair<EvidenceClass, Verdict>> verdicts;  // of a claim, for each class that has one
  std::optional<double> measured;
  std::optional<std::pair<double, double>> measured_ci95;  // infinite if it is open above
  std::string conditions;                                  // of the test, and how they differ from the claim's
  std::string reason;                                      // why there is no verdict or no interval, or what it rests on
  std::vector<ClaimSource> sources;                        // of published and predicted answers
  std::vector<Warning> warnings;  // what makes the comparison unfair; in an answer of several parts those of the parts
  std::vector<ClaimAnswer> parts;
};

// Inside: reproduced; on the claim's far side: exceeded; on the near side: not reproduced; across a bound: undecided.
Verdict verdict_of(const ClaimedRange& claimed, const std::pair<double, double>& measured_ci95);

// A claim from its parts (claim_conclusion.cpp): from what was measured or planned; if that decides nothing, from what others
// published; otherwise from predictions. The best of several alternatives leads. A claim about all is as good as the worst of
// the parts that could be tested; its reason names the others; if none of the tested parts carries it, it is not testable,
// unless one refutes it. A claim about most holds if more than half of at least three do. Precondition: a part counts.
void conclude(ClaimAnswer& answer, HoldsFor holds_for);

// A step that `epochbench plan` counts without running it.
struct PlannedStep {
  std::string model;
  Mode mode = Mode::train;
  Precision precision = Precision::fp32;
  std::int64_t batch = 1;
  auto operator<=>(const PlannedStep&) const = default;
};
struct PlannedCounts {
  std::int64_t parameters = 0;
  double bytes = 0, flops = 0;  // bytes: on the device; flops: of a sample
  std::string device;           // for which the memory is planned
  std::string reason;           // why there are no counts; empty if there are
};
using Plans = std::map<PlannedStep, PlannedCounts>;

// A planned step on a device of the catalog.
struct PredictedStep {
  std::string device;
  PlannedStep step;
  auto operator<=>(const PredictedStep&) const = default;
};
using PredictedSteps = std::map<PredictedStep, Prediction>;

// The steps that claims need, each once. src/session/claim_plans.h counts and predicts them.
struct ClaimSteps {
  std::set<PlannedStep> planned;
  std::set<PredictedStep> predicted;
};
ClaimSteps steps_of(std::span<const Claim> claims);

// What claims are judged by besides results. What is missing is not testable.
struct ClaimFacts {
  Plans plans = {};
  PredictedSteps predictions = {};
  std::map<std::string, CatalogPrice> instances = {};  // among the devices of predictions, those with a price
  std::span<const PublishedDocument> published = {};
  std::optional<RentOrBuy> prices = {};  // of a machine to own and one to rent
};

// One answer per claim, in their order.
std::vector<ClaimAnswer> judge(std::span<const Claim> claims, const std::vector<NamedResult>& results,
                               const ClaimFacts& facts = {});

}  // namespace epochbench
