#include "src/analysis/cost/local_cost.h"

#include <cmath>
#include <map>
#include <utility>

#include "src/analysis/series.h"
#include "src/base/text.h"
#include "src/result/load.h"

namespace epochbench {
namespace {

constexpr double kMonthsAYear = 12, kWattsAKilowatt = 1000, kSecondsAnHour = 3600;

bool usable(const std::optional<double>& value) { return value && std::isfinite(*value) && *value >= 0; }
bool above_zero(const std::optional<double>& value) { return usable(value) && *value > 0; }

Amount amount(double value) {
  if (std::isfinite(value)) return {value, ""};
  return {std::nullopt, "the numbers are too large to compute with"};
}

Amount missing(const std::vector<std::string>& what) { return {std::nullopt, "not known: " + joined(what)}; }

std::vector<std::string> unknowns(const LocalMachine& machine) {
  std::vector<std::string> list;
  if (!usable(machine.purchase_usd)) list.emplace_back("purchase price (--purchase)");
  if (!above_zero(machine.lifetime_years)) list.emplace_back("lifetime (--lifetime)");
  if (!usable(machine.power_watts)) list.emplace_back("power draw (no meter of the whole machine; --power)");
  if (!usable(machine.usd_per_kwh)) list.emplace_back("price of electricity (--electricity)");
  return list;
}

std::vector<std::string> unknowns(const CloudMachine& machine) {
  std::vector<std::string> list;
  if (!above_zero(machine.usd_per_hour)) list.emplace_back("price of the cloud machine (--cloud)");
  if (!above_zero(machine.speed)) list.emplace_back("speed of the cloud machine (--cloud-speed)");
  return list;
}

// For a machine without unknowns, in USD: the cost per month of owning it, and per hour of work and of rest.
struct Rates {
  double owning, work, idle;
};
Rates rates_of(const LocalMachine& machine) {
  const double usd_per_watt_hour = *machine.usd_per_kwh / kWattsAKilowatt;
  return {*machine.purchase_usd / (kMonthsAYear * *machine.lifetime_years), usd_per_watt_hour * *machine.power_watts,
          usd_per_watt_hour * (usable(machine.idle_watts) ? *machine.idle_watts : 0)};
}

// Without a reason if these hours have a cost.
template <class Machine>
Amount why_no_month(const Machine& machine, double hours) {
  if (const auto list = unknowns(machine); !list.empty()) return missing(list);
  return {std::nullopt, hours >= 0 && hours <= kHoursAMonth ? "" : "a month has 0 to 730 hours"};
}

// `usd_per_hour` for this many seconds.
Amount for_seconds(const Amount& usd_per_hour, const Amount& seconds) {
  if (!seconds.value) return seconds;
  if (!usd_per_hour.value) return usd_per_hour;
  const double usd_per_second = *usd_per_hour.value / kSecondsAnHour;
  Amount cost = amount(usd_per_second * *seconds.value);
  if (cost.value == 0 && *usd_per_hour.value > 0) return {std::nullopt, "the numbers are too small to compute with"};
  for (const auto ends : {&Amount::ci95, &Amount::range})
    if (const auto& of_seconds = seconds.*ends; of_seconds && std::isfinite(usd_per_second * of_seconds->second))
      cost.*ends = {usd_per_second * of_seconds->first, usd_per_second * of_seconds->second};
  return cost;
}

// The given power, or what the runs' meters measured.
void fill_watts(std::optional<double>& watts, std::string& source, const std::vector<const Run*>& runs,
                std::optional<double> Energy::*member) {
  if (watts) {
    source = "given";
    return;
  }
  for (const Run* run : runs)
    if (run->energy && above_zero((*run->energy).*member)) source = std::string("measured: ") + name(run->energy->source);
  const std::vector<double> measured = known_values(runs, [&](const Run* run) {
    const auto value = member_of(run->energy, member);
    return above_zero(value) ? value : std::nullopt;
  });
  if (!measured.empty()) watts = amount(geometric_mean_estimate(measured).value).value;
}

void fill_cloud(RunCost& cost, const std::vector<const Run*>& runs) {
  if (cost.cloud.usd_per_hour) return;
  for (const Run* run : runs)
    if (run->cost && in_usd(*run->cost) && above_zero(run->cost->usd_per_hour)) {
      cost.cloud.usd_per_hour = run->cost->usd_per_hour;
      cost.cloud_source = "of the result: " + (run->cost->price_source ? price_text(*run->cost) : "unknown source");
      return;
    }
}

// Adds why the run's own price does not count, if its currency is the reason.
Amount explained(Amount amount, const RunCost& cost, const std::vector<const Run*>& runs) {
  const Run& run = *runs.front();
  if (!amount.value && !cost.cloud.usd_per_hour && run.cost && !in_usd(*run.cost))
    amount.reason += "; that of the result is in " + *run.cost->currency;
  return amount;
}

void fill_epoch(RunCost& cost, const std::vector<const Run*>& runs) {
  std::vector<double> epochs;
  for (const Run* run : runs)
    if (above_zero(run->timing->epoch_seconds)) epochs.push_back(run->timing->epoch_seconds);
  const Estimate estimate = geometric_mean_estimate(epochs);
  cost.interval_reason = estimate.reason;
  if (epochs.empty() || !std::isfinite(estimate.value)) {
    cost.epoch_seconds = {std::nullopt, epochs.empty() ? "the result has no time of an epoch" : estimate.reason};
    return;
  }
  cost.epoch_seconds = amount(estimate.value);
  cost.epoch_seconds.ci95 = estimate.ci95;
  cost.epoch_seconds.range = estimate_of_groups(epochs).ends(Spread::range);
  const auto first = summarize(runs, kFirstEpochTime);
  cost.first_epoch_seconds = first ? amount(first->value) : Amount{std::nullopt, "the result has no time of compiling"};
}

// `time`: what the runs took to reach a quality; nullptr if they did not train to one.
RunCost cost_of_group(const std::vector<const Run*>& runs, const TimeToQuality* time, const RentOrBuy& question) {
  RunCost cost;
  cost.name = name_of(runs);
  cost.repetitions = static_cast<int>(runs.size());
  cost.loaded = any_disturbed(runs);
  cost.epoch_kind = runs.front()->timing->epoch_kind;
  cost.workload = runs.front()->workload;
  fill_epoch(cost, runs);
  cost.local = question.local;
  cost.cloud = question.cloud;
  cost.cloud_source = question.cloud_source;
  fill_watts(cost.local.power_watts, cost.power_source, runs, &Energy::average_watts);
  fill_watts(cost.local.idle_watts, cost.idle_source, runs, &Energy::idle_watts);
  fill_cloud(cost, runs);
  const Amount local_hour = local_usd_per_hour(cost.local, question.utilization);
  const Amount cloud_hour = cloud_usd_per_month(cost.cloud, 1);
  cost.local_usd_per_epoch = for_seconds(local_hour, cost.epoch_seconds);
  cost.cloud_usd_per_epoch = explained(for_seconds(cloud_hour, cost.epoch_seconds), cost, runs);
  cost.local_first_epoch_usd = for_seconds(local_hour, cost.first_epoch_seconds);
  cost.cloud_first_epoch_usd = explained(for_seconds(cloud_hour, cost.first_epoch_seconds), cost, runs);
  cost.break_even_hours_per_month = explained(break_even_hours(cost.local, cost.cloud), cost, runs);
  if (time) {
    const Amount seconds = time->seconds.value ? amount(*time->seconds.value) : Amount{std::nullopt, median_reason(*time)};
    const Amount first = time->seconds.value && time->first_use_seconds
                             ? amount(*time->seconds.value + *time->first_use_seconds)
                             : Amount{std::nullopt, "what precedes the first use is not known, or part of the time"};
    cost.quality = {*time, for_seconds(local_hour, seconds), for_seconds(cloud_hour, seconds), for_seconds(local_hour, first),
                    for_seconds(cloud_hour, first)};
  }
  return cost;
}

}  // namespace

Amount local_usd_per_month(const LocalMachine& machine, double hours) {
  if (const Amount none = why_no_month(machine, hours); !none.reason.empty()) return none;
  const Rates rates = rates_of(machine);
  return amount(rates.owning + rates.work * hours + rates.idle * (kHoursAMonth - hours));
}

Amount cloud_usd_per_month(const CloudMachine& machine, double hours) {
  if (const Amount none = why_no_month(machine, hours); !none.reason.empty()) return none;
  return amount(*machine.usd_per_hour * hours / machine.speed);
}

Amount local_usd_per_hour(const LocalMachine& machine, double utilization) {
  if (!(utilization > 0 && utilization <= 1))
    return {std::nullopt, "a machine that never works has no cost for an hour of work"};
  const Amount month = local_usd_per_month(machine, kHoursAMonth * utilization);
  return month.value ? amount(*month.value / (kHoursAMonth * utilization)) : month;
}

Amount break_even_hours(const LocalMachine& local, const CloudMachine& cloud) {
  std::vector<std::string> list = unknowns(local);
  for (std::string& what : unknowns(cloud)) list.push_back(std::move(what));
  if (!list.empty()) return missing(list);
  const Rates rates = rates_of(local);
  const double fixed = rates.owning + rates.idle * kHoursAMonth;  // even without any work
  const double saved_an_hour = *cloud.usd_per_hour / cloud.speed - (rates.work - rates.idle);
  if (!std::isfinite(saved_an_hour) || !std::isfinite(fixed)) return amount(saved_an_hour + fixed);
  if (fixed <= 0)
    return saved_an_hour > 0 ? Amount{std::nullopt, "no break-even: without a purchase price local is cheaper at any hours"}
                             : Amount{std::nullopt, "no break-even: electricity alone costs what the cloud does, or more"};
  if (saved_an_hour <= 0)
    return {std::nullopt, "no break-even: the cloud is always cheaper, an hour of it costs no more than the electricity"};
  const double hours = fixed / saved_an_hour;
  if (hours > kHoursAMonth) return {std::nullopt, "no break-even: the cloud is always cheaper, even at 730 h per month"};
  return amount(hours);
}

std::vector<RunCost> rent_or_buy(std::span<const Run> runs, const RentOrBuy& question) {
  const std::vector<TimeToQuality> times = times_to_quality(runs);
  std::map<std::string, const TimeToQuality*> time_of;
  for (const TimeToQuality& time : times) time_of.emplace(time.name, &time);
  std::vector<RunCost> costs;
  const auto counts = [](const Run& run) { return run.status == RunStatus::ok && run.timing; };
  for (const RunGroup& group : runs_by_case(runs, counts)) {
    const auto time = time_of.find(group.runs.front()->name);
    costs.push_back(cost_of_group(group.runs, time == time_of.end() ? nullptr : time->second, question));
  }
  return costs;
}

}  // namespace epochbench
