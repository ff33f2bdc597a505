// This machine's CPU as an entry of the catalog of devices, with measured peaks in place of rated figures.
#pragma once

#include "src/analysis/predict/device_catalog.h"

namespace epochbench {

// Measures peaks and bandwidth when it is first called, which takes seconds; what it points to lives as long as the program.
PredictionTarget this_cpu();

}  // namespace epochbench
