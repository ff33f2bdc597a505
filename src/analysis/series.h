// A run's repetitions brought together, out of all files: the unit that answers compare.
//
// Points into the results, which must outlive it. What is compared with what is the business of the answers.
#pragma once

#include <string>
#include <vector>

#include "src/result/named_result.h"

namespace epochbench {

// The same fingerprint, mode, data set and seed.
bool same_work(const Workload& a, const Workload& b);

struct Series {
  std::vector<const Run*> runs;         // ok, with a throughput above 0, one a repetition; at least one
  const NamedResult* source = nullptr;  // the first file that has it
  std::size_t file = 0;                 // that file's place among all
  bool machine_is_known = false;        // the result has a host name
  std::string machine;   // the same for runs of one machine: its host name and CPU; without a host name, the file
  std::string origin;    // the same for runs of one machine and build
  std::string settings;  // "/order=sequential": what its name says of the work, beside what Workload has

  const Run& first() const { return *runs.front(); }
  std::vector<double> samples_per_second() const;  // one a repetition
  double rate() const;                             // their geometric mean
  bool on_gpu() const;                             // of PyTorch's runs those without threads
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

// Repetitions belong together when machine, build, name, device, fingerprint, data set and seed are the same, also out of
// several files. A run that stands in two files, as after --resume, counts once.
AllSeries series_of(const std::vector<NamedResult>& results);

}  // namespace epochbench
