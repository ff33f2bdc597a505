// Prices that a user writes down, as CSV, for `rent` and `plan`: those of providers that bench/prices.json does not have.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/analysis/predict/device_catalog.h"

namespace epochbench {

inline constexpr const char* kPriceColumns = "provider,instance,usd_per_hour,date,kind,region";

// One row per line below kPriceColumns; empty lines and lines that begin with # are skipped. `instance` is one of `known`, a
// CPU instance of `devices`, or GPUs of it: "h100-sxm", "2x rtx-4090". `kind` is on-demand or spot. `source` names the text in
// messages. Errors: FormatError that begins with the source and the line.
std::vector<CatalogPrice> parse_price_file(std::string_view text, const std::string& source, const DeviceCatalog& devices,
                                           std::span<const CatalogPrice> known, Day today);

}  // namespace epochbench
