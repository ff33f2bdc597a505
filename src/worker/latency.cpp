#include "src/worker/latency.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "src/base/statistics.h"

namespace epochbench {

Latency latency_of(std::vector<double> step_seconds) {
  if (step_seconds.empty()) throw std::invalid_argument("latencies of no steps");
  std::vector<double> sorted = step_seconds;
  std::sort(sorted.begin(), sorted.end());
  const auto quantile_of = [&](double q, std::size_t least) {
    return sorted.size() < least ? std::nullopt : std::optional(quantile(sorted, q));
  };
  Latency latency;
  latency.samples = static_cast<std::int64_t>(sorted.size());
  latency.p50_seconds = quantile_of(0.5, 2);
  latency.p90_seconds = quantile_of(0.9, 10);
  latency.p99_seconds = quantile_of(0.99, 100);
  latency.worst_seconds = sorted.back();
  latency.step_seconds = std::move(step_seconds);
  return latency;
}

}  // namespace epochbench
