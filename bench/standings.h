// What turns say: pure functions over rounds. A round's figures are compared with those of the same round alone; over the
// rounds the median counts, with its interval.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "src/base/statistics.h"

namespace epochbench::bench {

using Rounds = std::vector<double>;  // a figure of each round

struct Estimate {
  double median = 0;
  Interval interval;  // 95 %
};
Estimate estimate(const Rounds& rounds);  // error: std::invalid_argument without rounds

// left / right of each round. Errors of all with two arguments: std::invalid_argument if their lengths differ.
Rounds quotients(const Rounds& left, const Rounds& right);
// work / seconds of each round, as FLOP/s of FLOPs.
Rounds rates(double work, const Rounds& seconds);

// A figure over several problems, made of each one's medians: a disturbed turn moves no median, while hardly a round is without
// one. The interval is the 95 % percentile bootstrap's: problem p's rounds of resample r are drawn by Philox, key 0, counter
// (i / 4, r, p, RandomStream::bootstrap), for all its figures alike.
using Medians = std::vector<std::vector<double>>;                     // [problem][figure]
using Summary = std::function<double(const Medians&)>;                // of the medians
Estimate summarize(const std::vector<std::vector<Rounds>>& problems,  // [problem][figure]
                   const Summary& summary);

double geometric_mean(const Medians& medians);  // of figure 0
// Errors of both: std::invalid_argument unless there is a count for each problem.
double total(const Medians& medians, const std::vector<double>& counts, std::size_t figure = 0);  // sum of count times figure
double ratio_of_totals(const Medians& medians, const std::vector<double>& counts);  // total of figure 1 over that of figure 0

// What threads gain, as a fraction of what the machine's peak gains by them: (one / all) of seconds over (all / one) of peaks.
Rounds scaling(const Rounds& seconds, const Rounds& seconds_of_one, const Rounds& peaks, const Rounds& peaks_of_one);

// FLOP/s that a machine allows for work that moves `bytes` once: its peak, or what its bandwidth feeds (Williams, Waterman and
// Patterson, "Roofline", 2009).
double roofline(double flops, double bytes, double peak_flops_per_second, double bytes_per_second);

}  // namespace epochbench::bench
