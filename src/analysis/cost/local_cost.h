// A machine that you own against a rented one: what work costs on both, and from how many hours per month owning is cheaper.
// Pure functions; nothing is assumed for an unknown: the answer is then empty and says what is missing.
//
// A month has 730 hours (8,760 / 12). With h hours of work in it, by the own machine's clock:
//
//   local(h)   = purchase / (12 lifetime) + price of a kWh * (power * h + idle * (730 - h)) / 1000     USD per month
//   cloud(h)   = price of an hour * h / speed                    the same work on a machine `speed` times as fast
//   break-even = the h in (0, 730] with local(h) = cloud(h): below it renting is cheaper, above it owning
//   an hour of work = local(730 * utilization) / (730 * utilization)
//
// A cloud machine is paid for while it works, so it has no idle hours here; both sides leave out storage, traffic, discounts,
// cooling, space and labor.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/analysis/cost/cost.h"
#include "src/analysis/time_to_quality.h"
#include "src/figures/estimate.h"
#include "src/result/result.h"

namespace epochbench {

inline constexpr double kHoursAMonth = 730;

struct Amount {  // a number, or why there is none
  std::optional<double> value;
  std::string reason;
  std::optional<std::pair<double, double>> ci95 = {};   // if repetitions gave the number
  std::optional<std::pair<double, double>> range = {};  // likewise, where they are too few for an interval
};

struct LocalMachine {  // empty: not known
  std::optional<double> purchase_usd, lifetime_years, power_watts, usd_per_kwh;
  std::optional<double> idle_watts;  // not known: idle hours draw nothing, so the cost is a lower bound
};

struct CloudMachine {
  std::optional<double> usd_per_hour;
  double speed = 1;  // its throughput over the own machine's; above 0
};

// USD per month with this many hours of work, 0 to 730.
Amount local_usd_per_month(const LocalMachine& machine, double hours);
Amount cloud_usd_per_month(const CloudMachine& machine, double hours);

// USD per hour of work if the machine works this fraction of all hours, 0 to 1.
Amount local_usd_per_hour(const LocalMachine& machine, double utilization);

// Hours of work per month; empty also if one of the two is cheaper at any number of hours; the reason says which.
Amount break_even_hours(const LocalMachine& local, const CloudMachine& cloud);

struct RentOrBuy {
  LocalMachine local;  // if power or idle draw is empty, what a run's meters measured
  CloudMachine cloud;  // if the price is empty, the run's
  std::string cloud_source;
  double utilization = 1;
};

struct QualityCost {  // what the median time costs
  TimeToQuality time;
  Amount local_usd, cloud_usd;
  Amount local_first_usd, cloud_first_usd;  // with what precedes the first use; without a value if it is not known
};

struct RunCost {
  std::string name;
  int repetitions = 0;
  bool loaded = false;  // any of them, by other processes (src/result/load.h)
  // The geometric mean of the repetitions, as in every output (src/figures/summarize.h). The costs of an epoch have its
  // interval or range, with prices and power taken as they are.
  Amount epoch_seconds;
  Amount first_epoch_seconds;   // as in src/figures/figure.h: with compiling and evaluation
  std::string interval_reason;  // why there is none; empty if there is one
  EpochKind epoch_kind = EpochKind::projected;
  Workload workload;  // the first repetition's, which says what an epoch is
  LocalMachine local;
  CloudMachine cloud;
  std::string power_source, idle_source;  // "given", "measured: rapl"; empty if the power is unknown
  std::string cloud_source;
  Amount local_usd_per_epoch, cloud_usd_per_epoch, break_even_hours_per_month;
  Amount local_first_epoch_usd, cloud_first_epoch_usd;
  std::optional<QualityCost> quality;  // if the runs trained to one
};

// One entry per case over its ok runs, in the order of their first runs. Empty without any.
std::vector<RunCost> rent_or_buy(std::span<const Run> runs, const RentOrBuy& question);

}  // namespace epochbench
