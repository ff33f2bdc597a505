// What people read of one result: tables of runs, sweeps, inputs and profiles, and what to know beside them. Every text ends
// with a line break, unless it is empty or a part of a line.
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

// What a reader of the table should know beside it, one line each; empty where there is nothing.
std::string remarks(const Result& result);

// "lenet5/cpu/fp32/b64 reached accuracy 97.2 % in 0.26 s, set-up and evaluation included", and the number of repetitions.
std::string time_to_quality(const TimeToQuality& time);

// "resnet20/cpu/fp32/b128  54.3 ms ± 0.4 %  2,360 samples/s", or the status: one line for a log.
std::string one_line(const Run& run);

// "1.23 kJ" per epoch; "GPU 1.23 kJ" where the CPU's part is not known; empty where nothing is.
std::string energy_cell(const Run& run);

// Why energy is not known, what it holds beside the run, the idle draw, throttled steps.
std::string energy_remarks(const Result& result);

// One table per group of runs that differ only in their input, its outcome, and the articles' rule; empty without such groups.
std::string input_text(const Result& result);

// Op classes and the total, then the ten nodes with most to gain, each beside its limit and by the time beyond it; by their
// whole time where limits are not known. Precondition: the run has a profile.
std::string profile_text(const Run& run);

// A sweep: a table of its points, the curves as a plot, and the answers in sentences. Runs that were skipped are left out.
// Precondition: the result has answers.
std::string sweep_text(const Result& result);

}  // namespace epochbench
