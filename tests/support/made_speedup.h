// What tests of speedup share: results that are changed a little, and an answer's parts as text.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "src/analysis/speedup/speedup.h"
#include "support/made_results.h"

namespace epochbench {

inline const std::vector<MadeRun> kCleanPair{{"cpu", "fp32", 100}, {"cuda", "fp32", 800}};

using ResultChange = std::function<void(NamedResult&)>;

// `change` of all runs of a backend, in every repetition.
inline ResultChange of_backend(BackendKind backend, std::function<void(Run&)> change) {
  return [backend, change = std::move(change)](NamedResult& named) {
    for (Run& run : named.result.runs)
      if (run.device.backend == backend) change(run);
  };
}
inline ResultChange cpu(std::function<void(Run&)> change) { return of_backend(BackendKind::cpu, std::move(change)); }
inline ResultChange gpu(std::function<void(Run&)> change) { return of_backend(BackendKind::cuda, std::move(change)); }

inline Speedup speedup_of_runs(const std::vector<MadeRun>& runs, SpeedupOf what = SpeedupOf::same_batch) {
  return speedup_of({made_result("a.json", "host", runs)}, what);
}

// "contender : baseline" of each pair.
inline std::vector<std::string> pairs_of(const Speedup& speedup) {
  std::vector<std::string> pairs;
  for (const SpeedupPair& pair : speedup.pairs) pairs.push_back(pair.contender.name + " : " + pair.baseline.name);
  return pairs;
}

inline std::string reason_of(const Speedup& speedup, const std::string& name) {
  for (const Unpaired& unpaired : speedup.unpaired)
    if (unpaired.name == name) return unpaired.reason;
  return "(paired)";
}

inline std::vector<std::string> codes_of(const SpeedupPair& pair) {
  std::vector<std::string> codes;
  for (const Warning& warning : pair.warnings) codes.emplace_back(name(warning.code));
  return codes;
}

}  // namespace epochbench
