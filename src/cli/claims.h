// The embedded catalogue of the articles' claims, which `claims` and `list` both read.
#pragma once

#include "src/report/claim_catalogue.h"

namespace epochbench {

const ClaimCatalogue& embedded_claims();

}  // namespace epochbench
