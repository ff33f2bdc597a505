// Price files.
#include "fuzz/targets.h"
#include "src/analysis/predict/price_file.h"
#include "src/base/errors.h"

namespace epochbench::fuzz {

void price_file(std::string_view bytes) try {
  const CatalogPrice known{"aws", "g5.xlarge", "us-east-1", 1, 4, "NVIDIA A10G", 1, "made", "2026-01-19"};
  const Day day = parse_day("2026-11-30").value();
  for (const CatalogPrice& price : parse_price_file(bytes, "fuzzed", embedded_devices(), {&known, 1}, day))
    require(price.usd_per_hour > 0 && parse_day(price.as_of) <= day && !price.instance.empty(), "a price is whole");
} catch (const FormatError& error) {
  require_message(error.what());
}

}  // namespace epochbench::fuzz
