#include "src/analysis/input/decoding.h"

#include <algorithm>

#include "src/analysis/series.h"
#include "src/base/lookup.h"
#include "src/base/statistics.h"

namespace epochbench {
namespace {

bool decodes(const Run& run) {
  return run.status == RunStatus::ok && run.input && run.input->decode_cpu_seconds && run.input->decode_wall_seconds &&
         kThroughput.value(run).value_or(0) > 0;
}

std::optional<double> wait_fraction(const Run& run) { return member_of(run.efficiency, &Efficiency::data_wait_fraction); }

std::optional<double> hidden(const Run& run) {
  const std::optional<double> waits = wait_fraction(run);
  const double threads = std::max(run.input->loader_threads, 1), decoding = *run.input->decode_wall_seconds / threads;
  if (!waits || !(decoding > 0) || run.input->cache == Cache::decoded) return std::nullopt;
  return std::clamp(1 - *waits / *kThroughput.value(run) / decoding, 0.0, 1.0);
}

std::optional<double> device_rate(const Run& run) {
  const std::optional<double> waits = wait_fraction(run);
  return waits && *waits < 1 ? std::optional(*kThroughput.value(run) / (1 - *waits)) : std::nullopt;
}

// Over all repetitions, or unknown.
template <class Get>
std::optional<double> mean_of(const std::vector<const Run*>& runs, const Get& get) {
  const std::vector<double> values = known_values(runs, [&](const Run* run) { return get(*run); });
  return values.size() == runs.size() ? std::optional(mean(values)) : std::nullopt;
}

}  // namespace

std::vector<Decoding> decoding_of(const Result& result) {
  std::vector<Decoding> list;
  for (const RunGroup& group : runs_by_case(result.runs, decodes)) {
    const Run& first = *group.runs.front();
    list.push_back({group.name, first.workload.dataset, first.workload.model, name(first.device.backend), *first.input,
                    *mean_of(group.runs, [](const Run& run) { return run.input->decode_cpu_seconds; }),
                    *mean_of(group.runs, [](const Run& run) { return run.input->decode_wall_seconds; }),
                    mean_of(group.runs, hidden), mean_of(group.runs, device_rate)});
  }
  return list;
}

std::vector<const Decoding*> most_costly(const std::vector<Decoding>& decodings) {
  const auto is_real = [](const Decoding& decoding) { return decoding.input.files && decoding.input.decode_cost_seconds == 0; };
  const bool any_real = std::ranges::any_of(decodings, is_real);
  std::vector<const Decoding*> most;
  for (const Decoding& decoding : decodings) {
    if (decoding.input.cache == Cache::decoded || (any_real && !is_real(decoding))) continue;
    const auto same = std::ranges::find_if(
        most, [&](const Decoding* each) { return each->model == decoding.model && each->device == decoding.device; });
    if (same == most.end())
      most.push_back(&decoding);
    else if (decoding.cpu_seconds > (*same)->cpu_seconds)
      *same = &decoding;
  }
  return most;
}

double cores_needed(const Decoding& decoding, double rate) { return rate * decoding.cpu_seconds; }

}  // namespace epochbench
