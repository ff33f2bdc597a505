// What makes a comparison of two runs unfair or hard to trust: facts, each with a stable code. src/report/ makes sentences.
//
// Unknown values raise no warning, except for parity, which training has to show. Forward passes have no losses, so parity does
// not apply to them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/analysis/series.h"

namespace epochbench {

enum class WarningCode : std::uint8_t {
  unusable,                  // first: why the run cannot carry an answer (src/analysis/unusable.h)
  far_from_bound,            // value: the step over the least that it can take; limit: from which on it is doubted
  baseline_below_half_peak,  // value: its fraction of the measured peak
  fewer_threads,             // value: threads; limit: cores
  precision_differs,         // first, second: the baseline's and the contender's
  widened_products,          // first: the precision in which its products multiply; second: that of the run
  parity_unverified,         // losses were not compared with the CPU's in fp32
  parity_apart,              // value: the largest relative difference of losses; limit: what rounding explains
  epoch_kind_differs,        // first, second: projected and measured
  data_waits,                // value: the fraction of a step
  host_differs,              // first, second: the machines; value: 1 if their names leave open whether they differ
  price_of_other_machine,    // first: the price's source
  currency_differs,          // first, second
  foreign_load,              // value: cores
  portable_kernel,           // first: the kernels' instruction set
  unused_instruction,        // first: what was used; second: what the CPU has
  kernels_missing,           // likewise, where the build has no kernels for it
  handicap,                  // both sides share it, the run is the baseline; first: the handicap
  noisy_sample,              // value: how far one run's median step may be off, judged by its own steps, relative
  noisy_repetitions,         // value: their relative standard deviation
  throttled,                 // value: steps
  energy_in_part,            // first: what is metered
  memory_not_metered,        // its energy leaves out the CPU's memory, and the other side's includes its memory
  settings_differ,           // first, second: both sides' as text
  epoch_samples_differ,      // value, limit: the baseline's and the contender's
  build_differs,             // first, second
  batch_differs,             // value, limit: the baseline's and the contender's
  unpinned,                  // its threads on a CPU are not bound to cores
  dirty_build,               // first: the files whose build has changes that no commit has
  resumed,                   // first: the files whose runs several calls measured; value: the most calls of one
  fastest_in_doubt,          // it is the fastest of several; first: how it was chosen (FastestSeries::doubt())
  blind_choices,             // value: the share of a step in algorithms that were not compared with others for lack of time
  library_is_faster,         // first: at which layers a check of this CPU found one faster than our kernels; second: its file
};
const char* name(WarningCode code);

struct Warning {
  WarningCode code;
  std::string run;  // the run it is about; empty: both
  double value = 0, limit = 0;
  std::string first = {}, second = {};
};

inline constexpr double kFairPeakFraction = 0.5;
inline constexpr double kFairDataWait = 0.1;
// Twice the noise at which a run stops by itself.
inline constexpr double kFairStepNoise = 0.02;
// Layers are often several times slower with one algorithm than with another.
inline constexpr double kFairBlindShare = 0.01;
// With it, 5 repetitions per side leave an interval of 7 % to either side.
inline constexpr double kFairRepetitionNoise = 0.05;

// In the order of the codes, the baseline's before the contender's. For several repetitions: the mean of fractions, the worst
// of what should not occur at all.
std::vector<Warning> fairness_warnings(const Series& baseline, const Series& contender);

// The best instruction sets of this CPU, one per precision, for which the build has no kernels; empty if that is not known.
std::vector<std::string> missing_kernels(const Context& context);

// Those that put a series' own times in doubt, whatever it is compared with: foreign_load, noisy_repetitions, throttled,
// blind_choices.
std::vector<Warning> doubts_of(const Series& series);

inline constexpr const char* kKernels = " kernels";  // in a handicap, after a value of --kernels: "portable kernels"

// What a run does without on purpose, so that anything beats it as a baseline for a run that has it: parts left out, kernels
// of a lesser instruction set or without other libraries', a slowed input. As text, "without fusion, portable kernels"; "" if
// there is nothing of the kind.
std::string handicap_of(const Series& series);
// The baseline's handicap that the contender does not share.
std::string handicap_of(const Series& baseline, const Series& contender);

}  // namespace epochbench
