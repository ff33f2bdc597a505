#include "src/worker/turns.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "epochbench/philox.h"
#include "src/base/clock.h"
#include "src/base/short_number.h"
#include "src/base/statistics.h"
#include "src/machine/cgroup.h"
#include "src/machine/topology.h"
#include "src/worker/conversation.h"
#include "src/worker/protocol.h"
#include "src/worker/usage.h"

namespace epochbench {
namespace {

using nlohmann::json;

// Binaries may be older or newer than this program. A key that one passes over must not have changed the case.
void require_understood(const json& sent, const json& understood) {
  const json usual = to_json(CaseSpec{});
  for (const auto& [key, value] : sent.items())
    if (!understood.contains(key) && value != usual.at(key))
      throw CaseEnded{RunStatus::failed, "it does not know '" + key + "', which this case asks for: an older epochbench"};
}

// One side of a pair. After its end, whatever the reason, it does nothing any more.
class Player {
 public:
  explicit Player(TurnsSide& told) : told_(told) {}

  void enter(const CaseSpec& spec, const std::string& binary, const EnvironmentSettings& environment,
             const ProcessLimits& limits, const std::function<bool()>& interrupted) {
    guarded([&] {
      talk_.emplace(binary, environment, limits, interrupted);
      const json sent = to_json(spec);
      const json ready = talk_->ask({{"protocol", kProtocolVersion}, {"command", "prepare"}, {"case", sent}}, "ready");
      require_version(ready);
      require_understood(sent, ready.at("case"));
      told_.compile_seconds = ready.at("compile_seconds").get<double>();
      if (const json& fingerprint = ready.at("fingerprint"); !fingerprint.is_null())
        told_.fingerprint = fingerprint.get<std::string>();
      told_.library_dropout_masks = ready.at("library_dropout_masks").get<bool>();
      told_.isa = device_from_json(ready.at("device")).isa;
      talk_->ask({{"command", "begin_epoch"}, {"epoch", 0}}, "epoch");
    });
  }

  // Empty once the side has ended.
  std::optional<StepBlock> steps(const char* command, std::int64_t count) {
    std::optional<StepBlock> taken;
    guarded([&] {
      StepBlock block = block_from_json(talk_->ask({{"command", command}, {"steps", count}}, "steps"));
      if (block.step_seconds.size() != static_cast<std::size_t>(count)) throw ProtocolError("a block of another length");
      if (!(block_seconds(block) > 0)) throw ProtocolError("steps that took no time");
      for (const double loss : block.loss) {
        if (told_.first_losses.size() < kKeptLosses) told_.first_losses.push_back(loss);
        told_.final_loss = loss;
      }
      told_.steps += count;
      taken = std::move(block);
    });
    return taken;
  }

  void finish() {
    guarded([&] {
      const json result = talk_->ask({{"command", "finish"}, {"profile", false}}, "result");
      if (const json& peak = result.at("peak_bytes"); !peak.is_null()) told_.peak_bytes = peak.get<std::int64_t>();
      talk_->farewell();
    });
  }

  void end(RunStatus status, const std::string& message) {
    told_.status = status;
    told_.message = message;
    talk_.reset();
  }

  // Anew and without the other one: so many steps, if it gets so far. Its process has ended then.
  void alone(const CaseSpec& spec, const std::string& binary, const EnvironmentSettings& environment,
             const ProcessLimits& limits, const std::function<bool()>& interrupted, std::int64_t count) {
    told_ = {};
    enter(spec, binary, environment, limits, interrupted);
    for (std::int64_t step = 0; step < count && there(); ++step) steps("warm_up", 1);
    talk_.reset();
  }

  bool there() const { return told_.status == RunStatus::ok; }
  bool lacks_memory() const { return told_.status == RunStatus::out_of_memory; }
  static double block_seconds(const StepBlock& block) {
    double sum = 0;
    for (double seconds : block.step_seconds) sum += seconds;
    return sum;
  }

 private:
  template <class Act>
  void guarded(const Act& act) {
    if (!there()) return;
    try {
      act();
    } catch (const CaseEnded& ended) {
      end(ended.status, ended.message);
    } catch (const ProtocolError& error) {
      end(RunStatus::failed, std::string("the case's process sent ") + error.what());
    } catch (const json::exception& error) {
      end(RunStatus::failed, std::string("the case's process sent a message with wrong fields: ") + error.what());
    } catch (const std::exception& error) {
      end(RunStatus::failed, error.what());
    }
  }

  TurnsSide& told_;
  std::optional<Conversation> talk_;
};

class Pair {
 public:
  Pair(const CaseSpec& spec, const std::array<std::string, 2>& binaries, const TurnsSettings& settings,
       const std::function<bool()>& interrupted)
      : spec_(spec), binaries_(binaries), settings_(settings), interrupted_(interrupted) {}

  TurnsPair take(const std::function<void(std::int64_t)>& told) {
    enter();
    warm_up();
    pair_.dropped_rounds = settings_.dropped_rounds;
    const std::int64_t rounds = settings_.dropped_rounds + settings_.rounds;
    for (std::int64_t round = 0; round < rounds && anyone_there() && !crowded(); ++round) {
      take_round(round);
      if (told) told(round + 1);
    }
    // What a GPU's memory holds is told of all processes: the later one began with the earlier one's, which then is alone.
    for (const Side side : in_order(other(pair_.started_first)))
      if (!crowded()) players_[side].finish();
    if (crowded())
      part();
    else
      conclude();
    return std::move(pair_);
  }

 private:
  void enter() {
    pair_.started_first = first_to_start(settings_.order_seed, spec_.name, settings_.pair);
    const Side later = other(pair_.started_first);
    players_[pair_.started_first].enter(spec_, binaries_[pair_.started_first], environment_, settings_.process, interrupted_);
    together_ = players_[pair_.started_first].there();
    players_[later].enter(spec_, binaries_[later], environment_, settings_.process, interrupted_);
    const auto& [old_one, new_one] = pair_.sides;
    if (old_one.fingerprint && new_one.fingerprint && old_one.fingerprint != new_one.fingerprint)
      for (Player& player : players_) player.end(RunStatus::skipped, "the binaries have different workloads under this name");
  }

  // One lacks memory of which the other one's process may hold what it lacks.
  bool crowded() const {
    const auto& [baseline, contender] = players_;
    const bool lacking = baseline.lacks_memory() || contender.lacks_memory();
    return together_ && lacking && (baseline.lacks_memory() || baseline.there()) &&
           (contender.lacks_memory() || contender.there());
  }

  // Whether a side lacks memory is found out without the other one, over as many steps as it may have taken beside it. Where
  // neither does, nothing is said of either: both are left out.
  void part() {
    std::int64_t steps = std::max<std::int64_t>(1, spec_.warmup);
    for (const TurnsSide& told : pair_.sides) steps = std::max(steps, told.steps + pair_.steps_per_turn);
    for (Player& player : players_) player.end(RunStatus::skipped, "");
    for (const Side side : kSides)
      players_[side].alone(spec_, binaries_[side], environment_, settings_.process, interrupted_, steps);
    pair_.first.clear();
    if (players_[kBaseline].there() && players_[kNew].there())
      for (Player& player : players_)
        player.end(RunStatus::skipped,
                   "each fits into memory alone, and both at once do not; take a smaller batch or model, or record each with "
                   "epochbench run and compare the files");
  }

  // Steps of each in turn, like those to come.
  void warm_up() {
    for (std::int64_t step = 0; step < std::max<std::int64_t>(1, spec_.warmup) && !crowded(); ++step)
      for (const Side side : in_order(pair_.started_first))
        if (const auto block = players_[side].steps("warm_up", 1)) note_fastest(*block);
    find_steps_per_turn();
  }

  // A step that a coarse clock gives no time says nothing of how many fill a turn.
  void note_fastest(const StepBlock& block) {
    for (const double seconds : block.step_seconds)
      if (seconds > 0) fastest_seconds_ = std::min(seconds, fastest_seconds_.value_or(seconds));
  }

  // How many of the fastest step so far fill a turn: the fastest one, since other jobs make any of them longer.
  void find_steps_per_turn() {
    if (settings_.steps_per_turn)
      pair_.steps_per_turn = *settings_.steps_per_turn;
    else if (fastest_seconds_)
      pair_.steps_per_turn = std::clamp(static_cast<std::int64_t>(std::ceil(settings_.turn_seconds / *fastest_seconds_)),
                                        std::int64_t{1}, kBlockSteps);
  }

  void take_round(std::int64_t round) {
    const bool timed = round >= settings_.dropped_rounds;
    if (round == settings_.dropped_rounds) find_steps_per_turn();
    const Side first = first_of_round(settings_.order_seed, spec_.name, settings_.pair, static_cast<std::uint32_t>(round));
    for (const Side side : in_order(first)) {
      const auto block = players_[side].steps(timed ? "step" : "warm_up", pair_.steps_per_turn);
      if (block && !timed) note_fastest(*block);
      if (!block || !timed) continue;
      auto& seconds = pair_.sides[side].step_seconds;
      seconds.insert(seconds.end(), block->step_seconds.begin(), block->step_seconds.end());
      turns_[side].push_back(Player::block_seconds(*block) / static_cast<double>(pair_.steps_per_turn));
      wall_seconds_ += block->wall_seconds;
      if (block->usage.busy_cpu_seconds)
        foreign_seconds_ += *block->usage.busy_cpu_seconds - block->usage.own_cpu_seconds;
      else
        foreign_known_ = false;
    }
    if (timed) pair_.first.push_back(first);
  }

  void conclude() {
    for (const Side side : kSides)
      if (players_[side].there()) pair_.sides[side].step_seconds_median = median(turns_[side]);
    if (foreign_known_ && wall_seconds_ >= kTellingSeconds)
      pair_.foreign_cpu_cores = std::max(0.0, foreign_seconds_ / wall_seconds_);
    if (!players_[kBaseline].there() || !players_[kNew].there()) return;
    std::vector<double> logs;
    for (std::size_t i = 0; i < turns_[kNew].size(); ++i) logs.push_back(std::log(turns_[kNew][i] / turns_[kBaseline][i]));
    pair_.log_ratio = median(std::move(logs));
  }

  bool anyone_there() const { return players_[kBaseline].there() || players_[kNew].there(); }
  static Side other(Side side) { return side == kBaseline ? kNew : kBaseline; }
  static std::array<Side, 2> in_order(Side first) { return {first, other(first)}; }

  const CaseSpec& spec_;
  const std::array<std::string, 2>& binaries_;
  const TurnsSettings& settings_;
  const std::function<bool()>& interrupted_;
  const EnvironmentSettings environment_ =
      sleeping_when_idle(openmp_settings(spec_.threads, topology(affinity_cpus()), cgroup_cpu_quota(), spec_.pin));
  TurnsPair pair_;
  std::array<Player, 2> players_ = {Player(pair_.sides[kBaseline]), Player(pair_.sides[kNew])};
  std::array<std::vector<double>, 2> turns_;  // seconds a step, one a timed round
  std::optional<double> fastest_seconds_;     // of a step of either side, before the timed rounds
  double wall_seconds_ = 0, foreign_seconds_ = 0;
  bool foreign_known_ = true;
  bool together_ = false;  // the later one was started beside the earlier one
};

bool drawn(std::uint64_t seed, const std::string& name, std::uint32_t pair, std::uint32_t round, std::size_t word) {
  return philox(seed, {round, pair, name_hash(name), static_cast<std::uint32_t>(RandomStream::turns)})[word] & 1;
}

}  // namespace

Side first_of_round(std::uint64_t order_seed, const std::string& name, std::uint32_t pair, std::uint32_t round) {
  return drawn(order_seed, name, pair, round, 0) ? kNew : kBaseline;
}

Side first_to_start(std::uint64_t order_seed, const std::string& name, std::uint32_t pair) {
  return drawn(order_seed, name, pair, 0, 1) ? kNew : kBaseline;
}

TurnsPair take_turns(const CaseSpec& spec, const std::array<std::string, 2>& binaries, const TurnsSettings& settings,
                     const std::function<void(std::int64_t)>& round, const std::function<bool()>& interrupted) {
  return Pair(spec, binaries, settings, interrupted).take(round);
}

BuildInfo identify_binary(const std::string& binary, const std::function<bool()>& interrupted, double patience_seconds) {
  const auto unsuitable = [&](const std::string& why) { return UnsuitableBinary(binary + ": " + why); };
  const double deadline = steady_seconds() + patience_seconds;
  const std::function<bool()> enough = [&] { return (interrupted && interrupted()) || steady_seconds() > deadline; };
  ProcessLimits limits;
  limits.hung_seconds = 2 * patience_seconds;  // the deadline is earlier
  limits.silent = true;
  try {
    Conversation talk(binary, {}, limits, enough);
    const json hello = talk.ask({{"command", "hello"}, {"protocol", kProtocolVersion}}, "hello");
    if (const std::int64_t version = hello.at("protocol"); version != kProtocolVersion)
      throw unsuitable("speaks version " + std::to_string(version) + " of the protocol between processes, this epochbench " +
                       std::to_string(kProtocolVersion) + "; build both from commits that speak the same");
    return build_from_json(hello);
  } catch (const CaseEnded& ended) {
    if (interrupted && interrupted()) throw unsuitable("not asked what it is: interrupted");
    if (ended.told) throw unsuitable("an epochbench of before turns; build it from a newer commit");
    if (ended.status == RunStatus::interrupted)
      throw unsuitable("does not answer within " + short_number(patience_seconds) + " s; is it an epochbench?");
    throw unsuitable("is no epochbench that can take turns: started as `case`, " + ended.message);
  } catch (const UnsuitableBinary&) {
    throw;
  } catch (const ProtocolError& error) {
    throw unsuitable(std::string("is no epochbench: started as `case`, it sends ") + error.what());
  } catch (const json::exception&) {
    throw unsuitable("is no epochbench that can take turns: it does not say which version it is");
  } catch (const std::exception& error) {  // it was not even started
    const std::string what = error.what();
    const std::size_t reason = what.rfind(": ");
    throw unsuitable("cannot be executed: " + (reason == std::string::npos ? what : what.substr(reason + 2)) +
                     "; name a built epochbench");
  }
}

}  // namespace epochbench
