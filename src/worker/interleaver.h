// Worker processes that take turns at one case: all are alive with their memory warm, and each waits for a command before it
// steps, so that whatever disturbs the machine affects all alike (duet benchmarking: Bulej et al., "Duet benchmarking:
// improving measurement accuracy in the cloud", ICPE 2020). A worker is any process that speaks the case protocol.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/rounds.h"
#include "src/case/case_spec.h"
#include "src/worker/case_process.h"
#include "src/worker/conversation.h"
#include "src/worker/run_totals.h"

namespace epochbench {

struct InterleavedWorker {
  WorkerCommand command;
  CaseSpec spec;
  // What a worker that does not plan the model itself needs to know and must match; empty: it plans as this program does.
  std::optional<Workload> workload = {};
};

// A peak burst between the turns, in a separate process: one more participant.
struct Burst {
  WorkerCommand command;  // of an epochbench
  Precision precision = Precision::fp32;
  int threads = 1;
};

struct InterleaverSettings {
  RoundOrder order;
  std::int64_t dropped_rounds = 2;  // for effects of taking turns: caches that the others have filled
  // A turn is one step, or as many as fill this: long compared to refilling the caches, short compared to interference. On a
  // device that queues steps it is at least as long as a block of a run (QueueLimits).
  double turn_seconds = 0.05;
  std::optional<std::int64_t> steps_per_turn = {};  // of all, from an earlier group; empty: found before the timed rounds
  bool equal_steps = true;  // all take as many per turn as fill the turn of the fastest; otherwise each fills its own
  Pinning pin = Pinning::automatic;
  // Idle threads spin for some milliseconds before they sleep, as in a run, and turns begin after a pause; otherwise they sleep
  // at once, since spinning would take the cores from the process whose turn it is.
  bool spin = false;
  std::optional<Burst> burst = {};
  ProcessLimits process = {};
};

struct RoundsSoFar {
  std::int64_t timed = 0;
  double wall_seconds = 0;  // of the timed turns of all workers
};
// Decides after each round, including dropped ones, whether the rounds end.
using EnoughRounds = std::function<bool(const RoundsSoFar&)>;

// One worker in a group. Once it has ended, for whatever reason, it gets no more commands.
class Participant {
 public:
  // Starts the process, prepares the case and begins an epoch.
  void start(const InterleavedWorker& worker, const EnvironmentSettings& environment, const ProcessLimits& limits,
             const std::function<bool()>& interrupted);
  void take_steps(std::int64_t count, bool timed);
  void finish();
  void end(RunStatus status, const std::string& message);  // for a reason that the process does not know
  void release();                                          // ends the process, if it still runs

  bool running() const { return status == RunStatus::ok; }
  std::optional<double> median_turn_seconds() const;  // per step; empty unless all went well

  RunStatus status = RunStatus::ok;
  std::string message;
  RunTotals totals;
  std::vector<double> turn_seconds;       // per step, one per timed round
  std::optional<double> fastest_seconds;  // of a step before the timed rounds
  std::int64_t steps_per_turn = 1;

 private:
  void guarded(const std::function<void()>& act);

  std::unique_ptr<Conversation> conversation_;
};

// A group of processes, one per worker: start, warm_up, take_rounds, finish, in this order. If a participant ends, the others
// continue. `ends` is polled between turns and ends warm-up and rounds; `interrupted` is polled while waiting, and ends the
// processes.
class Interleaver {
 public:
  Interleaver(std::vector<InterleavedWorker> workers, InterleaverSettings settings, std::function<bool()> interrupted);

  void start(std::size_t index);
  void warm_up(const std::function<bool()>& ends);
  void take_rounds(const EnoughRounds& enough);
  // Processes finish in reverse order of their starts: a GPU's memory in use includes the processes that started earlier.
  void finish(const std::function<bool()>& ends);
  // Restarts a worker without the others and takes `steps` steps, if it gets that far.
  void run_alone(std::size_t index, std::int64_t steps);

  std::vector<Participant>& participants() { return participants_; }
  const std::vector<std::size_t>& order_of_starts() const { return starts_; }
  const std::vector<std::vector<std::size_t>>& timed_orders() const { return orders_; }
  const std::vector<double>& bursts() const { return bursts_; }  // FLOP/s, one per timed round where known
  const std::optional<CaseEnded>& burst_failure() const { return burst_failure_; }
  bool any_running() const;

 private:
  void fix_turn_lengths();
  std::int64_t steps_per_turn(bool queues, double step_seconds) const;
  void take_burst(bool timed);

  std::vector<InterleavedWorker> workers_;
  InterleaverSettings settings_;
  std::function<bool()> interrupted_;
  EnvironmentSettings environment_;
  std::vector<Participant> participants_;
  std::vector<std::size_t> starts_;
  std::vector<std::vector<std::size_t>> orders_;
  std::unique_ptr<Conversation> burst_;
  std::vector<double> bursts_;
  std::optional<CaseEnded> burst_failure_;
};

}  // namespace epochbench
