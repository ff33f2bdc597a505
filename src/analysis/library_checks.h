// Where a stored check of the same CPU (results/*-check.json, by scripts/check_cpu) found another library faster than our
// kernels.
#pragma once

#include <string>
#include <vector>

#include "src/result/result.h"

namespace epochbench {

struct FasterLibrary {
  std::string text;  // "oneDNN 3.13.2 ran the weight gradients of ResNet-50's convolutions 1.09 times (1.06 to 1.12) as fast
                     // with 2 threads"
  std::string file;  // "results/intel-xeon-family-6-model-167-stepping-1-2cores-check.json"
};

// Kinds of layers that the run may have, in its precision, with as many of its threads as were checked: those whose whole
// interval is on the library's side, and which are at least a hundredth of the time of the layers that were checked together.
std::vector<FasterLibrary> faster_libraries(const std::string& cpu, const Run& run);

}  // namespace epochbench
