#include "src/analysis/claims/claim_runs.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "src/analysis/case_settings.h"
#include "src/analysis/cost/cost.h"
#include "src/base/units.h"

namespace epochbench {
namespace {

bool has(const std::vector<std::string>& list, const std::string& entry) {
  return std::find(list.begin(), list.end(), entry) != list.end();
}

bool same_work_but_batch(const Workload& a, const Workload& b) {
  return a.model == b.model && a.mode == b.mode && a.dataset == b.dataset && a.seed == b.seed;
}

bool enough_cores(const Series& series, const std::optional<int>& least_cores) {
  const CpuInfo& cpu = series.source->result.context.cpu;
  return !least_cores || series.first().device.backend != "cpu" || cpu.cores.value_or(0) >= *least_cores;
}

std::optional<double> per_epoch(const std::optional<double>& amount) {
  return amount && *amount > 0 ? std::optional(1 / *amount) : std::nullopt;
}

std::optional<double> whole(const std::optional<std::int64_t>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

struct Metric {
  const char* name;
  std::optional<double> (*of)(const Run& run);
};

constexpr const char* kMayBeZero = "eval_percent";

constexpr Metric kMetrics[] = {
    {"samples_per_second",
     [](const Run& run) { return run.throughput ? std::optional(run.throughput->samples_per_second) : std::nullopt; }},
    {"epochs_per_second", [](const Run& run) { return run.timing ? per_epoch(run.timing->epoch_seconds) : std::nullopt; }},
    {"epochs_per_usd",
     [](const Run& run) { return run.cost && in_usd(*run.cost) ? per_epoch(run.cost->usd_per_epoch) : std::nullopt; }},
    {"epochs_per_joule", [](const Run& run) { return run.energy ? per_epoch(run.energy->joules_per_epoch) : std::nullopt; }},
    {"peak_bytes", [](const Run& run) { return run.memory ? whole(run.memory->peak_bytes) : std::nullopt; }},
    {"planned_bytes", [](const Run& run) { return run.memory ? whole(run.memory->planned_bytes) : std::nullopt; }},
    {"eval_percent",
     [](const Run& run) {
       return run.quality && run.quality->eval_metric == "accuracy" && run.quality->eval_value
                  ? std::optional(100 * *run.quality->eval_value)
                  : std::nullopt;
     }},
    {"latency_p99", [](const Run& run) { return run.latency ? run.latency->p99_seconds : std::nullopt; }},
};

}  // namespace

Evidence evidence_of(const std::vector<NamedResult>& results) { return {results, series_of(results)}; }

std::optional<double> metric(const Run& run, const std::string& name) {
  for (const Metric& known : kMetrics) {
    if (known.name != name) continue;
    const std::optional<double> value = known.of(run);
    return value && std::isfinite(*value) && (*value > 0 || (*value == 0 && name == kMayBeZero)) ? value : std::nullopt;
  }
  throw std::invalid_argument("no number of a run is called '" + name + "'");
}

std::vector<double> metrics(const Series& series, const std::string& name) {
  std::vector<double> values;
  for (const Run* run : series.runs)
    if (const auto value = metric(*run, name)) values.push_back(*value);
  return values;
}

std::string why_no_metric(const Series& series, const std::string& name) {
  const Run& run = series.first();
  const bool foreign = name == "epochs_per_usd" && run.cost && !in_usd(*run.cost);
  return run.name + " has no " + name + (foreign ? ": its cost is in " + *run.cost->currency : "");
}

std::size_t epochs_trained(const Run& run) {
  const bool whole = run.timing && run.timing->epoch_kind == "measured" && run.quality;
  return whole ? run.quality->eval_history.size() : 0;
}

bool suits(const RunChoice& choice, const Series& series) {
  const Run& run = series.first();
  const Workload& workload = run.workload;
  return has(choice.backends, run.device.backend) && workload.mode == choice.mode &&
         (choice.precisions.empty() || has(choice.precisions, run.precision)) &&
         (choice.data.empty() || workload.dataset.rfind("synthetic", 0) != 0) &&
         (!choice.batch || workload.batch == *choice.batch) && setting_texts(series.conditions) == choice.settings;
}

std::vector<const Series*> matching(const Evidence& evidence, const RunChoice& choice, const std::string& model,
                                    const std::string& backend) {
  std::vector<const Series*> found;
  for (const Series& series : evidence.all.series) {
    const Run& run = series.first();
    if (run.workload.model == model && suits(choice, series) && (backend.empty() || run.device.backend == backend))
      found.push_back(&series);
  }
  return found;
}

std::vector<SeriesPair> pairs(const Evidence& evidence, const ClaimQuantity& quantity, const std::string& model) {
  std::vector<SeriesPair> found;
  if (!quantity.to) return found;
  const bool one_backend = quantity.of.backends == quantity.to->backends;
  for (const std::string& backend : quantity.of.backends) {
    for (const Series* of : matching(evidence, quantity.of, model, backend))
      for (const Series* to : matching(evidence, *quantity.to, model, one_backend ? backend : "")) {
        const Device &device = of->first().device, &other = to->first().device;
        const bool comparable =
            !one_backend || (of->origin == to->origin && device.name == other.name && device.threads == other.threads);
        const Workload &work = of->first().workload, &partner = to->first().workload;
        if (comparable && (quantity.best ? same_work_but_batch(work, partner) : same_work(work, partner)) &&
            enough_cores(*of, quantity.least_cores) && enough_cores(*to, quantity.least_cores))
          found.push_back({of, to});
      }
    if (!found.empty()) return found;
  }
  return found;
}

SeriesPair fastest(const std::vector<SeriesPair>& pairs) {
  return *std::max_element(pairs.begin(), pairs.end(), [](const SeriesPair& a, const SeriesPair& b) {
    const auto rank = [](const SeriesPair& pair) {
      const bool has_interval = std::min(pair.of->runs.size(), pair.to->runs.size()) >= kFewestRepetitions;
      return std::tuple(has_interval, pair.of->rate(), pair.to->rate());
    };
    return rank(a) < rank(b);
  });
}

std::vector<Warning> warnings_of(const SeriesPair& pair) {
  std::vector<Warning> warnings = fairness_warnings(*pair.to, *pair.of);
  const bool ablation = pair.of->conditions != pair.to->conditions;
  std::erase_if(warnings, [&](const Warning& warning) {
    const bool stated = warning.code == WarningCode::precision_differs || warning.code == WarningCode::batch_differs ||
                        warning.code == WarningCode::settings_differ;
    const bool meant = warning.code == WarningCode::portable_kernel || warning.code == WarningCode::unused_instruction ||
                       warning.code == WarningCode::handicap;
    return stated || (ablation && meant);
  });
  return warnings;
}

std::string why_missing(const Evidence& evidence, const RunChoice& choice, const std::string& model) {
  std::string ended, no_gpu;
  bool any_gpu = false;
  for (const Series& series : evidence.all.series) any_gpu = any_gpu || series.on_gpu();
  for (const LeftOut& out : evidence.all.left_out) {
    const Run& run = *out.run;
    const bool skipped = run.status == RunStatus::skipped;
    any_gpu = any_gpu || (run.device.backend == "cuda" && !skipped);
    if (run.device.backend == "cuda" && skipped && no_gpu.empty()) no_gpu = run.message.value_or("");
    const bool asked_for = run.workload.model == model && run.workload.mode == choice.mode &&
                           has(choice.backends, run.device.backend) &&
                           (choice.precisions.empty() || has(choice.precisions, run.precision));
    if (asked_for && run.status != RunStatus::ok) ended = run.name + " " + out.reason;
  }
  if (choice.backends == std::vector<std::string>{"cuda"} && !any_gpu)
    return "no GPU" + (no_gpu.empty() ? std::string(" in these results") : ": " + no_gpu);
  if (!ended.empty()) return ended;
  std::string backends;
  for (const std::string& backend : choice.backends)
    backends += (backends.empty() ? "" : " or ") + (backend == "cuda" ? std::string("a GPU") : "the " + backend);
  std::string settings;
  for (const std::string& setting : choice.settings) settings += " " + setting;
  return "these results have no such run of " + model + settings + " on " + backends + " (epochbench run --suite claims)";
}

std::string describe(const Series& series) {
  const Run& run = series.first();
  std::string text = run.precision + " on " + run.device.name;
  if (run.device.backend == "cpu" && run.device.threads)
    text += ", " + counted(static_cast<std::size_t>(*run.device.threads), "thread", "threads");
  text += ", batch " + std::to_string(run.workload.batch);
  for (const std::string& setting : setting_texts(series.conditions)) text += ", " + setting;
  return text;
}

std::string describe(const SeriesPair& pair) {
  return describe(*pair.of) + ", against " + describe(*pair.to) + "; " + std::to_string(pair.of->runs.size()) + " and " +
         std::to_string(pair.to->runs.size()) + " repetitions";
}

}  // namespace epochbench
