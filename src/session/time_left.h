// How long cases take, and how much time is left: estimated before they run, corrected by what has run. Reads a clock and
// displays nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/base/clock.h"
#include "src/session/planned_case.h"
#include "src/worker/case_driver.h"

namespace epochbench {

// The mean duration of units that repeat, such as repetitions of a case: of those with its name, else of all. Empty before any.
class MeanDurations {
 public:
  void add(const std::string& name, double seconds);
  std::optional<double> own(const std::string& name) const;
  std::optional<double> of(const std::string& name) const;

 private:
  struct Sum {
    double seconds = 0;
    std::size_t count = 0;
  };
  std::map<std::string, Sum> by_name_;
  Sum all_;
};

// The properties of a case that its duration depends on.
struct ExpectedCase {
  std::string name;                // repetitions of one case share it
  std::vector<std::string> kinds;  // with steps that take longer than expected by about the same factor; most specific first
  double step_seconds = 0;         // expected before anything has run
  double set_up_seconds = 1;       // likewise, before the warm-up
  double first_seconds = 0;        // more than that, only for the first of the cases of this name
  std::int64_t batch = 1, steps_per_epoch = 0;
  std::optional<int> warmup;  // steps; empty: by time
  StopSpec stop;
  bool falls = false;      // the learning rate falls, so a target is usually reached near the end
  bool loaded = false;     // other processes take part of the CPU, so noise rarely settles
  bool queues = false;     // the device queues steps
  bool latencies = false;  // are measured after the timed steps
  bool skipped = false;    // takes no time
};

// Assumes a step at a usual share of the device's peak in FLOP/s, which on a CPU is that of `machine_threads`, and that other
// processes go on taking `foreign_cores` of them; without a peak, that of a usual device of its kind.
ExpectedCase expected_case(const PlannedCase& planned, std::optional<double> peak, int machine_threads,
                           std::optional<double> foreign_cores = {});

class TimeLeft {
 public:
  // Begins now; the time left is at most what is left of `budget_seconds`.
  explicit TimeLeft(std::vector<ExpectedCase> cases, std::optional<double> budget_seconds = {}, Clock clock = steady_seconds);

  void begin(std::size_t index);  // every case that has begun before has ended
  void update(const Progress& progress);
  void end(bool ok);  // ends the running case, which informs other estimates only if ok

  double of_case() const;                    // of the case that runs
  double of_all() const;                     // including the cases that have not begun
  double duration(std::size_t index) const;  // how long a whole case takes, from all that is known

 private:
  // How a case ends decides what its duration depends on.
  double timed_seconds(const ExpectedCase& one, double step_seconds) const;
  double max_seconds(const ExpectedCase& one, double step_seconds) const;  // where the rule may stop earlier
  double step_seconds(const ExpectedCase& one) const;
  double tail_seconds(const ExpectedCase& one, double step_seconds) const;
  double first_seconds(std::size_t index) const;
  double warm_up_seconds(const ExpectedCase& one, double step_seconds) const;
  void learn_step();

  std::vector<ExpectedCase> cases_;
  std::optional<double> budget_seconds_;
  Clock clock_;
  double start_;
  std::size_t index_ = 0, begun_ = 0;
  bool runs_ = false;
  double began_ = 0;
  Progress progress_;
  std::optional<double> timing_began_, tail_began_;
  std::map<std::string, std::map<std::string, double>> slower_;  // by kind, by case: log of measured over expected step
  MeanDurations whole_, set_up_, share_;  // whole cases; before the first timed step; of the most that a rule allows
};

// "2 min" of "about 2 min left": rounded, since no estimate is right to the second.
std::string about_seconds(double seconds);

}  // namespace epochbench
