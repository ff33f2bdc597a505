#include "src/report/price_catalogue.h"

#include "src/report/json_text.h"

namespace epochbench {

PriceCatalogue parse_prices(std::string_view text, const std::string& source) {
  const Json document = parse_json(text, source);
  const JsonFields fields(document, source);
  PriceCatalogue catalogue;
  catalogue.note = fields.text("note");
  for (const JsonFields& row : fields.groups("prices")) {
    CataloguePrice price;
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
    price.source = row.text("source");
    price.as_of = row.text("as_of");
    catalogue.prices.push_back(std::move(price));
  }
  return catalogue;
}

}  // namespace epochbench
