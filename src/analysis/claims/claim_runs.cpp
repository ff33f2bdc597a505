// Selects the runs that a claim is judged by. Nothing is judged here.
#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "src/analysis/case_settings.h"
#include "src/analysis/claims/claim_kinds.h"
#include "src/analysis/cost/cost.h"
#include "src/analysis/time_to_quality.h"
#include "src/analysis/unusable.h"
#include "src/base/clock.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/statistics.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

// The work that a pair must share: all of it, or with `best` all but the batch, and the mode unless the quantity is about two.
// The model is the same already, or is part of the choice.
WorkKey key_of_pair(const Workload& work, const ClaimQuantity& quantity) {
  const bool one_mode = quantity.of.mode == quantity.to->mode;
  return {quantity.pairing == "best" ? std::string() : work.fingerprint, one_mode ? work.mode : Mode::train, work.dataset};
}

bool enough_cores(const Series& series, const std::optional<int>& least_cores) {
  const CpuInfo& cpu = series.source->result.context.cpu;
  return !least_cores || series.first().device.backend != BackendKind::cpu || cpu.cores.value_or(0) >= *least_cores;
}

// What one unit of a figure buys: epochs per second from seconds per epoch.
template <auto kAmount>
std::optional<double> inverse(const Run& run) {
  const auto amount = kAmount(run);
  return amount && *amount > 0 ? std::optional(1 / *amount) : std::nullopt;
}

// The share of a profiled step's seconds that products of matrices and convolutions take: the ops whose FLOPs count.
std::optional<double> product_share(const Run& run) {
  if (!run.profile || !(run.profile->seconds > 0)) return std::nullopt;
  double seconds = 0;
  for (const ProfileClass& ops : run.profile->classes)
    if (ops.flops_per_second) seconds += ops.seconds;
  return seconds / run.profile->seconds;
}

// The share of a step of several ranks in which they exchange gradients or wait for each other.
std::optional<double> exchange_share(const Run& run) {
  if (!run.ranks || run.ranks->step_seconds.empty()) return std::nullopt;
  return mean(run.ranks->communication_seconds) / mean(run.ranks->step_seconds);
}

// The price of an hour times the hours of a training, over its epochs: with compiling and evaluation. A run that timed steps
// alone counts as a training of one epoch.
std::optional<double> usd_per_trained_epoch(const Run& run) {
  const auto epochs = static_cast<double>(epochs_trained(run));
  if (epochs == 0) return first_epoch_usd(run);
  if (!run.cost || !in_usd(*run.cost) || !run.cost->usd_per_hour) return std::nullopt;
  const auto training = training_seconds(run);
  const double seconds = training ? *training + run.timing->compile_seconds : run.timing->wall_seconds;
  return *run.cost->usd_per_hour * seconds / kSecondsPerHour / epochs;
}

std::optional<double> eval_percent(const Run& run) {
  const auto accuracy = kTestAccuracy.value(run);
  return accuracy ? std::optional(100 * *accuracy) : std::nullopt;
}

struct Metric {
  const char* name;
  std::optional<double> (*of)(const Run& run);
};

constexpr const char *kMayBeZero = "eval_percent", *kEpochsPerUsd = "epochs_per_usd",
                     *kTrainedEpochsPerUsd = "trained_epochs_per_usd";
constexpr std::array kWithoutChance{std::string_view(kPeakMemory.key), std::string_view(kPlannedMemory.key)};

constexpr Metric kMetrics[] = {
    {kThroughput.key, kThroughput.value},
    {"epochs_per_second", inverse<kEpochTime.value>},
    {kEpochsPerUsd, inverse<kEpochCostInUsd.value>},
    {kTrainedEpochsPerUsd, inverse<usd_per_trained_epoch>},
    {"epochs_per_joule", inverse<kEnergy.value>},
    {kPeakMemory.key, kPeakMemory.value},
    {kPlannedMemory.key, kPlannedMemory.value},
    {kMayBeZero, eval_percent},
    {"latency_p99", kLatency99.value},
    // As measured, even above 1, where tables show 100 %.
    {kPeakShare.key, recorded<&Run::efficiency, &Efficiency::peak_fraction>},
    {"product_share", product_share},
    {"exchange_share", exchange_share},
    {"device_watts",
     [](const Run& run) { return (run.device.backend == BackendKind::cuda ? kGpuMeanPower : kCpuMeanPower).value(run); }},
};

// Whether the choice is about such runs, whatever their data, batch and settings.
bool asked_for(const RunChoice& choice, const Run& run) {
  return contains(choice.backends, run.device.backend) && run.workload.mode == choice.mode &&
         (choice.precisions.empty() || contains(choice.precisions, run.precision));
}

}  // namespace

Evidence evidence_of(const std::vector<NamedResult>& results, const ClaimFacts& facts) {
  Evidence evidence{results, series_of(results), {}, {}, facts};
  for (const Series& series : evidence.all.series) {
    for (const Run* run : series.runs) evidence.series_of.emplace(run, &series);
    evidence.by_model[series.first().workload.model].push_back(&series);
  }
  return evidence;
}

std::optional<double> metric(const Run& run, const std::string& name) {
  for (const Metric& known : kMetrics) {
    if (known.name != name) continue;
    const std::optional<double> value = known.of(run);
    return value && std::isfinite(*value) && (*value > 0 || (*value == 0 && name == kMayBeZero)) ? value : std::nullopt;
  }
  throw std::invalid_argument("no number of a run is called '" + name + "'");
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const Metric& known : kMetrics) names.emplace_back(known.name);
  return names;
}

std::vector<double> metrics(const Repetitions& runs, const std::string& name) {
  return known_values(runs, [&](const Run* run) { return metric(*run, name); });
}

bool is_per_usd(const std::string& name) { return name == kEpochsPerUsd || name == kTrainedEpochsPerUsd; }

const char* what_repeats(const std::string& name) { return contains(kWithoutChance, name) ? nullptr : "repetitions"; }

std::string why_no_metric(const Series& series, const std::string& name) {
  const Run& run = series.first();
  const bool foreign = is_per_usd(name) && run.cost && !in_usd(*run.cost);
  return run.name + " has no " + name + (foreign ? ": its cost is in " + *run.cost->currency : "");
}

std::size_t epochs_trained(const Run& run) {
  const bool whole = run.timing && run.timing->epoch_kind == EpochKind::measured && run.quality;
  return whole ? run.quality->eval_history.size() : 0;
}

bool suits(const RunChoice& choice, const Series& series) {
  const Workload& workload = series.first().workload;
  return asked_for(choice, series.first()) && (choice.data.empty() || workload.dataset.rfind("synthetic", 0) != 0) &&
         (!choice.batch || workload.batch == *choice.batch) && setting_texts(series.conditions) == choice.settings;
}

bool suits_but_for(const char* setting, RunChoice choice, const Series& series) {
  if (const auto own = series.conditions.find(setting); own != series.conditions.end())
    for (std::string& text : setting_texts({*own})) choice.settings.push_back(std::move(text));
  std::ranges::sort(choice.settings);
  return suits(choice, series);
}

std::vector<const Series*> matching(const Evidence& evidence, const RunChoice& choice, const std::string& model,
                                    std::optional<BackendKind> backend) {
  std::vector<const Series*> found;
  const auto of_model = evidence.by_model.find(model);
  if (of_model == evidence.by_model.end()) return found;
  for (const Series* series : of_model->second)
    if ((!backend || series->first().device.backend == *backend) && suits(choice, *series)) found.push_back(series);
  return found;
}

std::vector<const Series*> preferred(const Evidence& evidence, const RunChoice& choice, const std::string& model) {
  for (const BackendKind backend : choice.backends)
    if (auto found = matching(evidence, choice, model, backend); !found.empty()) return found;
  return {};
}

namespace {

std::vector<SeriesPair> all_pairs(const Evidence& evidence, const ClaimQuantity& quantity, const std::string& model) {
  std::vector<SeriesPair> found;
  if (!quantity.to) return found;
  const bool one_backend = quantity.of.backends == quantity.to->backends;
  const auto key_of = [&](const Series* series) { return key_of_pair(series->first().workload, quantity); };
  for (const BackendKind backend : quantity.of.backends) {
    std::map<WorkKey, std::vector<const Series*>> partners;
    for (const Series* to :
         matching(evidence, *quantity.to, model_of(*quantity.to, model), one_backend ? std::optional(backend) : std::nullopt))
      if (enough_cores(*to, quantity.least_cores)) partners[key_of(to)].push_back(to);
    for (const Series* of : matching(evidence, quantity.of, model_of(quantity.of, model), backend)) {
      if (!enough_cores(*of, quantity.least_cores)) continue;
      for (const Series* to : partners[key_of(of)]) {
        if (!multiply_alike(of->first(), to->first())) continue;
        const Device &device = of->first().device, &other = to->first().device;
        if (!one_backend || (of->origin == to->origin && device.name == other.name && device.threads == other.threads))
          found.push_back({of, to});
      }
    }
    if (!found.empty()) return found;
  }
  return found;
}

// What a slow or disturbed run tells as well as others.
bool needs_no_time(const std::string& measure) { return contains(kWithoutChance, measure) || measure == kMayBeZero; }

std::string why_unusable(const SeriesPair& pair) {
  for (const Series* series : {pair.of, pair.to})
    if (const std::string reason = why_unusable(*series); !reason.empty()) return series->name() + ": " + reason;
  return "";
}

}  // namespace

std::vector<SeriesPair> pairs(const Evidence& evidence, const ClaimQuantity& quantity, const std::string& model) {
  std::vector<SeriesPair> found = all_pairs(evidence, quantity, model);
  if (!needs_no_time(quantity.measure))
    std::erase_if(found, [](const SeriesPair& pair) { return !why_unusable(pair).empty(); });
  return found;
}

namespace {

// A case on one side of pairs, from all files and builds that measured it on one device.
struct PooledCase {
  std::tuple<std::string, std::string, std::optional<int>> key;  // name, device, threads
  std::vector<SeriesPair> pairs = {};
  Repetitions runs = {};
  std::vector<const void*> sources = {};  // the series of each run
};
using SideOfPair = const Series* SeriesPair::*;

std::vector<PooledCase> pooled_cases(const std::vector<SeriesPair>& pairs, SideOfPair side) {
  ListByKey<&PooledCase::key> cases;
  for (const SeriesPair& pair : pairs) {
    const Series& series = *(pair.*side);
    PooledCase& one = cases[{series.name(), series.first().device.name, series.first().device.threads}];
    const bool is_new = std::ranges::none_of(one.pairs, [&](const SeriesPair& known) { return known.*side == &series; });
    if (is_new) one.runs.insert(one.runs.end(), series.runs.begin(), series.runs.end());
    one.sources.resize(one.runs.size(), &series);
    one.pairs.push_back(pair);
  }
  std::vector<PooledCase> pooled = cases.take();
  for (PooledCase& one : pooled) {
    Repetitions kept;
    for (std::size_t at = 0; at < one.runs.size(); ++at)
      if (!is_superseded(one.runs, one.sources, at)) kept.push_back(one.runs[at]);
    one.runs = std::move(kept);
  }
  return pooled;
}

BestChoice fastest_among(const std::vector<PooledCase>& cases) {
  std::vector<std::vector<double>> rates;
  for (const PooledCase& one : cases) rates.push_back(values_of(one.runs, kThroughput));
  return choose_best(rates);
}

void add_doubt(FastestPair& fastest, const BestChoice& choice, const std::vector<PooledCase>& cases) {
  fastest.error = std::min(fastest.error, choice.error());
  append(fastest.doubt, choice_doubt(choice, cases.size(), [&](std::size_t place) { return std::get<0>(cases[place].key); }),
         "; ");
}

}  // namespace

FastestPair fastest(const std::vector<SeriesPair>& pairs, bool each_at_best) {
  std::vector<SeriesPair> candidates;
  std::ranges::copy_if(pairs, std::back_inserter(candidates), [](const SeriesPair& pair) {
    return std::min(pair.of->runs.size(), pair.to->runs.size()) >= kMinRepetitions;
  });
  const std::vector<PooledCase> cases = pooled_cases(candidates.empty() ? pairs : candidates, &SeriesPair::of);
  const BestChoice of = fastest_among(cases);
  const std::vector<PooledCase> partners = pooled_cases(cases[of.place].pairs, &SeriesPair::to);
  const BestChoice to = fastest_among(partners);
  FastestPair fastest{partners[to.place].pairs.front()};
  fastest.of = estimating(of, [&](std::size_t place) { return cases[place].runs; });
  if (each_at_best) {
    fastest.to = estimating(to, [&](std::size_t place) { return partners[place].runs; });
    add_doubt(fastest, to, partners);
  } else {
    fastest.to = estimating(of, [&](std::size_t place) {  // the partners of the halves
      const std::vector<PooledCase> own = pooled_cases(cases[place].pairs, &SeriesPair::to);
      return own[fastest_among(own).place].runs;
    });
  }
  add_doubt(fastest, of, cases);
  return fastest;
}

std::vector<Warning> warnings_of(const SeriesPair& pair) {
  std::vector<Warning> warnings = fairness_warnings(*pair.to, *pair.of);
  const bool ablation = pair.of->conditions != pair.to->conditions;
  std::erase_if(warnings, [&](const Warning& warning) {
    const bool stated = warning.code == WarningCode::precision_differs || warning.code == WarningCode::batch_differs ||
                        warning.code == WarningCode::settings_differ;
    const bool meant = warning.code == WarningCode::portable_kernel || warning.code == WarningCode::unused_instruction ||
                       warning.code == WarningCode::kernels_missing || warning.code == WarningCode::handicap;
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
    any_gpu = any_gpu || (run.device.backend == BackendKind::cuda && !skipped);
    if (run.device.backend == BackendKind::cuda && skipped && no_gpu.empty()) no_gpu = run.message.value_or("");
    if (run.workload.model == model && asked_for(choice, run) && run.status != RunStatus::ok)
      ended = run.name + " " + out.reason;
  }
  if (choice.backends == std::vector{BackendKind::cuda} && !any_gpu)
    return "no GPU" + (no_gpu.empty() ? std::string(" in these results") : ": " + no_gpu);
  if (!ended.empty()) return ended;
  const auto device = [](BackendKind backend) {
    return backend == BackendKind::cuda ? std::string("a GPU") : std::string("the ") + name(backend);
  };
  std::string runs = model;
  for (const std::string& setting : choice.settings) runs += " " + setting;
  return "these results have no such run of " + runs + " on " + joined(choice.backends, device, " or ") +
         " (epochbench run --suite claims)";
}

std::string why_unpaired(const Evidence& evidence, const ClaimQuantity& quantity) {
  const std::string& model = quantity.models.front();
  // pairs() left them out because none of them can carry an answer.
  if (const std::vector<SeriesPair> found = all_pairs(evidence, quantity, model); !found.empty())
    if (const std::string reason = why_unusable(found.front()); !reason.empty()) return reason;
  const bool to_gpu = quantity.to->backends.front() == BackendKind::cuda;
  for (const RunChoice& side : {to_gpu ? *quantity.to : quantity.of, to_gpu ? quantity.of : *quantity.to})
    if (const std::string& own = model_of(side, model); matching(evidence, side, own).empty())
      return why_missing(evidence, side, own);
  if (quantity.least_cores) return "needs a CPU with at least " + std::to_string(*quantity.least_cores) + " cores";
  return "the runs of " + model + " on both sides differ in batch, data, epochs or machine";
}

std::string describe(const Series& series) {
  const Run& run = series.first();
  std::string text = name(run.precision) + (" on " + run.device.name);
  if (run.device.backend == BackendKind::cpu && run.device.threads)
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
