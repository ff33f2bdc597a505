#include "src/session/prices.h"

#include <algorithm>

#include "epochbench/embedded.h"
#include "src/base/errors.h"
#include "src/base/numbers.h"
#include "src/machine/environment.h"

namespace epochbench {
namespace {

constexpr double kMaxUsdPerHour = 1e6;

bool looks_like_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.+-eE") == std::string::npos;
}

}  // namespace

Day today() { return std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()); }

AskedPrice parse_price(const std::string& text) {
  if (const CatalogPrice* row = find_price(embedded_prices().prices, text)) return {row->usd_per_hour, row};
  if (looks_like_number(text)) return {parse_real(text, {0, kMaxUsdPerHour, false, true}), nullptr};
  std::vector<std::string> instances;
  for (const CatalogPrice& price : embedded_prices().prices) instances.push_back(price.instance);
  instances.erase(std::unique(instances.begin(), instances.end()), instances.end());
  throw CallError("'" + text + "' is neither USD per hour nor an instance of the catalog (epochbench list prices)" +
                  did_you_mean(text, instances));
}

const PriceCatalog& embedded_prices() {
  constexpr const char* kPath = "bench/prices.json";
  static const PriceCatalog catalog = parse_prices(embedded_file(kPath).value_or(""), kPath);
  return catalog;
}

Prices::Prices(const std::string& option, Day today) {
  const CatalogPrice* here = price_of_machine(embedded_prices().prices, system_vendor(), product_name());
  if (here) by_device_[""] = {here->usd_per_hour, describe(*here, true, today)};
  if (option.empty()) return;
  for (const std::string& part : split_list(option)) {
    const auto equals = part.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size())
      throw CallError("--price: '" + part +
                      "' must be DEVICE=USD_PER_HOUR, such as cpu=0.34, or DEVICE=INSTANCE, such as cpu=c7i.4xlarge");
    located("--price", [&] {
      std::string device = part.substr(0, equals);
      const DeviceId one = parse_device(device);
      if (device != name(DeviceKind::cuda)) device = to_string(one);
      const auto [usd_per_hour, row] = parse_price(part.substr(equals + 1));
      by_device_[device] = {usd_per_hour, row ? describe(*row, row == here, today) : "user"};
    });
  }
}

std::optional<Cost> Prices::cost(DeviceId device, const Timing& timing) const {
  for (const std::string& key : {to_string(device), std::string(name(device.kind)), std::string()})
    if (const auto found = by_device_.find(key); found != by_device_.end())
      return cost_of(timing, found->second.usd_per_hour, found->second.source);
  return std::nullopt;
}

}  // namespace epochbench
