// The articles' claims for people: as a list, and with what results say of them.
#pragma once

#include <span>
#include <string>

#include "src/analysis/claims/claim_catalog.h"

namespace epochbench {

// Every claim with what is claimed, where it comes from and the experiment. Lines of at most 100 columns.
std::string claims_list_text(const ClaimCatalog& catalog);

// Every claim with its verdict, what was measured, the conditions and the reason; those that cannot hold together at the end.
// `answers`: of the catalog's claims, in their order.
std::string claims_text(const ClaimCatalog& catalog, std::span<const ClaimAnswer> answers);

}  // namespace epochbench
