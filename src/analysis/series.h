// A run's repetitions brought together, out of all files: the unit that answers compare.
//
// Points into the results, which must outlive it. Each answer decides what it compares.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "src/result/turns.h"

namespace epochbench {

// The runs of one result that have one name: a case and its repetitions.
struct RunGroup {
  std::string name;
  std::vector<const Run*> runs;  // at least one
};
// In the order of the first run of each name. Points to `runs`. Across results names say nothing; see case_settings.h.
std::vector<RunGroup> runs_by_name(std::span<const Run> runs, const std::function<bool(const Run&)>& wanted = {});

// Work is the same where fingerprint, mode, data set and seed are.
using WorkKey = std::tuple<std::string, std::string, std::string, std::uint64_t>;
inline WorkKey work_key(const Workload& work) { return {work.fingerprint, work.mode, work.dataset, work.seed}; }
inline bool same_work(const Workload& a, const Workload& b) { return work_key(a) == work_key(b); }

struct Series {
  std::vector<const Run*> runs;         // ok, with a throughput above 0, one per repetition; at least one
  const NamedResult* source = nullptr;  // the first file that has it
  std::size_t file = 0;                 // that file's place among all
  bool machine_is_known = false;        // the result has a host name
  std::string machine;  // the same for runs of one machine: its host name and CPU; without a host name, the file
  std::string origin;   // the same for runs of one machine and build
  Settings settings;    // of its case, as case_settings() has them
  Settings conditions;  // of its work, beside what Workload has: {"order": "sequential"}

  const Run& first() const { return *runs.front(); }
  std::vector<double> samples_per_second() const;  // one per repetition
  double rate() const;                             // their geometric mean
  bool on_gpu() const;                             // of the runs of PyTorch those without threads
};

struct LeftOut {
  const Run* run = nullptr;
  const NamedResult* source = nullptr;
  std::string reason;
};

struct AllSeries {
  std::vector<Series> series;     // in the order of their first runs
  std::vector<LeftOut> left_out;  // runs that are not ok, have no throughput, or stand in two files
};

// Repetitions belong together when machine, build, case settings, device, fingerprint, data set and seed are the same, also
// out of several files. A run that stands in two files, as after --resume, counts once.
AllSeries series_of(const std::vector<NamedResult>& results);

}  // namespace epochbench
