// What a run costs: pure functions over its times and an hourly price.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epochbench/result.h"

namespace epochbench {

// A row of bench/prices.json: what a cloud asked for an instance on a date.
struct CataloguePrice {
  std::string provider, instance, region;  // "aws", "c7i.4xlarge", "us-east-1"
  double usd_per_hour = 0;                 // on demand, Linux, the whole instance
  int vcpus = 0;
  std::string gpu_model;  // "" without a GPU
  int gpu_count = 0;
  std::string source, as_of;  // where the figure stands, and the day on which it stood there
};

// By "c7i.4xlarge" or "aws/c7i.4xlarge"; nullptr if there is none.
const CataloguePrice* find_price(std::span<const CataloguePrice> catalogue, std::string_view name);

// The instance that the firmware's vendor and product name identify; nullptr if they identify none.
const CataloguePrice* price_of_machine(std::span<const CataloguePrice> catalogue, std::string_view vendor,
                                       std::string_view product);

// "catalogue: aws c7i.4xlarge us-east-1 2026-05-01", and for another machine ", not the machine that was measured".
std::string describe(const CataloguePrice& price, bool measured_machine);

// usd_per_epoch from the epoch's seconds, usd_total from all the wall time.
Cost cost_of(const Timing& timing, double usd_per_hour, std::string price_source);

}  // namespace epochbench
