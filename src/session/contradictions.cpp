#include "src/session/contradictions.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "epochbench/model.h"
#include "src/analysis/series.h"
#include "src/analysis/verify/agreement.h"
#include "src/base/numbers.h"
#include "src/session/prices.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

// "mlp:depth=2,width=64"
std::string model_with_options(const Workload& work) {
  std::string text = work.model;
  for (const auto& [option, value] : work.options)
    text += (text == work.model ? ":" : ",") + option + "=" + std::to_string(value);
  return text;
}

// Empty if this build cannot make the model.
std::optional<Counts> known_counts(const Run& run) {
  if (run.workload.batch < 1) return std::nullopt;
  CaseSpec spec;
  spec.batch = run.workload.batch;
  spec.mode = run.workload.mode;
  try {
    spec.model = find_model(model_with_options(run.workload));
    return count(workload_spec(spec));
  } catch (const std::exception&) {  // a model or an option of another version
    return std::nullopt;
  }
}

// Models are made once per workload. Another fingerprint is that of another version, or of settings that change the work.
class KnownModels {
 public:
  std::string contradiction(const Run& run) {
    const Workload& work = run.workload;
    if (work.fingerprint.empty()) return "";
    const auto [place, is_new] = counts_.try_emplace({model_with_options(work), work.mode, work.batch});
    if (is_new) place->second = known_counts(run);
    const auto& counts = place->second;
    if (!counts || counts->fingerprint != work.fingerprint) return "";
    if (counts->parameters != work.parameters)
      return "it has " + format_count(work.parameters) + " parameters, but " + work.model + " has " +
             format_count(counts->parameters);
    return agree(work.train_flops_per_sample, counts->train_flops_per_sample)
               ? ""
               : "it counts " + format_si(work.train_flops_per_sample, "FLOP") + " per sample, but " + work.model + " takes " +
                     format_si(counts->train_flops_per_sample, "FLOP");
  }

 private:
  std::map<std::tuple<std::string, Mode, std::int64_t>, std::optional<Counts>> counts_;  // by model, mode, batch
};

bool is_ok(const Run& run) { return run.status == RunStatus::ok; }

}  // namespace

std::vector<Contradiction> find_contradictions(const Result& result) {
  KnownModels models;
  return contradictions_in(
      result, {embedded_devices(), embedded_prices().prices, [&](const Run& run) { return models.contradiction(run); }});
}

std::vector<std::string> leave_out_contradictions(Result& result) {
  std::map<const Run*, Contradiction> reasons;  // the first of each run
  for (const Contradiction& found : find_contradictions(result)) reasons.try_emplace(&result.runs[found.place], found);
  std::vector<std::string> cases;
  if (reasons.empty()) return cases;
  for (const RunGroup& group : runs_by_case(result.runs, is_ok)) {
    const auto first = std::ranges::find_if(group.runs, [&](const Run* run) { return reasons.contains(run); });
    if (first == group.runs.end()) continue;
    const auto& [place, key, text] = reasons.at(*first);
    const bool of_one = group.runs.size() > 1 && key != kRepetitionNumbers;
    const std::string reason = (of_one ? "repetition " + std::to_string((*first)->repetition) + ": " : "") + text;
    cases.push_back(group.name + " contradicts itself: " + reason);
    for (const Run* run : group.runs) {
      Run& changed = result.runs[static_cast<std::size_t>(run - result.runs.data())];
      changed.status = RunStatus::contradicts_itself;
      changed.message = reason;
    }
  }
  return cases;
}

std::vector<std::string> leave_out_contradictions(TurnsDocument& document) {
  std::vector<std::string> cases;
  for (const Contradiction& found : contradictions_in(document)) {
    TurnsCase& turns = document.cases[found.place];
    if (turns.skipped) continue;
    turns.skipped = "contradicts itself: " + found.text;
    turns.pairs.clear();
    cases.push_back(turns.name + " " + *turns.skipped);
  }
  return cases;
}

}  // namespace epochbench
