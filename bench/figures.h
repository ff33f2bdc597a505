// Figures of rounds: pure functions. A round's numbers are compared only with those of the same round; the interval of a figure
// is over processes (src/figures/estimate.h).
#pragma once

#include <functional>
#include <vector>

#include "src/figures/estimate.h"

namespace epochbench::bench {

using Figure = std::vector<std::vector<double>>;  // [process][round]

// Elementwise. Error: std::invalid_argument if the shapes differ.
Figure quotient(const Figure& left, const Figure& right);
Figure rate(double work, const Figure& seconds);  // work / seconds, as FLOP/s of FLOPs

// Over the rounds of each process; see estimate_of_rounds.
inline GroupEstimate estimate(const Figure& figure) { return estimate_of_rounds(figure); }

// Estimates what `combine` computes from the medians of several figures, per process; a single process gives no spread.
using Combine = std::function<double(const std::vector<double>& medians)>;
GroupEstimate estimate(const std::vector<Figure>& figures, const Combine& combine);

// The speedup by threads as a fraction of that of the machine's peak: (one / all) of seconds over (all / one) of peaks.
Figure scaling(const Figure& seconds, const Figure& seconds_of_one, const Figure& peaks, const Figure& peaks_of_one);

// FLOP/s that a machine allows for work that moves `bytes` once: its peak, or what its bandwidth sustains (Williams, Waterman
// and Patterson, "Roofline", 2009).
double roofline(double flops, double bytes, double peak_flops_per_second, double bytes_per_second);

}  // namespace epochbench::bench
