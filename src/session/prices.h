// Hourly prices as people name them, and which one holds for which device: --price, the catalog, or none.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "src/analysis/cost/cost.h"
#include "src/case/device_id.h"
#include "src/result/result.h"

namespace epochbench {

const PriceCatalog& embedded_prices();
Day today();  // UTC

struct AskedPrice {
  double usd_per_hour = 0;
  const CatalogPrice* row = nullptr;  // of the catalog; nullptr: the user's own figure
};
// USD per hour or an instance of the catalog: "0.34", "c7i.4xlarge", "aws/c7i.4xlarge". Errors: CallError.
AskedPrice parse_price(const std::string& text);

class Prices {
 public:
  // `option`: "cpu=0.34,cuda:0=c7i.4xlarge", or empty. A value is as for parse_price. Without an option, a machine that its
  // firmware identifies has its catalog price. `today` decides how old a price is. Errors: CallError.
  explicit Prices(const std::string& option, Day today = epochbench::today());

  // The cost of a run on the device; empty where no price is known.
  std::optional<Cost> cost(DeviceId device, const Timing& timing) const;

 private:
  struct HourlyPrice {
    double usd_per_hour;
    std::string source;  // "user", or as describe() of src/analysis/cost/cost.h
  };
  std::map<std::string, HourlyPrice> by_device_;  // "cuda" holds for every GPU, "" for what no other holds for
};

}  // namespace epochbench
