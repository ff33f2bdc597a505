// Hourly prices as users write them, and which one applies to which device: --price, the catalog, or none.
//
// A price belongs to a machine. A plain number is that of the machine that ran; an instance of the catalog is compared with its
// CPUs, their physical cores and the GPUs used, and where they differ, --price-scaling says what counts
// (src/analysis/cost/price_share.h).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/analysis/cost/cost.h"
#include "src/analysis/cost/price_share.h"
#include "src/case/device_id.h"
#include "src/result/turns.h"

namespace epochbench {

const PriceCatalog& embedded_prices();  // with the cores that bench/devices.json knows
Day today();                            // UTC

// The prices of `rent` and `plan`: bench/prices.json, what `file` adds, and what `given` says instead: "t4=0.35,rtx-4090=0.40",
// a device or an instance and its USD per hour. A row of the file replaces that of the same provider and instance.
struct PriceListOptions {
  std::string file, given;
};
// Errors: CallError, FormatError.
std::vector<CatalogPrice> price_list(const PriceListOptions& options);

struct AskedPrice {
  double usd_per_hour = 0;
  const CatalogPrice* row = nullptr;  // in the catalog; nullptr: the user's own figure
};
// USD per hour or an instance of the catalog: "0.34", "c7i.4xlarge", "aws/c7i.4xlarge". Errors: CallError.
AskedPrice parse_price(const std::string& text);

struct PriceOptions {
  std::string price;                    // "cpu=0.34,cuda:0=c7i.4xlarge", or empty; a value is as for parse_price
  std::optional<PriceScaling> scaling;  // empty: an instance of another size is refused
};

struct PricedMachine {
  int vcpus = 1;                           // its logical CPUs, as far as this program may use them
  const CatalogPrice* instance = nullptr;  // named by its firmware; nullptr: unknown
  int cores = 0;                           // physical ones of those CPUs; 0: not known
};
PricedMachine this_machine();

class Prices {
 public:
  // Without an option, a machine that its firmware names has its catalog price, in full if no scaling is given. `today` decides
  // how old a price is. Errors: CallError, also for an instance with other CPUs, or without a GPU where one is priced.
  explicit Prices(const PriceOptions& options, const PricedMachine& machine = this_machine(), Day today = epochbench::today());

  // For a run on the device, with `ranks` on one GPU each; empty if no price is known. Errors: CallError if the instance has
  // other CPUs or more GPUs than the run uses, and no scaling says what counts.
  std::optional<HourlyPrice> hourly(DeviceId device, int ranks = 1) const;
  std::optional<Cost> cost(DeviceId device, const Timing& timing, int ranks = 1) const;
  // The devices of --price that none of these is: "cuda".
  std::vector<std::string> without_case(std::span<const DeviceId> devices) const;

 private:
  HourlyPrice shared_by(const AskedPrice& asked, int gpus) const;

  PricedMachine machine_;
  std::optional<PriceScaling> scaling_;
  Day today_;
  std::map<std::string, AskedPrice> by_device_;  // "cuda" applies to every GPU
};

// Reprices a finished result. With a price, the costs of its runs follow from their stored times; without one, its own costs
// are subject to the same rule, for the machine that it names. Returns the devices of --price that no run is on. Errors:
// CallError that names the file.
std::vector<std::string> reprice(NamedResult& named, const PriceOptions& options);

HourlyPrice whole_price(const AskedPrice& asked);
// The part that counts for the machine of a result, for its runs on a GPU if it has any. Errors: CallError.
HourlyPrice price_for(const AskedPrice& asked, const Result& result, std::optional<PriceScaling> scaling);

}  // namespace epochbench
