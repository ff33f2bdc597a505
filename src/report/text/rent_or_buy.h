// The answer of `epochbench cost`: local against cloud, as text with every assumption in it, and as JSON.
#pragma once

#include <string>
#include <vector>

#include "src/analysis/cost/local_cost.h"
#include "src/base/json.h"

namespace epochbench {

struct RentOrBuyAnswer {
  RentOrBuy question;
  bool utilization_given = false;
  std::string measured_on;    // "AMD EPYC, 2026-11-21"; empty: no result was given, the answer is about hours alone
  std::vector<RunCost> runs;  // of the result
};

std::string rent_or_buy_text(const RentOrBuyAnswer& answer);

// assumptions{…}, runs[]{name, repetitions, epoch_seconds, …}, months[]{hours, local_usd, cloud_usd} and
// break_even_hours_per_month (both of hours alone, so null where runs bring power of their own); each figure that is null has
// its reason beside it as <key>_reason. Of an epoch: <key>_ci95, or null and interval_reason.
Json rent_or_buy_json(const RentOrBuyAnswer& answer);

}  // namespace epochbench
