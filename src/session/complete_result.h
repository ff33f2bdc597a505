// What follows from a result as a whole, and from the models of this build.
#pragma once

#include "src/result/result.h"

namespace epochbench {

// Sets what outputs need and a file may lack or may have from fewer measurements: the CPU's best peaks with the shares of them
// (src/analysis/peak_share.h), the data sets that epochs of synthetic data stand for (src/workload/nominal_epoch.h), and the
// least times of steps (bounds.h). Every command that answers from a result calls it after reading, and `run` after each case.
void complete(Result& result);

}  // namespace epochbench
