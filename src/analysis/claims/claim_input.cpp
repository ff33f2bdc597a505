// The claim about a device's input, from the groups that the table of a run shows (input_pipeline.h).
#include <algorithm>

#include "src/analysis/claims/claim_kinds.h"
#include "src/analysis/input/input_pipeline.h"

namespace epochbench {
namespace {

// Of the rows that decode while steps run the one that is fed worst; null where none knows its utilization.
const InputRow* starved_row(const InputGroup& group) {
  const InputRow* worst = nullptr;
  for (const InputRow& row : group.rows)
    if (row.input.cache != "decoded" && row.utilization && (!worst || *row.utilization < *worst->utilization)) worst = &row;
  return worst;
}

bool suits(const InputGroup& group, const RunChoice& choice, const std::string& backend, const std::string& model) {
  const bool chosen = std::find(choice.precisions.begin(), choice.precisions.end(), group.precision) != choice.precisions.end();
  return chosen && group.model == model && group.backend == backend && group.mode == choice.mode &&
         group.decode_cost_seconds > 0 && group.decoded && starved_row(group);
}

std::size_t repetitions_of(const InputGroup& group) {
  return std::min(starved_row(group)->samples_per_second.size(), group.rows[*group.decoded].samples_per_second.size());
}

// On the first backend that has one, of the first such model; of several the one with most repetitions.
std::optional<InputGroup> group_for(const ClaimQuantity& quantity, const Evidence& evidence) {
  for (const std::string& backend : quantity.of.backends)
    for (const std::string& model : quantity.models) {
      std::optional<InputGroup> best;
      for (const auto& [path, result] : evidence.results)
        for (InputGroup& group : input_groups(result))
          if (suits(group, quantity.of, backend, model) && (!best || repetitions_of(group) > repetitions_of(*best)))
            best = std::move(group);
      if (best) return best;
    }
  return std::nullopt;
}

}  // namespace

Answers answer_input(const ClaimQuantity& quantity, const Evidence& evidence) {
  const std::optional<InputGroup> group = group_for(quantity, evidence);
  if (!group)
    return {unanswered(quantity, "",
                       "needs runs with slow decoding, beside others of decoded data: " +
                           why_missing(evidence, quantity.of, quantity.models.front()))};
  const InputRow &starved = *starved_row(*group), &decoded = group->rows[*group->decoded];
  const std::string repetitions = std::to_string(repetitions_of(*group)) + " repetitions";
  if (quantity.measure == "gain")
    return {answered(quantity, "", ratio_estimate(starved.samples_per_second, decoded.samples_per_second),
                     decoded.name + ", against " + starved.name + "; " + repetitions)};
  const InputRow& row = quantity.measure == "decoded" ? decoded : starved;
  return {answered(quantity, "", arithmetic_mean_estimate(row.utilizations, kFewestRepetitions, "repetitions"),
                   row.name + "; " + repetitions)};
}

}  // namespace epochbench
