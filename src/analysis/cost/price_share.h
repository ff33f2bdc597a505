// How much of an instance's price counts for a machine of another size. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "src/analysis/cost/cost.h"
#include "src/result/measurements.h"

namespace epochbench {

struct UsedMachine {
  int vcpus = 1;  // the logical CPUs of the host
  int gpus = 0;   // that the run uses
  int cores = 0;  // the physical cores of those CPUs; 0: not known
};

struct PriceShare {
  double factor = 1;                    // of the price
  std::string text;                     // as share_text() has it; empty if the price is that of the machine
  std::optional<PriceScaling> scaling;  // likewise
};

// Errors: CallError if the sizes differ and no scaling is given, or one that is meaningless here: a share by vCPUs of an
// instance whose vCPUs are other parts of a core than the machine's CPUs.
PriceShare share_of(const CatalogPrice& price, const UsedMachine& used, std::optional<PriceScaling> scaling);

}  // namespace epochbench
