// How throughput grows with cores: Amdahl's law and the Universal Scalability Law fitted to a sweep over threads.
//
// Amdahl, "Validity of the single processor approach to achieving large scale computing capabilities", AFIPS 1967; Gunther,
// "Guerrilla Capacity Planning", Springer 2007, chapter 4: N cores do
//
//   X(N) = a N / (1 + sigma (N - 1) + kappa N (N - 1)),
//
// a is the rate of one core, sigma the part that is serial or waits its turn (0 to 1), kappa what each pair of cores costs to
// keep coherent (0 in Amdahl's law). Both describe the cores that were measured: caches, memory channels and clocks beyond them
// are not included, so what they say about more cores is an extrapolation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/analysis/sweep/curves.h"
#include "src/result/result.h"

namespace epochbench {

inline constexpr int kMinScalingPoints = 4;  // of different numbers of cores: one more than the law has parameters

struct CoresRate {
  double cores = 0, rate = 0;
};

// Least squares of the relative deviations. In the time that a core's share takes, N / X, the law is linear in 1 / a, sigma / a
// and kappa / a, and fitted over measured time is measured over fitted rate, so the fit is linear least squares under bounds
// and exact. Preconditions: kMinScalingPoints or more, each of a different number of cores; all numbers above 0 and finite.
ScalingFit fit_scaling(std::span<const CoresRate> points, ScalingLaw law);

double rate_of(const ScalingFit& fit, double cores);

// The smallest number of cores with this rate; for a rate below that of one core, the fraction of it. Empty if the law never
// reaches the rate.
std::optional<double> cores_for(const ScalingFit& fit, double rate);

// The same with its 95 % interval, by parametric bootstrap (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993,
// section 6.5): rates are drawn around the fit with the spread of the residuals, which is itself drawn from what so few points
// leave open (sum of squares over chi-squared), and the contender's rate from its repetitions. An end of the interval is empty
// if the law fails to reach the rate in too many draws. The draws are the same in every call. Preconditions: as fit_scaling;
// `contender_rates` are above 0, at least one.
CoresNeeded cores_needed(std::span<const CoresRate> points, ScalingLaw law, const std::string& contender,
                         std::span<const double> contender_rates);

// For a curve over threads, with one point per number of threads: the geometric mean of its repetitions. The devices to be
// equalled are those of the GPU runs in `result` with the same fingerprint, mode, data set and seed, in every precision.
ScalingAnswer scaling_of(const Curve& threads, const Result& result);

}  // namespace epochbench
