// Which cases a sweep has, and in which order they run.
#pragma once

#include <string>
#include <vector>

#include "src/analysis/sweep/curves.h"
#include "src/case/case_block.h"
#include "src/session/planned_case.h"

namespace epochbench {

// One case per value of the axis, device, precision and whatever else `block` lists. `values`: "1,2,4", or empty for those of
// the axis:
//   batch    powers of two from 1 to 1,024, as far as one of the devices has memory and the data set samples
//   width    powers of two from 64 to 4,096, likewise
//   samples  1, 2, 4 ... 128 batches per epoch
//   threads  1, 2, 3, 4, 6, 8, 12, 16, 24 ... and all the physical cores that are allowed
//   ranks    powers of two up to the cores, each rank with as many threads as the largest number has cores for; for ranks_weak
//            the batch is that of a rank
// Over samples one whole epoch of synthetic data is trained, or as many as `block` says.
// `sizes` keeps the sizes of data sets that were opened, since opening one again takes time.
// Errors: CallError, std::invalid_argument, DataError.
std::vector<CaseSpec> sweep_cases(CaseBlock block, Axis axis, const std::string& values, DatasetSizes& sizes);

// Shuffles the cases of each repetition, with all devices and values mixed, so that a machine that warms up, or is busy for a
// while, does not look like a property of large values. The seed is the repetition, so that two calls run alike.
void shuffle_repetitions(std::vector<PlannedCase>& cases);

}  // namespace epochbench
