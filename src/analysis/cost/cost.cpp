#include "src/analysis/cost/cost.h"

#include <algorithm>
#include <cmath>

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

std::string age_note(const CataloguePrice& price, Day today) {
  const std::optional<Day> as_of = parse_day(price.as_of);
  if (!as_of) return "of an unknown day";
  const int days = days_between(*as_of, today);
  return days > kOldPriceDays ? std::to_string(days) + " days old" : "";
}

std::string describe(const CataloguePrice& price, bool measured_machine, Day today) {
  std::string text = "catalogue: " + price.provider + " " + price.instance + " " + price.region + " " + price.as_of;
  if (price.gpu_count > 1) text += ", whole instance of " + std::to_string(price.gpu_count) + " GPUs";
  if (const std::string age = age_note(price, today); !age.empty()) text += ", " + age;
  return text + (measured_machine ? "" : ", not the machine that was measured");
}

std::vector<TimeToQuality> times_to_quality(std::span<const Run> runs) {
  std::vector<TimeToQuality> times;  // sums, until all runs are seen
  for (const Run& run : runs) {
    if (run.status != RunStatus::ok || !run.timing || run.timing->stopped_by != "until" || !run.quality) continue;
    const Quality& quality = *run.quality;
    if (!quality.eval_metric || !quality.eval_value || !std::isfinite(*quality.eval_value) || !(run.timing->wall_seconds > 0))
      continue;
    auto known = std::find_if(times.begin(), times.end(), [&](const TimeToQuality& time) { return time.name == run.name; });
    if (known == times.end()) known = times.insert(times.end(), {run.name, *quality.eval_metric, 0, 0, 0, 0.0, 0});
    ++known->repetitions;
    known->reached += *quality.eval_value;
    known->seconds += run.timing->wall_seconds;
    const std::optional<double> usd = run.cost && in_usd(*run.cost) ? run.cost->usd_total : std::nullopt;
    known->usd = known->usd && usd ? std::optional(*known->usd + *usd) : std::nullopt;
  }
  for (TimeToQuality& time : times) {
    time.not_reached = static_cast<int>(std::count_if(runs.begin(), runs.end(), [&](const Run& run) {
      return run.name == time.name && run.status == RunStatus::ok && run.timing && run.timing->stopped_by != "until";
    }));
    time.reached /= time.repetitions;
    time.seconds /= time.repetitions;
    if (time.usd) *time.usd /= time.repetitions;
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
