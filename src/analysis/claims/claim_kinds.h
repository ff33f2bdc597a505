// How claims are judged: the runs that a claim is about, with one number per repetition (claim_runs.cpp), and one function per
// kind of quantity.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/analysis/claims/claims.h"
#include "src/analysis/series.h"
#include "src/figures/estimate.h"

namespace epochbench {

struct Evidence {
  const std::vector<NamedResult>& results;
  AllSeries all;
  std::map<const Run*, const Series*> series_of;  // of each run in all.series, which must not move
  std::map<std::string, std::vector<const Series*>> by_model;
  const ClaimFacts& facts;
};
Evidence evidence_of(const std::vector<NamedResult>& results, const ClaimFacts& facts);  // both must outlive it

// One number of a run: samples_per_second, epochs_per_second, epochs_per_usd, epochs_per_joule, peak_bytes, planned_bytes,
// eval_percent (accuracy), latency_p99 (seconds), peak_fraction, product_share (of a profiled step), exchange_share (of a step
// of ranks), device_watts (of the CPU, or of the GPU that ran). Empty: not known, not finite, in another currency, or not above
// 0, except that eval_percent may be 0. Errors: std::invalid_argument for any other name.
std::optional<double> metric(const Run& run, const std::string& name);
std::vector<std::string> metric_names();

// One for each repetition that has it.
std::vector<double> metrics(const Series& series, const std::string& name);

// The mean of repetitions with its interval, or the quotient of two sides; for memory, which does not depend on chance, the
// range from the least to the greatest repetition, however many there are.
Estimate estimate_of(const std::vector<double>& values, const std::string& measure);
Estimate estimate_of_ratio(const std::vector<double>& to, const std::vector<double>& of, const std::string& measure);

// Why no repetition has it: "resnet50/cpu/fp32/b16 has no epochs_per_usd: its cost is in EUR".
std::string why_no_metric(const Series& series, const std::string& name);

std::size_t epochs_trained(const Run& run);  // whole ones, each with its evaluation; 0 if steps were counted

// The choice's model if it has one, else the quantity's.
inline const std::string& model_of(const RunChoice& choice, const std::string& model) {
  return choice.model.empty() ? model : choice.model;
}

// The choice as a planned step.
PlannedStep step_of(const RunChoice& choice, const std::string& model, const std::string& precision);

// Whether the choice is about such runs, whatever their model.
bool suits(const RunChoice& choice, const Series& series);

// Series of this model (named as in results, with its options) on this backend. "" means any backend of the choice.
std::vector<const Series*> matching(const Evidence& evidence, const RunChoice& choice, const std::string& model,
                                    const std::string& backend);

// The same on the first backend of the choice that has any.
std::vector<const Series*> preferred(const Evidence& evidence, const RunChoice& choice, const std::string& model);

struct SeriesPair {
  const Series* of = nullptr;
  const Series* to = nullptr;
};
// All pairs of one workload (fingerprint, mode, data set, seed) for this model; with `best`, of any batches. If both choices
// name the same backends, a pair is of one backend, one machine and one number of threads. Of several backends the first that
// has a pair counts; on the CPU only with at least `least_cores` cores.
std::vector<SeriesPair> pairs(const Evidence& evidence, const ClaimQuantity& quantity, const std::string& model);

// Why the pairs that there are cannot carry an answer; "" if there are none.
std::string why_unusable(const Evidence& evidence, const ClaimQuantity& quantity, const std::string& model);

// The pair whose sides process the most samples per second, preferably one with the repetitions for an interval. Precondition:
// there is one.
SeriesPair fastest(const std::vector<SeriesPair>& pairs);

// What makes the pair unfair, except for what the claim is about or what its conditions already state.
std::vector<Warning> warnings_of(const SeriesPair& pair);

// Why a quantity has no run: "no GPU: ...", how its runs ended, or that none was measured.
std::string why_missing(const Evidence& evidence, const RunChoice& choice, const std::string& model);

// "bf16 on NVIDIA H200, batch 16", "fp32 on AMD EPYC, 2 threads, batch 16, without=fusion".
std::string describe(const Series& series);
// Both sides, and how many repetitions each has.
std::string describe(const SeriesPair& pair);

using Answers = std::vector<ClaimAnswer>;

// An answer without a measurement: not testable, for this reason.
ClaimAnswer unanswered(const ClaimQuantity& quantity, std::string reason);

// An answer with a measured value in SI units; its verdict follows from the interval, and is undecided without one.
ClaimAnswer answered(const ClaimQuantity& quantity, const Estimate& estimate, std::string conditions);

// The slope of the least-squares line of y over x. Precondition: two different x.
struct Point {
  double x, y;
};
double slope(const std::vector<Point>& points);
inline constexpr std::size_t kMinSizes = 3;  // a line fits any two points

// One answer per model of the quantity, named after it.
template <class AnswerOf>
Answers answers_by_model(const ClaimQuantity& quantity, bool named, const AnswerOf& answer_of) {
  Answers answers;
  for (const std::string& model : quantity.models) {
    answers.push_back(answer_of(model));
    if (!named) continue;
    answers.back().id = quantity.id + (quantity.id.empty() ? "" : "/") + model;
    if (!quantity.alternative.empty()) answers.back().alternative = quantity.alternative + "/" + model;
  }
  return answers;
}

// A value known exactly, by arithmetic or from a plan.
Estimate exact(double value);

// Figures of others: the mean, with the range from the least to the greatest as the interval.
ClaimAnswer answered_by_others(const ClaimQuantity& quantity, const std::vector<double>& values, std::string conditions,
                               std::vector<ClaimSource> sources);

// Turns a quantity into its answers: one, or one for each of its models.
using AnswerFunction = Answers(const ClaimQuantity& quantity, const Evidence& evidence);

// claim_ratios.cpp: numbers of runs, compared with each other or alone.
AnswerFunction answer_ratio, answer_effect, answer_value, answer_difference, answer_error, answer_error_ratio;
// claim_machine.cpp: the machine's ceilings, memory, and how well input feeds a device.
AnswerFunction answer_peak, answer_peak_ratio, answer_weights, answer_memory, answer_input;
// claim_owning.cpp: owning and renting, at the user's prices.
AnswerFunction answer_break_even;
std::vector<std::string> example_figures();  // that an example of a claim about owning needs
// claim_suite.cpp: how long a suite takes.
AnswerFunction answer_suite;
// claim_plans.cpp: what a step takes, from its graph alone.
AnswerFunction answer_plan;
// claim_others.cpp: what others published, rate or state. claim_predicted.cpp: what devices of the catalog can do at most.
// claim_expected.cpp: how fast they are expected to be.
AnswerFunction answer_published, answer_rated, answer_stated, answer_predicted, answer_expected;
// claim_trends.cpp: does a number grow with a size?
AnswerFunction answer_slope;
// claim_curves.cpp: where do curves cross, flatten or reach?
AnswerFunction answer_crossover, answer_plateau, answer_cores;

struct KindRow {
  enum class About : std::uint8_t {
    runs,   // it needs models, runs `of` on named backends and a measure
    plans,  // it needs models and a precision
    others
  };
  const char* name;  // in bench/claims.json
  AnswerFunction* answers;
  About about = About::runs;
  bool has_partner = false;        // it needs runs `to`
  const char* measures = nullptr;  // separated by spaces; null: for runs those of metric()
  const char* over = nullptr;      // sizes or peaks, likewise; null: none is needed
};
// In the order of QuantityKind.
std::span<const KindRow> quantity_kinds();

}  // namespace epochbench
