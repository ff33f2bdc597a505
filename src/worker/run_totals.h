// What the answers of a case's process add up to: the numbers of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/result/result.h"
#include "src/worker/protocol.h"
#include "src/worker/step_block.h"

namespace epochbench {

class RunTotals {
 public:
  void add_warm_up(const StepBlock& block);
  void add_timed(StepBlock block);  // steps during which the process was stopped are left out, and counted

  // Fills in everything added so far, except what only the caller knows: why it stopped, evaluations. `epochs`: whole
  // epochs in the timed steps; 0: the epoch is projected. Errors: CaseEnded if the timed steps took no time.
  void fill(Run& run, std::int64_t epochs);

  std::int64_t timed_steps() const { return static_cast<std::int64_t>(step_seconds_.size()); }
  std::int64_t steps() const { return steps_; }  // including warm-up
  const std::vector<double>& step_seconds() const { return step_seconds_; }
  const std::vector<double>& losses() const { return losses_; }
  double rate() const;  // samples/s of all timed steps; 0 before the first timed step
  double wall_seconds() const { return wall_seconds_; }
  // CPU seconds that other processes took during the timed blocks; empty if a block does not say.
  std::optional<double> foreign_cpu_seconds() const;

  // What the process said about itself, before and after its steps.
  Ready ready;
  CaseResult result;

 private:
  void add_any(const StepBlock& block);

  std::int64_t steps_ = 0, warm_up_steps_ = 0, samples_ = 0, page_faults_ = 0;
  std::vector<double> step_seconds_, losses_;
  std::vector<std::int64_t> stopped_steps_;
  double data_wait_seconds_ = 0, idle_seconds_ = 0, harness_seconds_ = 0, wall_seconds_ = 0, busy_cpu_seconds_ = 0,
         own_cpu_seconds_ = 0;
  bool busy_known_ = true;
};

// Shortens the series of a run to their first `most` steps, and records how many were left out. Comes last, since other fields
// are computed from the whole series.
void shorten_series(Run& run, std::size_t most = kKeptSeriesSteps);

// CPU cores that other processes kept busy; empty if unknown, or if the wall time is too short to say.
std::optional<double> foreign_cores(std::optional<double> foreign_cpu_seconds, double wall_seconds);

// From the seconds of steps taken one at a time. A quantile is interpolated linearly between the two neighboring samples, and
// is empty with fewer samples than it takes for one to be beyond it: 2, 10 and 100. Errors: std::invalid_argument without
// samples.
Latency latency_of(std::vector<double> step_seconds);

}  // namespace epochbench
