// bench/prices.json: the dated catalogue of cloud prices that travels in the binary.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/analysis/cost/cost.h"

namespace epochbench {

struct PriceCatalogue {
  std::string note;
  std::vector<CataloguePrice> prices;
};

// `source` names the text in messages. Errors: FormatError.
PriceCatalogue parse_prices(std::string_view text, const std::string& source);

}  // namespace epochbench
