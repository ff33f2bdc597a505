// The runs that a claim is judged by: chosen by model, device, precision and settings, with one number per repetition. Nothing
// is judged here.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/analysis/claims/claims.h"
#include "src/analysis/estimate.h"
#include "src/analysis/series.h"

namespace epochbench {

struct Evidence {
  const std::vector<NamedResult>& results;
  AllSeries all;
};
Evidence evidence_of(const std::vector<NamedResult>& results);  // which must outlive it

// One number of a run: samples_per_second, epochs_per_second, epochs_per_usd, epochs_per_joule, peak_bytes, planned_bytes,
// eval_percent (accuracy), latency_p99 (seconds). Empty: not known, not finite, in another currency, or not above 0, but for
// eval_percent, which may be 0.
// Errors: std::invalid_argument for another name.
std::optional<double> metric(const Run& run, const std::string& name);

// Of each repetition that has it.
std::vector<double> metrics(const Series& series, const std::string& name);

// Why none has it: "resnet50/cpu/fp32/b16 has no epochs_per_usd: its cost is in EUR".
std::string why_no_metric(const Series& series, const std::string& name);

std::size_t epochs_trained(const Run& run);  // whole ones, each with its evaluation; 0 where steps were counted

// Whether these are runs that the choice is about, whatever their model.
bool suits(const RunChoice& choice, const Series& series);

// Series of this model (as in results: with its options) on this backend. "" takes any backend of the choice.
std::vector<const Series*> matching(const Evidence& evidence, const RunChoice& choice, const std::string& model,
                                    const std::string& backend);

struct SeriesPair {
  const Series* of = nullptr;
  const Series* to = nullptr;
};
// All pairs of one workload (fingerprint, mode, data set, seed) for this model, where `best` of any batches. Where both choices
// name the same backends, a pair is of one backend, one machine and one number of threads. Of several backends the first that
// has a pair; on the CPU only of at least `least_cores` cores.
std::vector<SeriesPair> pairs(const Evidence& evidence, const ClaimQuantity& quantity, const std::string& model);

// Of these the one whose sides process the most samples per second, but rather one that have the repetitions for an interval.
// Precondition: there is one.
SeriesPair fastest(const std::vector<SeriesPair>& pairs);

// What makes the pair unfair, except for what the claim is about or what its conditions already state.
std::vector<Warning> warnings_of(const SeriesPair& pair);

// Why there is no run to judge by: "no GPU: ...", what became of the runs, or that none was measured.
std::string why_missing(const Evidence& evidence, const RunChoice& choice, const std::string& model);

// "bf16 on NVIDIA H200, batch 16", "fp32 on AMD EPYC, 2 threads, batch 16, without=fusion".
std::string describe(const Series& series);
// Both sides, and how many repetitions each has.
std::string describe(const SeriesPair& pair);

}  // namespace epochbench
