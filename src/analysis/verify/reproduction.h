// Whether what a result says comes out again in another one, of this machine: its speeds and its ratios.
//
// One machine is faster than another, so a speed is compared as a share of its roofline: the least time that a step can take by
// the peak and the bandwidth that were measured on its own machine, over the time that it takes. Ratios of two runs of one
// machine are compared as they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/analysis/series.h"
#include "src/analysis/speedup/speedup.h"

namespace epochbench {

// How far a figure may be off on a machine of the same kind: peaks and steps are of other minutes.
inline constexpr double kReproduces = 1.1;

enum class Reproduction : std::uint8_t {
  agrees,
  differs,
  differs_elsewhere,  // with a reason: another CPU, build, number of threads or kernels
  undecided           // the interval is too wide, or other processes disturbed the run here
};
constexpr auto texts_of(Reproduction) { return std::array{"agrees", "differs", "differs_elsewhere", "undecided"}; }

struct ReproducedFigure {
  std::string name;    // of the run; of a ratio, its two runs
  bool share = false;  // of the roofline; otherwise a ratio
  Estimate there, here;
  Estimate quotient = {};  // here / there
  Reproduction verdict = Reproduction::undecided;
  std::string reason = {};  // empty if it agrees or differs
};

// A run of the file and the same run here.
struct RunAgain {
  const Series* there;
  const Series* here;
};

// The sides of pairs that lead come first, then those of other pairs, then the others. Only runs of this program that can carry
// an answer and have a roofline; the others are in `left_out`.
struct Candidates {
  std::vector<const Series*> series;
  std::vector<std::size_t> ranks;  // of each: 0, 1 or 2
  std::vector<LeftOut> left_out;
};
Candidates reproducible(const AllSeries& all, const Speedup& speedup);

// The share of each run, then each ratio whose sides both ran here.
std::vector<ReproducedFigure> reproduced(const std::vector<RunAgain>& runs, const Speedup& speedup);

// here / there. Without an interval of one, that of the other; without both, none.
Estimate quotient(const Estimate& there, const Estimate& here);

}  // namespace epochbench
