// What turns say: pure functions over rounds. A round's figures are compared with those of the same round alone; over the
// rounds the median counts, with its interval.
#pragma once

#include <string>
#include <vector>

#include "src/measure/statistics.h"

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

// Of several problems: each round's geometric mean, and each round's sum of count times the figure.
Rounds geometric_means(const std::vector<Rounds>& problems);
Rounds totals(const std::vector<Rounds>& problems, const std::vector<double>& counts);

// What threads gain, as a fraction of what the machine's peak gains by them: (one / all) of seconds over (all / one) of peaks.
Rounds scaling(const Rounds& seconds, const Rounds& seconds_of_one, const Rounds& peaks, const Rounds& peaks_of_one);

// FLOP/s that a machine allows for work that moves `bytes` once: its peak, or what its bandwidth feeds (Williams, Waterman and
// Patterson, "Roofline", 2009).
double roofline(double flops, double bytes, double peak_flops_per_second, double bytes_per_second);

}  // namespace epochbench::bench
