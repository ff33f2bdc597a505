// The claim about a device's input, from the groups that a run's own table shows (feeding.h).
#include <algorithm>

#include "src/analysis/claims/claim_kinds.h"
#include "src/analysis/input/feeding.h"

namespace epochbench {
namespace {

// Of the rows that decode while steps run the one that is fed worst; null where none knows its utilization.
const FeedingRow* starved_row(const FeedingGroup& group) {
  const FeedingRow* worst = nullptr;
  for (const FeedingRow& row : group.rows)
    if (row.input.cache != "decoded" && row.utilization && (!worst || *row.utilization < *worst->utilization)) worst = &row;
  return worst;
}

bool suits(const FeedingGroup& group, const RunChoice& choice, const std::string& backend, const std::string& model) {
  const bool chosen = std::any_of(choice.precisions.begin(), choice.precisions.end(), [&](const std::string& precision) {
    return group.workload.rfind(model + "/" + backend + "/" + precision + "/", 0) == 0;
  });
  return chosen && group.mode == choice.mode && group.decode_cost_seconds > 0 && group.decoded && starved_row(group);
}

std::size_t repetitions_of(const FeedingGroup& group) {
  return std::min(starved_row(group)->samples_per_second.size(), group.rows[*group.decoded].samples_per_second.size());
}

// On the first backend that has one, of the first such model; of several the one with most repetitions.
std::optional<FeedingGroup> group_for(const ClaimQuantity& quantity, const Evidence& evidence) {
  for (const std::string& backend : quantity.of.backends)
    for (const std::string& model : quantity.models) {
      std::optional<FeedingGroup> best;
      for (const auto& [path, result] : evidence.results)
        for (FeedingGroup& group : feeding(result))
          if (suits(group, quantity.of, backend, model) && (!best || repetitions_of(group) > repetitions_of(*best)))
            best = std::move(group);
      if (best) return best;
    }
  return std::nullopt;
}

}  // namespace

Answers answer_feeding(const ClaimQuantity& quantity, const Evidence& evidence) {
  const std::optional<FeedingGroup> group = group_for(quantity, evidence);
  if (!group)
    return {unanswered(quantity, "",
                       "needs runs with slow decoding, beside others of decoded data: " +
                           why_missing(evidence, quantity.of, quantity.models.front()))};
  const FeedingRow &starved = *starved_row(*group), &decoded = group->rows[*group->decoded];
  const std::string repetitions = std::to_string(repetitions_of(*group)) + " repetitions";
  if (quantity.measure == "gain")
    return {answered(quantity, "", ratio_estimate(starved.samples_per_second, decoded.samples_per_second),
                     decoded.name + ", against " + starved.name + "; " + repetitions)};
  const FeedingRow& row = quantity.measure == "decoded" ? decoded : starved;
  return {answered(quantity, "", arithmetic_mean_estimate(row.utilizations, kFewestRepetitions, "repetitions"),
                   row.name + "; " + repetitions)};
}

}  // namespace epochbench
