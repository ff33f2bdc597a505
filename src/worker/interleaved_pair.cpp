#include "src/worker/interleaved_pair.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "src/base/clock.h"
#include "src/base/numbers.h"
#include "src/base/statistics.h"
#include "src/worker/protocol.h"

namespace epochbench {
namespace {

class Pair {
 public:
  Pair(const CaseSpec& spec, const std::array<WorkerCommand, 2>& binaries, const InterleaverSettings& settings,
       const std::function<bool()>& interrupted)
      : spec_(spec),
        settings_(settings),
        interleaver_({{binaries[kBaseline], spec}, {binaries[kContender], spec}}, settings, interrupted),
        baseline_(interleaver_.participants()[kBaseline]),
        contender_(interleaver_.participants()[kContender]) {}

  TurnsPair measure(const std::function<void(std::int64_t)>& round) {
    start();
    const auto ends = [this] { return crowded(); };
    interleaver_.warm_up(ends);
    std::int64_t rounds = 0;
    interleaver_.take_rounds([&](const RoundsSoFar& so_far) {
      if (rounds > 0 && round) round(rounds);
      ++rounds;
      return so_far.timed >= kRoundsOfAPair || crowded();
    });
    steps_per_turn_ = baseline_.steps_per_turn;
    interleaver_.finish(ends);
    const bool apart = crowded();
    if (apart) try_alone();
    return described(apart);
  }

 private:
  void start() {
    const auto& starts = interleaver_.order_of_starts();
    interleaver_.start(starts[0]);
    together_ = interleaver_.participants()[starts[0]].running();
    interleaver_.start(starts[1]);
    const auto &ours = baseline_.totals.ready.fingerprint, &theirs = contender_.totals.ready.fingerprint;
    if (!ours || !theirs || ours == theirs) return;
    for (Participant& side : interleaver_.participants())
      side.end(RunStatus::skipped, "the binaries have different workloads under this name");
  }

  // A side lacks memory, which the other side's process may hold.
  bool crowded() const {
    const auto lacks = [](const Participant& side) { return side.status == RunStatus::out_of_memory; };
    return together_ && (lacks(baseline_) || lacks(contender_)) && (lacks(baseline_) || baseline_.running()) &&
           (lacks(contender_) || contender_.running());
  }

  // Finds out whether a side lacks memory without the other, over as many steps as it may have taken beside it.
  void try_alone() {
    std::int64_t steps = std::max(1, spec_.warmup.value_or(kDefaultWarmUpSteps));
    for (const Participant& side : interleaver_.participants())
      steps = std::max(steps, side.totals.steps() + side.steps_per_turn);
    for (Participant& side : interleaver_.participants()) side.end(RunStatus::skipped, "");
    for (const Side side : kSides) interleaver_.run_alone(side, steps);
    if (!baseline_.running() || !contender_.running()) return;
    for (Participant& side : interleaver_.participants())
      side.end(RunStatus::skipped,
               "each fits into memory alone, and both at once do not; use a smaller batch or model, or record each with "
               "epochbench run and compare the files");
  }

  TurnsPair described(bool apart) {
    TurnsPair pair;
    pair.started_first = static_cast<Side>(interleaver_.order_of_starts()[0]);
    pair.steps_per_turn = steps_per_turn_;
    pair.dropped_rounds = settings_.dropped_rounds;
    for (const Side side : kSides) pair.sides[side] = described(interleaver_.participants()[side]);
    if (apart) return pair;
    for (const auto& order : interleaver_.timed_orders()) pair.first.push_back(static_cast<Side>(order[0]));
    std::optional<double> foreign = 0;
    for (const Participant& side : interleaver_.participants()) {
      const auto more = side.totals.foreign_cpu_seconds();
      foreign = foreign && more ? std::optional(*foreign + *more) : std::nullopt;
    }
    pair.foreign_cpu_cores = foreign_cores(foreign, baseline_.totals.wall_seconds() + contender_.totals.wall_seconds());
    if (!baseline_.running() || !contender_.running() || baseline_.turn_seconds.empty()) return pair;
    std::vector<double> logs;
    for (std::size_t i = 0; i < contender_.turn_seconds.size(); ++i)
      logs.push_back(std::log(contender_.turn_seconds[i] / baseline_.turn_seconds[i]));
    pair.log_ratio = median(std::move(logs));
    return pair;
  }

  static TurnsSide described(const Participant& participant) {
    const RunTotals& totals = participant.totals;
    TurnsSide side;
    side.status = participant.status;
    if (!participant.message.empty()) side.message = participant.message;
    side.fingerprint = totals.ready.fingerprint;
    side.isa = totals.ready.device.isa;
    side.compile_seconds = totals.ready.compile_seconds;
    side.turn_seconds = participant.turn_seconds;
    if (totals.step_seconds().size() <= kKeptSteps) side.step_seconds = totals.step_seconds();
    side.step_seconds_median = participant.median_turn_seconds();
    side.peak_bytes = totals.result.peak_bytes;
    side.steps = totals.steps();
    const auto& losses = totals.losses();
    side.first_losses.assign(losses.begin(), losses.begin() + std::min<std::ptrdiff_t>(kKeptLosses, std::ssize(losses)));
    if (!losses.empty()) side.final_loss = losses.back();
    side.library_dropout_masks = totals.ready.library_dropout_masks;
    return side;
  }

  const CaseSpec& spec_;
  const InterleaverSettings& settings_;
  Interleaver interleaver_;
  Participant &baseline_, &contender_;
  std::int64_t steps_per_turn_ = 1;
  bool together_ = false;  // the later one was started beside the earlier one
};

}  // namespace

TurnsPair interleave_pair(const CaseSpec& spec, const std::array<WorkerCommand, 2>& binaries,
                          const InterleaverSettings& settings, const std::function<void(std::int64_t)>& round,
                          const std::function<bool()>& interrupted) {
  return Pair(spec, binaries, settings, interrupted).measure(round);
}

BinaryIdentity identify_binary(const WorkerCommand& binary, const std::string& suite, const std::function<bool()>& interrupted,
                               double patience_seconds) {
  const auto unsuitable = [&](const std::string& why) { return UnsuitableBinary(binary.program->path() + ": " + why); };
  const double deadline = steady_seconds() + patience_seconds;
  const std::function<bool()> enough = [&] { return (interrupted && interrupted()) || steady_seconds() > deadline; };
  ProcessLimits limits;
  limits.hung_seconds = 2 * patience_seconds;  // the deadline is earlier
  limits.silent = true;
  try {
    Conversation talk(binary, {}, limits, enough);
    const Json hello = talk.ask({{"command", "hello"}, {"protocol", kProtocolVersion}, {"suite", suite}}, "hello");
    if (const auto version = from_message<std::int64_t>(hello, "protocol"); version != kProtocolVersion)
      throw unsuitable("speaks version " + std::to_string(version) + " of the protocol between processes, this epochbench " +
                       std::to_string(kProtocolVersion) + "; build both from commits that speak the same");
    const Json own = hello.value("suite", Json());
    return {from_message<BuildInfo>(hello), own.is_object() ? std::optional(own.dump()) : std::nullopt};
  } catch (const CaseEnded& ended) {
    if (interrupted && interrupted()) throw unsuitable("not asked what it is: interrupted");
    if (ended.by_process) throw unsuitable("is an epochbench older than interleaved runs; build it from a newer commit");
    if (ended.status == RunStatus::interrupted)
      throw unsuitable("does not answer within " + short_number(patience_seconds) + " s; is it an epochbench?");
    throw unsuitable("is not an epochbench that can be interleaved: started as `case`, " + ended.message);
  } catch (const UnsuitableBinary&) {
    throw;
  } catch (const ProtocolError& error) {
    throw unsuitable(std::string("is not an epochbench: started as `case`, it sends ") + error.what());
  } catch (const std::exception& error) {  // it was not started
    const std::string what = error.what();
    const std::size_t reason = what.rfind(": ");
    throw unsuitable("cannot be executed: " + (reason == std::string::npos ? what : what.substr(reason + 2)) +
                     "; name a built epochbench");
  }
}

}  // namespace epochbench
