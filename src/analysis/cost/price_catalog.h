// bench/prices.json: the dated catalog of cloud prices that travels in the binary.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/analysis/cost/cost.h"

namespace epochbench {

struct PriceCatalog {
  std::string note;
  std::vector<CatalogPrice> prices;
};

// `source` names the text in messages. Errors: FormatError.
PriceCatalog parse_prices(std::string_view text, const std::string& source);

}  // namespace epochbench
