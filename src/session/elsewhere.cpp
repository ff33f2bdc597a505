#include "src/session/elsewhere.h"

#include <algorithm>

#include "src/base/errors.h"
#include "src/base/lookup.h"
#include "src/session/predicting.h"
#include "src/session/prices.h"

namespace epochbench {
namespace {

CaseSpec case_of(const Run& run) {
  CaseSpec spec;
  spec.model = find_model(run.workload.model);
  spec.batch = run.workload.batch;
  spec.epoch_samples = run.workload.samples_per_epoch;
  return spec;
}

// One epoch on one device at each price that is known, at the batch that elsewhere() documents.
std::vector<Prediction> predicted(const std::string& device, CaseSpec spec, const ElsewhereRequest& asked) {
  PredictionRequest request{{device}, {}, false, 1, {}, false, true, {}, asked.prices};
  if (asked.precision)
    request.fastest_of = {*asked.precision};
  else
    request.fastest_of.assign(std::begin(kPrecisions), std::end(kPrecisions));
  const bool on_gpu = find_target(embedded_devices(), asked.prices, device).device->is_gpu;
  spec.batch = asked.batch ? *asked.batch : on_gpu ? std::max(*spec.batch, kGpuBatch) : *spec.batch;
  request.cases.push_back(spec);
  return predictions_of(request);
}

// The ratio of each device whose predicted row has another setting, to `cpu_rate` in samples per second.
template <typename Differs>
void add_change(Elsewhere& answer, const std::string& setting, double cpu_rate, const CaseSpec& spec,
                const ElsewhereRequest& request, const ElsewhereRequest& changed, const Differs& differs) {
  ElsewhereChange change{setting, {}};
  auto device_of = request.on.begin();
  for (const ElsewhereRow& row : answer.rows) {
    if (row.evidence != EvidenceClass::predicted || row.tuned) continue;
    const std::string& device = *device_of++;  // one row per device, in their order
    if (!row.rate.value || !differs(row)) continue;
    const Prediction other = predicted(device, spec, changed).front();
    const std::optional<double> rate = expected_rate(other);
    change.ratios.push_back({row.device, rate ? std::optional(*rate / cpu_rate) : std::nullopt, rate ? other.work.batch : 0});
  }
  if (std::ranges::any_of(change.ratios, [](const auto& ratio) { return ratio.value.has_value(); }))
    answer.changes.push_back(std::move(change));
}

// In samples per second; nullopt if the results did not train this model on a CPU in fp32.
std::optional<double> fp32_rate(const AllSeries& all, const std::string& model) {
  for (const FastestSeries& fastest : cpu_baselines(all, Precision::fp32))
    if (fastest.series().first().workload.model == model) {
      const auto rate = summarize(fastest.runs, kThroughput);
      return rate ? std::optional(rate->value) : std::nullopt;
    }
  return std::nullopt;
}

std::vector<std::string> all_gpus() {
  std::vector<std::string> ids;
  for (const CatalogDevice& device : embedded_devices().devices)
    if (device.is_gpu) ids.push_back(device.id);
  return ids;
}

}  // namespace

std::vector<Elsewhere> elsewhere(const std::vector<NamedResult>& results, ElsewhereRequest request) {
  if (contains(request.on, std::string("cpu"))) throw CallError("--on cpu: the result has a CPU of its own; leave cpu out");
  if (request.on == std::vector<std::string>{"all"}) request.on = all_gpus();
  const AllSeries all = series_of(results);
  const Speedup speedup = speedup_of(results, SpeedupOf::same_batch);
  std::vector<Elsewhere> answers;
  for (const FastestSeries& baseline : cpu_baselines(all)) {
    const Run& cpu = baseline.series().first();
    const CaseSpec spec = case_of(cpu);
    Elsewhere answer = measured_rows(all, baseline, speedup);
    for (const std::string& device : request.on)
      add_device(answer, embedded_published_steps(), predicted(device, spec, request));
    ElsewhereRequest other = request;
    other.batch = spec.batch;
    const double rate = answer.rows.front().rate.value.value();
    add_change(answer, "at the CPU's batch, " + std::to_string(*spec.batch), rate, spec, request, other,
               [&](const ElsewhereRow& row) { return row.batch != *spec.batch; });
    other = request;
    other.precision = Precision::fp32;
    const std::optional<double> in_fp32 = fp32_rate(all, cpu.workload.model);
    const std::string setting = in_fp32 ? "in fp32" : std::string("in fp32, the CPU in ") + name(cpu.precision);
    add_change(answer, setting, in_fp32.value_or(rate), spec, request, other,
               [](const ElsewhereRow& row) { return row.precision != Precision::fp32; });
    answers.push_back(std::move(answer));
  }
  if (answers.empty())
    throw CallError(
        "--on: other devices are predicted for built-in models beside their best training on a CPU, and the result has none; "
        "measure one, such as `epochbench run --model resnet50`");
  return answers;
}

}  // namespace epochbench
