#include "src/analysis/cost.h"

namespace epochbench {

const CataloguePrice* find_price(std::span<const CataloguePrice> catalogue, std::string_view name) {
  for (const CataloguePrice& price : catalogue)
    if (name == price.instance || name == price.provider + "/" + price.instance) return &price;
  return nullptr;
}

const CataloguePrice* price_of_machine(std::span<const CataloguePrice> catalogue, std::string_view vendor,
                                       std::string_view product) {
  // Only EC2 writes the instance type into the firmware tables; the other clouds write one name for all their machines.
  if (vendor != "Amazon EC2") return nullptr;
  for (const CataloguePrice& price : catalogue)
    if (price.provider == "aws" && product == price.instance) return &price;
  return nullptr;
}

std::string describe(const CataloguePrice& price, bool measured_machine) {
  return "catalogue: " + price.provider + " " + price.instance + " " + price.region + " " + price.as_of +
         (measured_machine ? "" : ", not the machine that was measured");
}

Cost cost_of(const Timing& timing, double usd_per_hour, std::string price_source) {
  constexpr double kSecondsPerHour = 3600;
  return {usd_per_hour, usd_per_hour * timing.epoch_seconds / kSecondsPerHour,
          usd_per_hour * timing.wall_seconds / kSecondsPerHour, std::move(price_source)};
}

}  // namespace epochbench
