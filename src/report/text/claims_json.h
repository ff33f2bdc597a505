// The articles' claims as JSON, with what results say of them.
#pragma once

#include <span>

#include "src/analysis/claims/claim_catalog.h"
#include "src/base/json.h"

namespace epochbench {

// What a claim says, where it comes from and how it is tested; without a verdict.
Json claim_json(const Claim& claim);

// {"claims": [...], "conflicts": [...]}. `answers`: of the catalog's claims, in their order.
Json claims_json(const ClaimCatalog& catalog, std::span<const ClaimAnswer> answers);

}  // namespace epochbench
