// The embedded catalog of the articles' claims, which `claims` and `list` both read.
#pragma once

#include "src/analysis/claims/claim_catalog.h"

namespace epochbench {

const ClaimCatalog& embedded_claims();

}  // namespace epochbench
