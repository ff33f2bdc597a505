// The least time of a step: pure functions over what each node computes and moves, and what a device can do at most.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "epochbench/precision.h"
#include "epochbench/work_class.h"
#include "src/analysis/predict/device_catalog.h"

namespace epochbench {

// A node of a step. `winograd`: a convolution of 3x3 windows at stride 1 over floats, which may be computed with fewer
// multiplications than are counted.
struct NodeDemand {
  double flops = 0, bytes = 0;
  bool winograd = false;
  WorkClass work_class = WorkClass::pass;
};

// F(4x4, 3x3), the largest tile in use, needs a quarter of the multiplications (Lavin and Gray 2016).
inline constexpr double kWinogradSaving = 4;
// The compute capability from which on cuDNN 9 has no Winograd engines: Hopper's.
inline constexpr double kFirstWithoutWinograd = 9.0;

struct RatedLimits {
  std::optional<double> flops_per_second;  // of the precision's products, with fp32 sums; empty: see `reason`
  double winograd_flops_per_second = 0;    // of convolutions that may be transformed, in counted FLOPs
  double bytes_per_second = 0;             // between memory and chip
  double cache_bytes = 0;                  // data of one node that may stay on the chip for the next
  double memory_bytes = 0;
  double node_seconds = 0;  // the least that a node takes, however little it does; 0: not known
  std::string reason;
};
RatedLimits limits_of(const PredictionTarget& target, Precision precision);

struct TimeBound {
  double seconds = 0;
  double launched_seconds = 0;  // of nodes that take at least `node_seconds` each
  double compute_seconds = 0;   // of nodes whose FLOPs take at least as long as their bytes; bandwidth bounds the others
  const char* bound() const { return 2 * compute_seconds >= seconds ? "compute" : "bandwidth"; }
  double bound_share() const;  // of the seconds; 0 for an empty step
};

// The sum over nodes of the larger of FLOPs / peak and bytes / bandwidth (Williams et al. 2009, "Roofline"). A node that finds
// its inputs in the cache and leaves its outputs there moves less, by up to twice the cache, so this much is not counted.
// `limits` must have flops_per_second.
TimeBound time_bound(std::span<const NodeDemand> nodes, const RatedLimits& limits);

}  // namespace epochbench
