// The result table that a person reads after a run.
#pragma once

#include <cstddef>
#include <string>

#include "src/analysis/cost/cost.h"
#include "src/result/result.h"

namespace epochbench {

// Of fewer steps the whole range holds the median with less than 95 %, so none of it is an interval of 95 %.
inline constexpr std::size_t kFewestStepsOfInterval = 6;

// One row per run that is ok, then one line for each that is not, with its status and message, and what was skipped by reason.
std::string summary(const Result& result);

// What a reader of the table should know beside it, a line each; empty where there is nothing.
std::string remarks(const Result& result);

// "lenet5/cpu/fp32/b64 reached accuracy 97.2 % in 0.26 s, set-up and evaluation included", and of how many repetitions.
std::string time_to_quality(const TimeToQuality& time);

// "resnet20/cpu/fp32/b128  54.3 ms ± 0.4 %  2,360 samples/s", or the status: one line for a log.
std::string one_line(const Run& run);

}  // namespace epochbench
