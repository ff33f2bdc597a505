#include "src/analysis/cost/cost.h"

#include <cmath>
#include <utility>

#include "src/analysis/series.h"
#include "src/base/json_fields.h"

namespace epochbench {
namespace {

bool is_timed(const Run& run) { return run.status == RunStatus::ok && run.timing; }

bool has_reached_quality(const Run& run) {
  return run.quality && run.quality->eval_metric && run.quality->eval_value && std::isfinite(*run.quality->eval_value) &&
         run.timing->wall_seconds > 0;
}

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

std::string age_note(const CatalogPrice& price, Day today) {
  const std::optional<Day> as_of = parse_day(price.as_of);
  if (!as_of) return "of an unknown day";
  const int days = days_between(*as_of, today);
  return days > kOldPriceDays ? std::to_string(days) + " days old" : "";
}

std::string describe(const CatalogPrice& price, bool measured_machine, Day today) {
  std::string text = "catalog: " + price.provider + " " + price.instance + " " + price.region + " " + price.as_of;
  if (price.gpu_count > 1) text += ", whole instance of " + std::to_string(price.gpu_count) + " GPUs";
  if (const std::string age = age_note(price, today); !age.empty()) text += ", " + age;
  return text + (measured_machine ? "" : ", not the machine that was measured");
}

std::vector<TimeToQuality> times_to_quality(std::span<const Run> runs) {
  std::vector<TimeToQuality> times;
  for (const RunGroup& group : runs_by_name(runs, is_timed)) {
    const Run* first = nullptr;
    TimeToQuality time{group.name, "", 0, 0, 0, 0.0, 0};
    for (const Run* run : group.runs) {
      if (run->timing->stopped_by != "until") {
        ++time.not_reached;
        continue;
      }
      if (!has_reached_quality(*run)) continue;
      if (!first) first = run;
      ++time.repetitions;
      time.reached += *run->quality->eval_value;
      time.seconds += run->timing->wall_seconds;
      const std::optional<double> usd = run->cost && in_usd(*run->cost) ? run->cost->usd_total : std::nullopt;
      time.usd = time.usd && usd ? std::optional(*time.usd + *usd) : std::nullopt;
    }
    if (!first) continue;
    time.metric = *first->quality->eval_metric;
    time.reached /= time.repetitions;
    time.seconds /= time.repetitions;
    if (time.usd) *time.usd /= time.repetitions;
    times.push_back(std::move(time));
  }
  return times;
}

bool in_usd(const Cost& cost) { return cost.currency.value_or("USD") == "USD"; }

Cost cost_of(const Timing& timing, double usd_per_hour, std::string price_source) {
  constexpr double kSecondsPerHour = 3600;
  return {usd_per_hour, usd_per_hour * timing.epoch_seconds / kSecondsPerHour,
          usd_per_hour * timing.wall_seconds / kSecondsPerHour, std::move(price_source)};
}

}  // namespace epochbench
