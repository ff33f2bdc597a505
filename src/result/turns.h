// What came of two binaries taking turns at the same cases: the document that `compare --interleave -o FILE` keeps.
//
// Everything that was measured is in it, so that a verdict can be drawn again; the verdict itself is not. Fields and units are
// those of results/turns.schema.json (version 1). An empty optional is written as null: not known.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "src/base/fields.h"
#include "src/result/result.h"

namespace epochbench {

inline constexpr std::size_t kMostPairsOfACall = 1000;  // hours of them: a machine that needs more is not quiet enough

inline constexpr int kTurnsVersion = 1;
inline constexpr std::size_t kKeptLosses = 10;  // as many as parity is about

// A binary, as it tells of itself.
struct BuildInfo {
  std::string version;  // "0.1.0"
  std::optional<std::string> git_sha;
  std::optional<bool> git_dirty;
  std::string build_type, compiler;
};

// `version_key`: a document of turns and the protocol (src/worker/protocol.h) spell it differently.
void build_fields(auto& visit, Is<BuildInfo> auto& build, const char* version_key) {
  visit(version_key, build.version);
  visit("git_sha", build.git_sha);
  visit("git_dirty", build.git_dirty);
  visit("build_type", build.build_type);
  visit("compiler", build.compiler);
}

enum Side : std::size_t { kBaseline = 0, kNew = 1 };
inline constexpr std::array<Side, 2> kSides = {kBaseline, kNew};
inline constexpr std::array<const char*, 2> kSideNames = {"baseline", "new"};

// One process of a pair.
struct TurnsSide {
  RunStatus status = RunStatus::ok;
  std::optional<std::string> message;
  std::optional<std::string> fingerprint;  // of the workload that it built
  std::optional<std::string> isa;          // of its kernels on a CPU: "avx512"
  std::optional<double> compile_seconds;
  std::vector<double> step_seconds;           // raw: every timed step, turn by turn
  std::optional<double> step_seconds_median;  // over turns, of the mean step of each; empty unless ok
  std::optional<std::int64_t> peak_bytes;
  std::vector<double> first_losses;    // of the first kKeptLosses steps, warm-up included; none of mode forward
  std::optional<double> final_loss;    // of step `steps`
  std::int64_t steps = 0;              // taken in all: warm-up, dropped and timed ones
  bool library_dropout_masks = false;  // a library drew them, so that another version of it has other losses
};

void fields(auto& visit, Is<TurnsSide> auto& side) {
  visit("status", side.status);
  visit("message", side.message);
  visit("fingerprint", side.fingerprint);
  visit("isa", side.isa);
  visit("compile_seconds", side.compile_seconds);
  visit("step_seconds_median", side.step_seconds_median);
  visit("peak_bytes", side.peak_bytes);
  visit("steps", side.steps);
  visit("first_losses", side.first_losses);
  visit("final_loss", side.final_loss);
  visit("library_dropout_masks", side.library_dropout_masks);
  visit("step_seconds", side.step_seconds);
}

// A pair of processes that were alive at the same time and took turns.
struct TurnsPair {
  std::array<TurnsSide, 2> sides;
  Side started_first = kBaseline;
  std::int64_t steps_per_turn = 1;
  std::int64_t dropped_rounds = 0;  // before the timed ones; their steps are not in step_seconds
  std::vector<Side> first;          // who had the first turn of each timed round
  std::optional<double> log_ratio;  // median over rounds of log(new time / baseline time); empty unless both sides are ok
  std::optional<double> foreign_cpu_cores;  // CPU time that others took during the timed turns, over their wall time

  bool ok() const { return log_ratio.has_value(); }
};

void fields(auto& visit, Is<TurnsPair> auto& pair) {
  visit("log_ratio", pair.log_ratio);
  visit("foreign_cpu_cores", pair.foreign_cpu_cores);
  visit("steps_per_turn", pair.steps_per_turn);
  visit("dropped_rounds", pair.dropped_rounds);
  visit("started_first", pair.started_first);
  visit("first_by_round", pair.first);
  for (const Side side : kSides) visit(kSideNames[side], pair.sides[side]);
}

struct TurnsCase {
  std::string name;                      // of the run: "lenet5/cpu/fp32/b64"
  std::string model, device, precision;  // as asked for: "mlp:width=64", "cuda:0", "fp32"
  std::int64_t batch = 0;
  std::optional<int> threads;          // empty: not on a CPU
  std::optional<std::string> skipped;  // why it was not measured at all; then there are no pairs
  std::vector<TurnsPair> pairs;        // in the order in which they ran
};

void fields(auto& visit, Is<TurnsCase> auto& turns) {
  visit("name", turns.name);
  visit("model", turns.model);
  visit("device", turns.device);
  visit("precision", turns.precision);
  visit("batch", turns.batch);
  visit("threads", within(turns.threads, 1, std::numeric_limits<int>::max()));
  visit("skipped", turns.skipped);
  visit("pairs", turns.pairs);
}

struct TurnsDocument {
  Context context;  // of the machine and of the program that conducted; the binaries tell of themselves
  std::array<BuildInfo, 2> builds;
  std::array<std::string, 2> binaries;  // paths, as given
  std::string suite;                    // its name or file, as given
  std::uint64_t order_seed = 0;
  // Of the rule by which it was measured: the slowdown that matters, as a part of a step's time, and the most pairs of a case.
  std::optional<double> threshold;
  std::optional<std::int64_t> max_pairs;
  std::vector<TurnsCase> cases;
};

void fields(auto& visit, Is<TurnsDocument> auto& document) {
  visit("context", document.context);
  visit("suite", document.suite);
  visit("order_seed", document.order_seed);
  visit("threshold", positive(document.threshold));
  visit("max_pairs", within(document.max_pairs, 1, std::int64_t{kMostPairsOfACall}));
  for (const Side side : kSides)
    visit.group(kSideNames[side], [&](auto& binary) {
      binary("binary", document.binaries[side]);
      build_fields(binary, document.builds[side], "epochbench_version");
    });
  visit("cases", document.cases);
}

}  // namespace epochbench
