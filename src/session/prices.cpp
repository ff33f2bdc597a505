#include "src/session/prices.h"

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
  throw CallError("'" + text + "' is neither USD an hour nor an instance of the catalog (epochbench list prices)");
}

const PriceCatalog& embedded_prices() {
  static const PriceCatalog catalog = [] {
    const char* path = "bench/prices.json";
    return parse_prices(embedded_file(path).value_or(""), path);
  }();
  return catalog;
}

Prices::Prices(const std::string& option, Day today) {
  const CatalogPrice* here = price_of_machine(embedded_prices().prices, system_vendor(), product_name());
  if (here) machine_ = HourlyPrice{here->usd_per_hour, describe(*here, true, today)};
  if (option.empty()) return;
  for (const std::string& part : split_list(option)) {
    const auto equals = part.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size())
      throw CallError("--price: '" + part +
                      "' must be DEVICE=USD_PER_HOUR, such as cpu=0.34, or DEVICE=INSTANCE, such as cpu=c7i.4xlarge");
    std::string device = part.substr(0, equals);
    const std::string value = part.substr(equals + 1);
    try {
      const DeviceId one = parse_device(device);
      if (device != name(DeviceKind::cuda)) device = to_string(one);
      const auto [usd_per_hour, row] = parse_price(value);
      by_device_[device] = {usd_per_hour, row ? describe(*row, row == here, today) : "user"};
    } catch (const CallError& error) {
      throw CallError("--price: " + std::string(error.what()));
    }
  }
}

std::optional<Cost> Prices::cost(DeviceId device, const Timing& timing) const {
  auto found = by_device_.find(to_string(device));
  if (found == by_device_.end()) found = by_device_.find(name(device.kind));
  if (found != by_device_.end()) return cost_of(timing, found->second.usd_per_hour, found->second.source);
  if (machine_) return cost_of(timing, machine_->usd_per_hour, machine_->source);
  return std::nullopt;
}

}  // namespace epochbench
