// The claim about owning and renting, which asks for more than a result carries: what is missing, and the command for it.
#include "src/analysis/claims/claim_kinds.h"
#include "src/analysis/cost/local_cost.h"
#include "src/base/numbers.h"

namespace epochbench {
namespace {

// The run that knows most of what the answer takes, of the first result that has any.
struct Known {
  std::string path;
  RunCost cost;
};

int figures(const RunCost& cost) { return cost.local.power_watts.has_value() + cost.cloud.usd_per_hour.has_value(); }

Known most_known(const Evidence& evidence) {
  Known known;
  for (const auto& [path, result] : evidence.results)
    for (RunCost& cost : rent_or_buy(result.runs, {}))
      if (known.path.empty() || figures(cost) > figures(known.cost)) known = {path, std::move(cost)};
  return known;
}

}  // namespace

Answers answer_break_even(const ClaimQuantity& quantity, const Evidence& evidence) {
  const auto [path, cost] = most_known(evidence);
  std::string known, command = "epochbench cost";
  if (!path.empty()) command += " " + path;
  command += " --purchase USD --lifetime YEARS --electricity USD_PER_KWH";
  if (cost.local.power_watts)
    known += short_number(*cost.local.power_watts, 3) + " W (" + cost.power_source + ")";
  else
    command += " --power WATTS";
  if (cost.cloud.usd_per_hour)
    known +=
        (known.empty() ? "" : ", ") + short_number(*cost.cloud.usd_per_hour, 3) + " USD per hour (" + cost.cloud_source + ")";
  else
    command += " --cloud PRICE";
  return {unanswered(quantity, "",
                     "needs the user's own figures, which no result carries" +
                         (known.empty() ? std::string() : ", beside " + known + " of " + cost.name) + ": " + command)};
}

}  // namespace epochbench
