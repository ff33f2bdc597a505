// How claims are judged: the runs that a claim is about, with one number per repetition (claim_runs.cpp), and the kinds of
// quantities. A kind is one row beside the function that answers it; no other file knows it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "src/analysis/claims/claims.h"
#include "src/analysis/series.h"
#include "src/base/json_fields.h"
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

// One number of a run, by a name of metric_names() (docs/claims.md). Empty: not known, not finite, in another currency, or not
// above 0, except that eval_percent may be 0. Errors: std::invalid_argument for any other name.
std::optional<double> metric(const Run& run, const std::string& name);
std::vector<std::string> metric_names();

// One for each repetition that has it.
std::vector<double> metrics(const Repetitions& runs, const std::string& name);
inline std::vector<double> metrics(const Series& series, const std::string& name) { return metrics(series.runs, name); }

// Numbers::repeated of a metric.
const char* what_repeats(const std::string& name);

// Why no repetition has it: "resnet50/cpu/fp32/b16 has no epochs_per_usd: its cost is in EUR".
std::string why_no_metric(const Series& series, const std::string& name);

bool is_per_usd(const std::string& name);
std::size_t epochs_trained(const Run& run);  // whole ones, each with its evaluation; 0 if steps were counted

// The choice's model if it has one, else the quantity's.
inline const std::string& model_of(const RunChoice& choice, const std::string& model) {
  return choice.model.empty() ? model : choice.model;
}

// The choice as a planned step; without a precision in its first.
PlannedStep step_of(const RunChoice& choice, const std::string& model, Precision precision);
PlannedStep step_of(const RunChoice& choice, const std::string& model);

// Whether the choice is about such runs, whatever their model.
bool suits(const RunChoice& choice, const Series& series);
// The same, whatever the series' value of this setting.
bool suits_but_for(const char* setting, RunChoice choice, const Series& series);

// Series of this model (named as in results, with its options) on this backend; empty: on any of the choice.
std::vector<const Series*> matching(const Evidence& evidence, const RunChoice& choice, const std::string& model,
                                    std::optional<BackendKind> backend = {});

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

// The pair whose sides process the most samples per second, preferably one with the repetitions for an interval, and the
// repetitions that estimate it, those that other files or builds measured of its cases on the same device among them.
struct FastestPair {
  SeriesPair pair;
  Repetitions of = {}, to = {};
  double error = kError;   // of an interval over them (src/figures/best_choice.h)
  std::string doubt = {};  // choice_doubt()
};
// `each_at_best`: the sides are chosen one by one, since they need not share their work. Precondition: there is a pair.
FastestPair fastest(const std::vector<SeriesPair>& pairs, bool each_at_best);

// What makes the pair unfair, except for what the claim is about or what its conditions already state.
std::vector<Warning> warnings_of(const SeriesPair& pair);

// Why a quantity has no run: "no GPU: ...", how its runs ended, or that none was measured.
std::string why_missing(const Evidence& evidence, const RunChoice& choice, const std::string& model);

// Why a quantity's first model has no pair: those that there are cannot carry an answer, a side has no run (the GPU is named
// before the CPU), or the sides have no common workload.
std::string why_unpaired(const Evidence& evidence, const ClaimQuantity& quantity);

// "bf16 on NVIDIA H200, batch 16", "fp32 on AMD EPYC, 2 threads, batch 16, without=fusion".
std::string describe(const Series& series);
// Both sides, and how many repetitions each has.
std::string describe(const SeriesPair& pair);

// What answers a quantity: one number for each repetition, process, seed or source, on one side or on both sides of a ratio.
struct Numbers {
  std::vector<double> of = {}, to = {};  // `to`: empty without a ratio
  std::string conditions = {};           // of the test
  std::string missing = {};              // why there are no numbers
  const char* repeated = "repetitions";  // an interval takes several; null: no chance, so their range is the interval
  std::optional<std::pair<double, double>> ci95 = {};  // of the only number of `of`, as its source gives it
  bool of_magnitudes = false;  // they differ by orders of magnitude, so one side has their geometric mean
  bool reached = false;        // what was reached once stays reached, whatever further numbers say
  double error = kError;       // of an interval over repetitions
  std::vector<Warning> warnings = {};
  std::vector<ClaimSource> sources = {};
};
Numbers certain(double value, std::string conditions);  // by arithmetic or from a plan
// Precondition: none are missing. `choices`: of how many such numbers the best decides; the interval misses by `error`/choices,
// so that any of them misses in 5 % of cases at most.
Estimate estimate(const Numbers& numbers, std::size_t choices = 1);

using Answers = std::vector<ClaimAnswer>;

// An answer without a measurement: not testable, for this reason.
ClaimAnswer unanswered(const ClaimQuantity& quantity, std::string reason);

// An answer with a measured value in SI units; its verdict follows from the interval, and is undecided without one.
ClaimAnswer answered(const ClaimQuantity& quantity, const Estimate& estimate, std::string conditions);
ClaimAnswer answered(const ClaimQuantity& quantity, const Numbers& numbers);  // not testable if they are missing

// The slope of the least-squares line of y over x. Precondition: two different x.
struct Point {
  double x, y;
};
double slope(const std::vector<Point>& points);
inline constexpr std::size_t kMinSizes = 3;  // a line fits any two points

// Adds a source unless it is there already.
void cite(std::vector<ClaimSource>& sources, const ClaimSource& source);
ClaimSource source_of(const CatalogFact& fact);  // precondition: it has a value

using Words = std::vector<std::string>;
inline constexpr const char* kOverParameters = "parameters";  // of all models together

// The words from which a text is chosen: separated by spaces, or those of a function.
struct WordList {
  const char* list = nullptr;
  Words (*names)() = nullptr;
  constexpr WordList() = default;  // any
  constexpr WordList(const char* of) : list(of) {}
  constexpr WordList(Words (*of)()) : names(of) {}
};

struct ClaimKind {
  const char* name;                                                                       // in bench/claims.json
  Numbers (*numbers)(const ClaimQuantity& quantity, const Evidence& evidence) = nullptr;  // or, if there is more to say:
  Answers (*answers)(const ClaimQuantity& quantity, const Evidence& evidence) = nullptr;
  const char* needs = "claimed";  // keys that a quantity must give, separated by spaces; those of `to` only beside a `to`
  WordList measures = {};         // of `measure`
  WordList over = {};             // of `over`, if it is given
  bool by_model = false;          // each model has an answer of its own, unless the quantity is over their parameters
  bool by_figure = false;         // each figure has an answer of its own, if the quantity says `each`
  EvidenceClass evidence = EvidenceClass::measured;
  void (*check)(const ClaimQuantity& quantity, const JsonFields& fields) = nullptr;  // of the rest; errors: FormatError
  void (*add_steps)(const ClaimQuantity& quantity, ClaimSteps& steps) = nullptr;     // that either of them needs
};

// The kinds that each file answers.
using ClaimKinds = std::span<const ClaimKind>;
ClaimKinds curve_kinds();     // where curves cross, flatten or reach
ClaimKinds expected_kinds();  // how fast devices of the catalog are expected to be
ClaimKinds machine_kinds();   // ceilings of a machine, how well input feeds it, how long it takes for a suite
ClaimKinds others_kinds();    // what others published, rate or state
ClaimKinds owning_kinds();    // owning and renting, at the user's prices
ClaimKinds plan_kinds();      // what needs no run
ClaimKinds run_kinds();       // numbers of runs, compared with each other or alone
ClaimKinds seed_kinds();      // quality and numerical errors, by seed
ClaimKinds trend_kinds();     // does a number grow with a size?

Words kind_names();                                    // of all kinds, sorted
const ClaimKind& kind_named(const std::string& name);  // errors: std::out_of_range

// Errors of both: FormatError that begins with the place, unless the text is one of the known, or the key is given.
void check_word(const std::string& path, const std::string& text, const Words& known);
void check_given(const JsonFields& fields, const std::string& key);  // "to.backends" is a key of the object `to`

}  // namespace epochbench
