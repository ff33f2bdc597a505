#include "src/cli/owning_options.h"

#include "src/base/numbers.h"

namespace epochbench {
namespace {

// Far above what a machine costs or draws, and small enough that no product of them overflows.
constexpr double kMaxUsd = 1e9, kMaxYears = 100, kMaxMachineWatts = 1e7, kMaxUsdPerKwh = 1000, kMaxSpeed = 1e6;

}  // namespace

bool OwningOptions::any_given() const {
  return local.purchase_usd || local.lifetime_years || local.power_watts || local.idle_watts || local.usd_per_kwh || cloud ||
         cloud_speed != 1;
}

void add_owning_options(CLI::App& command, OwningOptions& options) {
  const auto up_to = [](double maximum) { return real({0, maximum}); };
  const auto above_0_up_to = [](double maximum) { return real({0, maximum, false, true}); };
  add_parsed(command, "--purchase", options.local.purchase_usd, up_to(kMaxUsd), "price of the local machine")->type_name("USD");
  add_parsed(command, "--lifetime", options.local.lifetime_years, above_0_up_to(kMaxYears),
             "depreciation period of the local machine, in years")
      ->type_name("YEARS");
  add_parsed(command, "--power", options.local.power_watts, up_to(kMaxMachineWatts),
             "power draw of the local machine at work (default: the result's, if metered)")
      ->type_name("WATTS");
  add_parsed(command, "--idle", options.local.idle_watts, up_to(kMaxMachineWatts),
             "power draw of the local machine in the other hours (default: the result's, if metered)")
      ->type_name("WATTS");
  add_parsed(command, "--electricity", options.local.usd_per_kwh, up_to(kMaxUsdPerKwh), "price of electricity per kWh")
      ->type_name("USD");
  add_parsed(command, "--cloud", options.cloud, parse_price,
             "instance of `list prices`, or USD per hour (default: the result's price)")
      ->type_name("PRICE");
  add_parsed(command, "--cloud-speed", options.cloud_speed, above_0_up_to(kMaxSpeed),
             "samples per second of the cloud machine over those of the local one (default 1)")
      ->type_name("RATIO");
}

}  // namespace epochbench
