// What stands around the tables of `run` and `sweep`: the machine above, and what a reader should know of the runs below.
#pragma once

#include <string>

#include "src/result/result.h"

namespace epochbench {

// The CPU and the GPUs that were measured, with their measured limits, a line each.
std::string machine_text(const Context& context);

// Projected epochs, what the table's remarks say, prices, disturbed runs, and where the result is: on standard output.
void print_closing_notes(const Result& result, const std::string& path);

}  // namespace epochbench
