// The points of a curve as tests make them up: runs without a price, and with one rate a repetition.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/made_results.h"

namespace epochbench {

// "m/cpu/fp32/b16/threads=1" and the like. 20 steps; without a threads= among the settings, a CPU's run has 8.
inline Run made_point(const std::string& backend, const std::string& precision, std::int64_t batch, double rate,
                      const std::string& settings = "", const std::string& model = "m", int repetition = 0) {
  Run run = made_run({backend, precision, rate, batch, settings, model}, repetition);
  run.cost.reset();
  return run;
}

inline std::vector<Run> made_batch(const std::string& backend, const std::string& precision, std::int64_t batch,
                                   const std::vector<double>& rates) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < rates.size(); ++i)
    runs.push_back(made_point(backend, precision, batch, rates[i], "", "m", static_cast<int>(i)));
  return runs;
}

inline Run failed(Run run, RunStatus status) {
  run.status = status;
  run.timing.reset();
  run.throughput.reset();
  run.efficiency.reset();
  return run;
}

inline void add(Result& result, const std::vector<Run>& runs) {
  result.runs.insert(result.runs.end(), runs.begin(), runs.end());
}

}  // namespace epochbench
