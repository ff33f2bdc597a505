// A run's repetitions collected from all files: the unit that answers compare.
//
// Points into the results, which must outlive it. Each answer decides what it compares.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "src/figures/best_choice.h"
#include "src/figures/summarize.h"
#include "src/result/turns.h"

namespace epochbench {

// Work is the same if fingerprint, mode and data set are. Seeds choose other numbers for the same work, so for speed they are
// repetitions; code that compares losses or quality matches them itself.
using WorkKey = std::tuple<std::string, Mode, std::string>;
inline WorkKey work_key(const Workload& work) { return {work.fingerprint, work.mode, work.dataset}; }
inline bool same_work(const Workload& a, const Workload& b) { return work_key(a) == work_key(b); }

// A case and its repetitions, from one result.
struct RunGroup {
  std::string name;
  Repetitions runs;  // at least one

  const Run& first() const { return *runs.front(); }
};
// Repetitions have the same settings except for the seed, and the same device and work. In the order of their first runs;
// points to `runs`.
std::vector<RunGroup> runs_by_case(std::span<const Run> runs, const std::function<bool(const Run&)>& wanted = {});
// The same, over runs that are ok and have times and throughput.
std::vector<RunGroup> measured_cases(std::span<const Run> runs, const std::function<bool(const Run&)>& wanted = {});
// Like runs_by_case, with each seed separate: for qualities, which a seed changes.
std::vector<RunGroup> runs_by_name(std::span<const Run> runs, const std::function<bool(const Run&)>& wanted = {});

// Their name if they share one; for several seeds the name without them.
std::string name_of(const Repetitions& repetitions);

bool is_ours(const Run& run);  // not another framework's, which begins with weights and batches of its own
// False for two runs in one precision whose products are not in one precision: they are not a pair.
inline bool multiply_alike(const Run& a, const Run& b) {
  return a.precision != b.precision || product_precision(a) == product_precision(b);
}
bool runs_on_gpu(const Run& run);  // PyTorch runs do if they have no threads

struct Series {
  Repetitions runs;                     // ok, with a throughput above 0, one per repetition; at least one
  const NamedResult* source = nullptr;  // the first file that has it
  std::size_t file = 0;                 // that file's place among all
  bool machine_is_known = false;        // the result has a host name
  std::string machine;  // the same for runs of one machine: its host name and CPU; without a host name, the file
  std::string origin;   // the same for runs of one machine and build
  Settings settings;    // of its case, as case_settings() returns them, without the seed
  Settings conditions;  // of its work, besides what Workload has: {"order": "sequential"}

  const Run& first() const { return *runs.front(); }
  std::string name() const { return name_of(runs); }
  std::vector<double> rates() const;  // samples per second, one per repetition
  double rate() const;                // their geometric mean
  bool on_gpu() const { return runs_on_gpu(first()); }
};

// The fastest of several, and the repetitions that estimate it: its own, or halves of two that are equally fast.
struct FastestSeries : BestChoice {
  std::vector<const Series*> candidates = {};
  Repetitions runs = {};

  const Series& series() const { return *candidates[place]; }
  std::string doubt() const;  // a sentence, if it may not be the fastest or looks too fast; "" if neither
};
FastestSeries choose_series(std::vector<const Series*> candidates);  // at least one

// Whether other processes took CPU time from the repetition at `at`, and another source has one of the same seed that none
// disturbed, which then stands for it. `sources`: one per repetition of a case. Repetitions that took turns with another side
// are compared by round and so keep their places.
bool is_superseded(const Repetitions& runs, const std::vector<const void*>& sources, std::size_t at);

struct LeftOut {
  const Run* run = nullptr;
  const NamedResult* source = nullptr;
  std::string reason;
};

struct AllSeries {
  std::vector<Series> series;     // in the order of their first runs
  std::vector<LeftOut> left_out;  // runs that are not ok, have no throughput, occur in two files, or are superseded
};

// Repetitions belong together if machine, build, case settings except for the seed, device, fingerprint and data set are the
// same, also across files. A run that occurs in two files, as after --resume, counts once; one that is_superseded() by another
// file's is left out. Within one file disturbed repetitions count, and are marked.
AllSeries series_of(const std::vector<NamedResult>& results);

}  // namespace epochbench
