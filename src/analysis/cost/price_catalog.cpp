#include "src/analysis/cost/price_catalog.h"

#include "src/base/json.h"

namespace epochbench {

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
    catalog.prices.push_back(std::move(price));
  }
  return catalog;
}

}  // namespace epochbench
