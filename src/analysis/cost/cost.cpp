#include "src/analysis/cost/cost.h"

#include <cmath>
#include <utility>

#include "src/base/clock.h"
#include "src/base/json_fields.h"
#include "src/base/numbers.h"
#include "src/figures/figure.h"
#include "src/result/price_source.h"

namespace epochbench {
namespace {

constexpr std::string_view kCatalog = "catalog: ", kOtherMachine = "not the machine that was measured";
}  // namespace

PriceCatalog parse_prices(std::string_view text, const std::string& source) {
  const Json document = parse_json(text, source);
  const JsonFields fields(document, source);
  PriceCatalog catalog;
  catalog.note = fields.text("note");
  for (const JsonFields& row : fields.groups("prices")) {
    CatalogPrice price;
    price.provider = row.text("provider");
    price.instance = row.text("instance");
    price.region = row.text("region");
    price.usd_per_hour = row.number("usd_per_hour");
    if (!(price.usd_per_hour > 0)) throw FormatError(row.path("usd_per_hour") + ": must be above 0");
    price.vcpus = static_cast<int>(row.integer("vcpus"));
    if (const auto gpus = row.maybe_group("gpus")) {
      price.gpu_model = gpus->text("model");
      price.gpu_count = static_cast<int>(gpus->integer("count"));
    }
    if (const std::string currency = row.text("currency"); currency != "USD")
      throw FormatError(row.path("currency") + ": '" + currency.substr(0, 20) +
                        "' must be USD, as every cost here is; convert the price, and name the rate in its source");
    price.source = row.text("source");
    price.as_of = row.text("as_of");
    if (!parse_day(price.as_of)) throw FormatError(row.path("as_of") + ": must be a day, such as 2026-01-19");
    if (const auto spot = row.maybe_group("spot")) {
      price.spot = SpotPrice{spot->number("usd_per_hour"), spot->text("source"), spot->text("as_of")};
      if (!(price.spot->usd_per_hour > 0)) throw FormatError(spot->path("usd_per_hour") + ": must be above 0");
      if (!parse_day(price.spot->as_of)) throw FormatError(spot->path("as_of") + ": must be a day, such as 2026-01-19");
    }
    catalog.prices.push_back(std::move(price));
  }
  return catalog;
}

const CatalogPrice* find_price(std::span<const CatalogPrice> catalog, std::string_view name) {
  for (const CatalogPrice& price : catalog)
    if (name == price.instance || name == price.provider + "/" + price.instance) return &price;
  return nullptr;
}

const CatalogPrice* price_of_machine(std::span<const CatalogPrice> catalog, std::string_view vendor, std::string_view product) {
  // Only EC2 writes the instance type into the firmware tables; the other clouds write one name for all their machines.
  if (vendor != "Amazon EC2") return nullptr;
  for (const CatalogPrice& price : catalog)
    if (price.provider == "aws" && product == price.instance) return &price;
  return nullptr;
}

std::string age_note(const std::string& as_of, Day today) {
  const std::optional<Day> day = parse_day(as_of);
  if (!day) return "of an unknown day";
  const int days = days_between(*day, today);
  return days > kOldPriceDays ? std::to_string(days) + " days old" : "";
}

std::string describe(const CatalogPrice& price, const std::string& share, bool measured_machine, Day today) {
  std::string text = price.list == kGivenPrice
                         ? source_text(kGivenPrice)
                         : price.list + ": " + price.provider + " " + price.instance + " " + price.region + " " + price.as_of;
  for (const std::string& note : {std::string(price.is_spot ? "spot" : ""), share, age_note(price.as_of, today),
                                  std::string(measured_machine ? "" : kOtherMachine)})
    if (!note.empty()) text += ", " + note;
  return text;
}

const CatalogPrice* described_price(std::span<const CatalogPrice> catalog, std::string_view source) {
  if (!source.starts_with(kCatalog)) return nullptr;
  source.remove_prefix(kCatalog.size());
  for (const CatalogPrice& price : catalog)
    if (source.starts_with(price.provider + " " + price.instance + " ")) return &price;
  return nullptr;
}

bool is_of_other_machine(std::string_view source) { return source.find(kOtherMachine) != std::string_view::npos; }

std::string source_text(const std::string& source) { return source == kGivenPrice ? "given with --price" : source; }

std::string price_text(const std::string& source, double usd_per_hour) {
  const auto times = whole_over_share(source);
  if (!times) return source_text(source);
  return labeled_share(source) + "; rented only whole, for " + format_usd(usd_per_hour * *times) + " per hour";
}

std::string price_text(const Cost& cost) {
  if (!cost.price_source) return "";
  return cost.usd_per_hour && in_usd(cost) ? price_text(*cost.price_source, *cost.usd_per_hour)
                                           : source_text(*cost.price_source);
}

Cost cost_of(const Timing& timing, const HourlyPrice& price) {
  const auto for_seconds = [&](double seconds) -> std::optional<double> {
    const double usd = price.usd_per_hour * seconds / kSecondsPerHour;
    return std::isfinite(usd) ? std::optional(usd) : std::nullopt;
  };
  return {price.usd_per_hour, for_seconds(timing.epoch_seconds), for_seconds(timing.wall_seconds), price.source, {},
          price.scaling};
}

}  // namespace epochbench
