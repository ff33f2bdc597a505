// How much of an instance's price counts for a machine of another size. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/analysis/cost/cost.h"
#include "src/case/choices.h"

namespace epochbench {

enum class PriceScaling : std::uint8_t { per_vcpu, per_gpu, whole };  // in proportion to vCPUs or to GPUs; all of it
constexpr auto texts_of(PriceScaling) { return std::array{"per-vcpu", "per-gpu", "whole"}; }

struct UsedMachine {
  int vcpus = 1;  // the logical CPUs of the host
  int gpus = 0;   // that the run uses
};

struct PriceShare {
  double factor = 1;                    // of the price
  std::string text;                     // "price for 8 vCPUs, 2 used"; empty if the price is that of the machine
  std::optional<PriceScaling> scaling;  // likewise
};

// Errors: CallError if the sizes differ and no scaling is given, or one that is meaningless here.
PriceShare share_of(const CatalogPrice& price, const UsedMachine& used, std::optional<PriceScaling> scaling);

}  // namespace epochbench
