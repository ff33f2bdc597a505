// Shares of the peak: which peak counts, and how much is shown.
//
// A peak is what was reached at least once, so every burst in a file counts: those of all processes that measured the machine,
// and those between turns. A share counts the multiply-adds of direct products and convolutions, whatever algorithm ran
// (Efficiency::peak_fraction). Winograd's transforms multiply less, so their share can exceed 1; judgments take it as it is,
// and people are shown at most 1 (kPeakShare in src/figures/figure.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "src/result/result.h"

namespace epochbench {

struct CpuPeak {
  double flops_per_second = 0;
  int threads = 0;  // of its bursts; 0: all of the machine, as far as the file says
};

// The best bursts of a result.
class CpuPeaks {
 public:
  explicit CpuPeaks(const Result& result);

  // With all threads of the machine. Empty: not measured.
  std::optional<CpuPeak> of_machine(Precision precision) const { return find(precision, machine_threads_); }
  // With as many threads as the run has, or else with all of the machine.
  std::optional<CpuPeak> of(const Run& run, Precision precision) const;

 private:
  std::optional<CpuPeak> find(Precision precision, int threads) const;
  void add(const std::string& precision, int threads, const std::optional<double>& flops_per_second);

  int machine_threads_;
  std::map<std::pair<std::string, int>, double> best_;  // by precision and threads
};

// Sets the CPU's peaks and bandwidth to the best in the result, and the shares of runs on the CPU to those of their best peaks;
// where a peak or the bandwidth rises, their bounds become unknown (src/session/bounds.h). Runs on a GPU keep theirs: a file
// has one measurement of each card.
void use_best_peaks(Result& result);

bool exceeds_peak(const Run& run);  // more was counted than is shown

}  // namespace epochbench
