// What a catalog of claims must satisfy beyond the types of its fields, so that judging it cannot fail.
#pragma once

#include <string>

#include "src/analysis/claims/claims.h"
#include "src/base/json_fields.h"

namespace epochbench {

// Errors of both: FormatError that begins with the place.
void check_choice(const RunChoice& choice, const JsonFields& fields);
void check_quantity(const ClaimQuantity& quantity, const JsonFields& fields);  // what its kind requires

}  // namespace epochbench
