// What it costs that several ranks share a batch, and what a model of the network predicts for more ranks than were measured.
//
// Efficiency is how many samples per second a rank trains, relative to each rank at the fewest ranks that were measured: with
// one batch size T1 / (n Tn) (strong scaling), with one size per rank T1 / Tn (weak). Exposed is what a step takes beyond what
// its slowest rank computes. If ranks compute nothing meanwhile, that is all of the exchange; otherwise it is an unknown part,
// and gives no rate and no model.
//
// The model: a rank computes for a constant plus a time per sample, the slowest longer than the fastest by a factor; in each
// round of messages it sends a share to every other rank, and a message of m bytes takes latency + m / rate (Hockney, "The
// communication challenge for MPP", Parallel Computing 20, 1994). So K rounds with P bytes in total take
//
//   (n - 1) (K latency + P / (n rate)),
//
// as a ring does (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 69, 2009). For more ranks it is an
// extrapolation, and called predicted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/analysis/sweep/curves.h"
#include "src/analysis/sweep/networks.h"
#include "src/result/result.h"

namespace epochbench {

// One number of ranks, means over all steps and repetitions.
struct RankMeasurement {
  std::int64_t ranks = 1, batch = 1;  // of all ranks together
  double step_seconds = 0;
  std::vector<double> compute_seconds;  // by rank: of a step, without exchange and waiting
  double rounds = 0, bus_bytes = 0;     // of a step; 0: not known, or one rank
  double rate_alone = 0;                // bytes per second of sums with nothing else to do; 0: not known
  bool hides = false;                   // a part of the exchange, behind computation

  double slowest() const;
  double fastest() const;
  double exposed() const { return step_seconds > slowest() ? step_seconds - slowest() : 0; }
};

// For an ok run with times; empty for any other.
std::optional<RankMeasurement> measurement_of(const Run& run);

struct RankModel {
  double constant_seconds = 0, seconds_per_sample = 0;  // of the fastest rank, with the samples of its own
  double slowest_over_fastest = 1;
  double rounds = 0, bytes = 0;        // of a step: K and P above
  std::optional<NetworkFit> measured;  // empty: nothing was exchanged, or how often is not known

  double compute_seconds(std::int64_t ranks, std::int64_t batch) const;  // of the slowest rank
  double exchange_seconds(std::int64_t ranks, double latency_seconds, double bytes_per_second) const;
};

// Least squares of relative deviations; no part is below 0. With two ranks only, latency is taken as 0. Precondition: at least
// one measurement.
RankModel fit_ranks(std::span<const RankMeasurement> measured);

inline constexpr const char* kMeasuredNetwork = "as measured";  // RankPrediction::network
inline constexpr std::int64_t kMinPredicted = 8, kMaxPredicted = 1024;

// For a curve over ranks. Predictions are for powers of two beyond what was measured, with a fixed batch those that divide it:
// with the network as measured, and with these.
RankScaling rank_scaling_of(const Curve& curve, Axis axis, std::span<const Network> networks);
RankScaling rank_scaling_of(const Curve& curve, Axis axis);  // with those of bench/networks.json

}  // namespace epochbench
