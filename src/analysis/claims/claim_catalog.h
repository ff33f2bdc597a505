// bench/claims.json: the claims that travel in the binary, with how each is to be measured.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/analysis/claims/claims.h"

namespace epochbench {

struct ClaimCatalog {
  std::string note;
  std::vector<Claim> claims;
  std::vector<ClaimConflict> conflicts;
};

// `source` names the text in messages. Errors: FormatError, with the place.
ClaimCatalog parse_claims(std::string_view text, const std::string& source);

}  // namespace epochbench
