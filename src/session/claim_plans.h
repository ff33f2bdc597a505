// What arithmetic says about claims: the plans of their models, for a GPU, which need not be present, or for the CPU in a build
// without CUDA.
#pragma once

#include <span>

#include "src/analysis/claims/claims.h"

namespace epochbench {

// Errors: CallError for a model, batch or precision that does not exist.
ClaimFacts facts_for(std::span<const Claim> claims);

}  // namespace epochbench
