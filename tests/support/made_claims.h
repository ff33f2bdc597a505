// Results made up for tests of claims: runs with given rates, and the answer of one claim of the catalog to them.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/analysis/claims/claims.h"
#include "support/made_settings.h"

namespace epochbench {

// A run as a result has it, of so many samples per second.
inline Run run_of(const std::string& model, const std::string& backend, const std::string& precision, std::int64_t batch,
                  double samples_per_second, int repetition, const std::string& settings = "") {
  Run run;
  rename(run, model + "/" + backend + "/" + precision + "/b" + std::to_string(batch) + settings);
  run.repetition = repetition;
  Workload& workload = run.workload;
  workload.model = model;
  workload.mode = Mode::train;
  workload.parameters = 1'000'000;
  workload.fingerprint = model + std::to_string(batch);
  workload.batch = batch;
  workload.dataset = "synthetic";
  workload.samples_per_epoch = 1000;
  run.device.backend = from_name<BackendKind>(backend).value();
  run.device.name = backend == "cuda" ? "NVIDIA H200" : "AMD EPYC";
  if (backend == "cpu") run.device.threads = 2;
  run.precision = from_name<Precision>(precision).value();
  run.throughput = Throughput{samples_per_second, std::nullopt};
  run.timing = Timing{};
  run.timing->epoch_seconds = 1000 / samples_per_second;
  run.timing->wall_seconds = samples_per_second + repetition;  // tells repetitions apart
  return run;
}

// Five repetitions that lie within 1 % of the rate.
inline std::vector<Run> runs_of(const std::string& model, const std::string& backend, const std::string& precision,
                                std::int64_t batch, double samples_per_second, const std::string& settings = "",
                                int repetitions = 5) {
  std::vector<Run> runs;
  for (int i = 0; i < repetitions; ++i)
    runs.push_back(run_of(model, backend, precision, batch, samples_per_second * (1 + 0.002 * (i - 2)), i, settings));
  return runs;
}

inline NamedResult result_of(std::vector<std::vector<Run>> parts) {
  NamedResult named;
  named.path = "made.json";
  named.result.context.cpu.model = "AMD EPYC";
  for (std::vector<Run>& part : parts)
    for (Run& run : part) named.result.runs.push_back(std::move(run));
  return named;
}

// The answer to one claim of the catalog.
inline ClaimAnswer answer_to(const std::string& id, const std::vector<NamedResult>& results) {
  for (const Claim& claim : embedded_claims().claims)
    if (claim.id == id) return judge(std::vector{claim}, results).front();
  throw std::invalid_argument(id);
}

inline ClaimAnswer answer_to(const std::string& id, std::vector<std::vector<Run>> parts) {
  return answer_to(id, std::vector{result_of(std::move(parts))});
}

// The same, as if the claim were about all of its parts.
inline ClaimAnswer answer_about_all(const std::string& id, std::vector<std::vector<Run>> parts) {
  for (Claim claim : embedded_claims().claims) {
    if (claim.id != id) continue;
    claim.holds_for = HoldsFor::all;
    return judge(std::vector{claim}, {result_of(std::move(parts))}).front();
  }
  throw std::invalid_argument(id);
}

inline const ClaimAnswer& part_of(const ClaimAnswer& answer, std::string_view id) {
  for (const ClaimAnswer& part : answer.parts)
    if (part.id == id) return part;
  throw std::invalid_argument(std::string(id));
}

}  // namespace epochbench
