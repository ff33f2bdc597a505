// The measurements of two binaries that took turns at the same cases: what `compare --interleave -o FILE` writes.
//
// It holds everything that was measured, so that a verdict can be recomputed, but not the verdict itself. Fields and units are
// those of results/turns.schema.json (version 1). An empty optional is written as null: not known.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/fields.h"
#include "src/result/result.h"

namespace epochbench {

inline constexpr std::size_t kMaxPairsOfACall = 1000;  // this takes hours: a machine that needs more is not quiet enough

inline constexpr int kTurnsVersion = 1;
inline constexpr std::size_t kKeptLosses = 10;  // as many as parity compares
// Per side of a pair: tiny steps come in tens of thousands, and a document with many pairs must stay readable.
inline constexpr std::size_t kKeptSteps = 400;

enum Side : std::size_t { kBaseline = 0, kContender = 1 };
inline constexpr std::array<Side, 2> kSides = {kBaseline, kContender};
constexpr auto texts_of(Side) { return std::array{"baseline", "new"}; }

// One process of a pair.
struct TurnsSide {
  RunStatus status = RunStatus::ok;
  std::optional<std::string> message;
  std::optional<std::string> fingerprint;  // of the workload that it built
  std::optional<std::string> isa;          // of its kernels on a CPU: "avx512"
  std::optional<double> compile_seconds;
  std::vector<double> turn_seconds;           // the mean step of each timed turn
  std::vector<double> step_seconds;           // raw: every timed step, turn by turn; empty if more than kKeptSteps
  std::optional<double> step_seconds_median;  // over turns, of the mean step of each; empty unless ok
  std::optional<std::int64_t> peak_bytes;
  std::vector<double> first_losses;    // of the first kKeptLosses steps, warm-up included; none in mode forward
  std::optional<double> final_loss;    // of step `steps`
  std::int64_t steps = 0;              // in total: warm-up, dropped and timed
  bool library_dropout_masks = false;  // drawn by a library: another version of it has other losses
};

void fields(auto& visit, Is<TurnsSide> auto& side) {
  VISIT(side, status, message, fingerprint, isa, compile_seconds, step_seconds_median, peak_bytes, steps, first_losses,
        final_loss, library_dropout_masks);
  visit("turn_seconds", side.turn_seconds, {.addition = true, .positive = true});
  VISIT(side, step_seconds);
}

// A pair of processes that were alive at the same time and took turns.
struct TurnsPair {
  std::array<TurnsSide, 2> sides;
  std::optional<std::uint64_t> seed;  // of both sides; a case pools its seeds, and its settings have none
  Side started_first = kBaseline;
  std::int64_t steps_per_turn = 1;
  std::int64_t dropped_rounds = 0;  // before the timed ones; their steps are not in step_seconds
  std::vector<Side> first;          // which side had the first turn of each timed round
  std::optional<double> log_ratio;  // median over rounds of log(new time / baseline time); empty unless both sides are ok
  std::optional<double> foreign_cpu_cores;  // CPU time of other processes during the timed turns, over their wall time

  bool ok() const { return log_ratio.has_value(); }
};

void fields(auto& visit, Is<TurnsPair> auto& pair) {
  VISIT(pair, log_ratio, foreign_cpu_cores, steps_per_turn, dropped_rounds, started_first);
  visit("seed", pair.seed, {.addition = true});
  visit("first_by_round", pair.first);
  for (const Side side : kSides) visit(name(side), pair.sides[side]);
}

struct TurnsCase {
  std::string name;           // of the run: "lenet5/cpu/fp32/b64"
  std::string model, device;  // as asked for: "mlp:width=64", "cuda:0"
  Precision precision = Precision::fp32;
  std::int64_t batch = 0;
  Settings settings;                   // what differs from its default
  std::optional<int> threads;          // empty: not on a CPU
  std::optional<std::string> skipped;  // why it was not measured at all; then there are no pairs
  std::vector<TurnsPair> pairs;        // in the order in which they ran
};

void fields(auto& visit, Is<TurnsCase> auto& turns) {
  VISIT(turns, name, model, device, precision, batch);
  visit("settings", turns.settings, {.omitted_if_empty = true});
  visit("threads", turns.threads, {.minimum = 1});
  VISIT(turns, skipped, pairs);
}

struct TurnsDocument {
  Context context;  // of the machine and the coordinating program; the binaries describe themselves
  std::array<BuildInfo, 2> builds;
  std::array<std::string, 2> binaries;  // paths, as given
  std::string suite;                    // its name or file, as given
  std::uint64_t order_seed = 0;
  // The measurement rule: the slowdown that matters, as a fraction of a step's time, and the maximum number of pairs per case.
  std::optional<double> threshold;
  std::optional<std::int64_t> max_pairs;
  std::vector<TurnsCase> cases;
};

void fields(auto& visit, Is<TurnsDocument> auto& document) {
  VISIT(document, context, suite, order_seed);
  visit("threshold", document.threshold, {.positive = true});
  visit("max_pairs", document.max_pairs, {.minimum = 1, .maximum = std::int64_t{kMaxPairsOfACall}});
  for (const Side side : kSides)
    visit.group(name(side), [&](auto& binary) {
      binary("binary", document.binaries[side]);
      build_fields(binary, document.builds[side], "epochbench_version");
    });
  visit("cases", document.cases);
}

// A measurement and the file that it came from, for answers that use several.
struct NamedResult {
  std::string path;  // as named on the command line, or a file in a folder named there
  Result result;
};

struct NamedTurns {
  std::string path;
  TurnsDocument document;
};

}  // namespace epochbench
