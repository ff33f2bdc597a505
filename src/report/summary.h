// The result table that a person reads after a run.
#pragma once

#include <string>

#include "epochbench/result.h"

namespace epochbench {

// One row a run that is ok, then one line for each that is not, with its status and message, and what was skipped by reason.
std::string summary(const Result& result);

// What a reader of the table should know beside it, a line each; empty where there is nothing.
std::string remarks(const Result& result);

// "resnet20/cpu/fp32/b128  54.3 ms ± 0.4 %  2,360 samples/s", or the status: one line for a log.
std::string one_line(const Run& run);

}  // namespace epochbench
