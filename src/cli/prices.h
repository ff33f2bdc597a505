// Which hourly price holds for which device: --price, the catalogue, or none.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "epochbench/result.h"
#include "src/report/price_catalogue.h"

namespace epochbench {

const PriceCatalogue& embedded_prices();

class Prices {
 public:
  // `option`: "cpu=0.34,cuda:0=c7i.4xlarge", or empty. A value is USD an hour or an instance of the catalogue. Without an
  // option, a machine that its firmware identifies has its catalogue price. Errors: CallError.
  explicit Prices(const std::string& option);

  // The cost of a run on the device ("cpu", "cuda:0"); empty where no price is known.
  std::optional<Cost> cost(const std::string& device, const Timing& timing) const;

 private:
  struct Price {
    double usd_per_hour;
    std::string source;
  };
  std::map<std::string, Price> by_device_;  // "cuda" holds for every GPU
  std::optional<Price> machine_;
};

}  // namespace epochbench
