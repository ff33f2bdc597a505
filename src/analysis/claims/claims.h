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

struct ClaimedRange {
  std::optional<double> low, high;  // empty: no bound
  bool less_is_more = false;        // below the range the claim is exceeded, above it is not reproduced
};

// The runs that a quantity is about.
struct RunChoice {
  std::string model;                    // instead of the quantity's; empty: the quantity's
  std::vector<std::string> backends;    // in order of preference; the first that has such runs counts
  std::vector<std::string> precisions;  // any of them; empty: any
  std::string mode = "train", data;     // data: "real", or empty for any
  std::optional<std::int64_t> batch;
  // Conditions of the work besides device, precision and batch, as conditions_of() returns them: "without=fusion". A run with
  // any other condition is not chosen.
  std::vector<std::string> settings;
};

struct ClaimPart {
  std::string id;              // of a quantity within its claim, where it may be empty; of an answer "fusion/resnet20"
  std::string quantity, unit;  // for people: "samples/s, GPU over CPU", "x"
  ClaimedRange claimed;        // in `unit`
  bool carries = true;         // the claim, if no other part can be tested; a part that does not carry it can still refute it
  bool counts = true;          // toward the verdict; a part that does not is another reading, shown beside it
  std::string alternative;     // parts with the same name are readings of one statement, which holds if one of them does
};

// A figure that someone published, as the source gives it; with `over` there are two, whose ratio counts.
struct StatedFigure {
  std::string of;  // what it is a figure of: "NVIDIA V100", "purchase_usd"
  double value = 0;
  std::optional<double> over;
  std::string source, url, date;
};

struct ClaimQuantity : ClaimPart {
  double scale = 1;              // SI units in one `unit`
  std::string kind = "missing";  // the name of a row (claim_kinds.h); docs/claims.md describes each
  std::string measure, over;     // "samples_per_second"; "batch"
  bool best = false;             // each device at its own best, instead of one workload on both
  bool each = false;             // memory: every model, instead of the first that was measured; expected: every pair
  std::vector<std::string> models;
  RunChoice of;
  std::optional<RunChoice> to;
  std::optional<std::pair<RunChoice, RunChoice>> than;  // for an effect: `of` and `to` of the ratio that it is compared with
  std::string device;                                   // of peaks: part of the GPU's name
  double parameters = 0, bytes = 0;                     // of weights and memory
  int least_seeds = 5;
  std::optional<int> least_cores;             // of the CPU
  std::vector<std::string> entries, against;  // published: names with * for any text; others: devices
  std::vector<StatedFigure> figures;          // of stated; of break_even: an example, if the call has no prices
  double samples = 0;                         // of predicted seconds
  std::string differs, reason;                // how the test differs from the claim; why a quantity is missing
};

enum class HoldsFor : std::uint8_t {
  all,   // of its parts
  any,   // about some model, whichever
  most,  // "usually", "often": more than half of the models
};
constexpr auto texts_of(HoldsFor) { return std::array{"all", "any", "most"}; }

struct Article {
  std::string file, sha256;  // where its quotes are found; the catalog has only the quotes
};

struct Quote {  // verbatim, except that a run of white space is one space
  std::string article, text;
  std::string reads;  // "4–8×", where the article's file lost characters: "4 8×"
};
inline constexpr std::size_t kLongestQuote = 200;  // characters

struct Claim {
  std::string id, text, conditions, origin, experiment, verdict;  // for people; `verdict`: how it follows
  HoldsFor holds_for = HoldsFor::all;
  std::vector<Quote> quotes;  // empty: from the call
  std::vector<ClaimQuantity> quantities;
};

struct ClaimConflict {  // claims that cannot hold together
  std::vector<std::string> claims;
  std::string why;
};

// bench/claims.json: the claims embedded in the binary, with how each is to be measured.
struct ClaimCatalog {
  std::string note;
  std::vector<Article> articles;
  std::vector<Claim> claims;
  std::vector<ClaimConflict> conflicts;
};

// `source` names the text in messages. Errors: FormatError, with the place.
ClaimCatalog parse_claims(std::string_view text, const std::string& source);
const ClaimCatalog& embedded_claims();

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
  std::string model, mode, precision;
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
