// Hourly prices as people name them, and which one holds for which device: --price, the catalog, or none.
//
// A price belongs to a machine. A plain number is that of the machine that ran; an instance of the catalog is compared with its
// logical CPUs and the GPUs used, and where they differ, --price-scaling says what counts (src/analysis/cost/price_share.h).
#pragma once

#include <map>
#include <optional>
#include <string>

#include "src/analysis/cost/cost.h"
#include "src/analysis/cost/price_share.h"
#include "src/case/device_id.h"
#include "src/result/turns.h"

namespace epochbench {

const PriceCatalog& embedded_prices();
Day today();  // UTC

struct AskedPrice {
  double usd_per_hour = 0;
  const CatalogPrice* row = nullptr;  // of the catalog; nullptr: the user's own figure
};
// USD per hour or an instance of the catalog: "0.34", "c7i.4xlarge", "aws/c7i.4xlarge". Errors: CallError.
AskedPrice parse_price(const std::string& text);

struct PriceOptions {
  std::string price;                    // "cpu=0.34,cuda:0=c7i.4xlarge", or empty; a value is as for parse_price
  std::optional<PriceScaling> scaling;  // empty: an instance of another size is refused
};

struct PricedMachine {
  int vcpus = 1;                           // its logical CPUs, as far as this program may use them
  const CatalogPrice* instance = nullptr;  // that its firmware names; nullptr: not known
};
PricedMachine this_machine();

class Prices {
 public:
  // Without an option, a machine that its firmware names has its catalog price, all of it where no scaling is given. `today`
  // decides how old a price is. Errors: CallError, also for an instance of another size.
  explicit Prices(const PriceOptions& options, const PricedMachine& machine = this_machine(), Day today = epochbench::today());

  // The cost of a run on the device, of ranks on a GPU each; empty where no price is known.
  std::optional<Cost> cost(DeviceId device, const Timing& timing, int ranks = 1) const;

 private:
  HourlyPrice hourly(const AskedPrice& asked, int gpus) const;

  PricedMachine machine_;
  std::optional<PriceScaling> scaling_;
  Day today_;
  std::map<std::string, AskedPrice> by_device_;  // "cuda" holds for every GPU
};

// A finished result under these options. With a price, the costs of its runs follow from their stored times; without one, those
// that it has are held to the same rule, by the machine that it names. Errors: CallError that names the file.
void reprice(NamedResult& named, const PriceOptions& options);

HourlyPrice whole_price(const AskedPrice& asked);
// What counts of it for the machine of a result, of its runs on a GPU where it has some. Errors: CallError.
HourlyPrice price_for(const AskedPrice& asked, const Result& result, std::optional<PriceScaling> scaling);

}  // namespace epochbench
