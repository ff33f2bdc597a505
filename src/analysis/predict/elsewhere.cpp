#include "src/analysis/predict/elsewhere.h"

#include <algorithm>
#include <limits>

#include "src/analysis/cost/cost.h"
#include "src/analysis/fairness.h"
#include "src/analysis/predict/device_catalog.h"
#include "src/analysis/unusable.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/result/load.h"

namespace epochbench {
namespace {

constexpr const char* kOurs = "epochbench";

// The repetitions that estimate a row, and the error of its intervals.
struct Measured {
  const Repetitions& runs;
  double error;

  RangedFigure shown(const Figure& figure) const {
    const auto summary = summarize(runs, figure);
    return summary ? RangedFigure{summary->value, geometric_mean_estimate(values_of(runs, figure), error).ci95}
                   : RangedFigure();
  }
};

ElsewhereRow measured_row(const Series& series, const Measured& measured, const Run& baseline) {
  const Run& run = series.first();
  ElsewhereRow row{.device = series.on_gpu() ? run.device.name : "cpu",
                   .program = is_ours(run) ? kOurs : name(run.device.backend),
                   .precision = run.precision,
                   .batch = run.workload.batch,
                   .disturbed = any_disturbed(measured.runs)};
  row.rate = measured.shown(kThroughput);
  row.epoch_seconds = measured.shown(kEpochTime);
  row.usd_per_epoch = measured.shown(kEpochCostInUsd);
  row.whole_usd_per_epoch = measured.shown(kWholeEpochCost);
  if (run.cost) row.price = price_text(*run.cost);
  if (const auto first = summarize(measured.runs, kFirstEpochCost);
      first && row.usd_per_epoch.value && format_usd(first->value) != format_usd(*row.usd_per_epoch.value))
    row.notes.push_back("its first epoch, with compiling and evaluation: " + format_usd(first->value));
  if (run.workload.samples_per_epoch != baseline.workload.samples_per_epoch)
    row.notes.push_back("an epoch of " + std::to_string(run.workload.samples_per_epoch) + " samples, not of " +
                        std::to_string(baseline.workload.samples_per_epoch));
  return row;
}

// The value and the ends times a factor; divided into it, with the ends swapped, if `inverse`.
RangedFigure scaled(const RangedFigure& figure, double factor, bool inverse = false) {
  const auto of = [&](double value) { return inverse ? factor / value : value * factor; };
  RangedFigure result;
  if (figure.value) result.value = of(*figure.value);
  if (figure.ends)
    result.ends = inverse ? std::pair(of(figure.ends->second), of(figure.ends->first))
                          : std::pair(of(figure.ends->first), of(figure.ends->second));
  return result;
}

// Ratio, epoch and cost of a row whose rate is known.
void follow_from_rate(ElsewhereRow& row, const Elsewhere& answer, const PredictedCost* price) {
  const double samples = static_cast<double>(answer.baseline->workload.samples_per_epoch);
  const RangedFigure& cpu = answer.rows.front().rate;
  row.ratio = scaled(row.rate, 1 / cpu.value.value());
  if (row.ratio.ends && cpu.ends)
    row.ratio.ends = std::pair(row.rate.ends->first / cpu.ends->second, row.rate.ends->second / cpu.ends->first);
  row.epoch_seconds = scaled(row.rate, samples, true);
  if (!price) return;
  row.usd_per_epoch = scaled(row.epoch_seconds, price->usd_per_hour / kSecondsPerHour);
  row.price = price->price;
}

// "PyTorch" of "PyTorch 1.12, timm, ...": whose program a setting describes.
std::string program_named(const std::string& setting) { return setting.substr(0, setting.find(' ')); }

const PublishedStep* fastest_step(const PublishedSteps& published, const std::string& device, const std::string& model) {
  const PublishedStep* fastest = nullptr;
  for (const PublishedStep& step : published.steps)
    if (step.device == device && step.model == model && (!fastest || step.rate() > fastest->rate())) fastest = &step;
  return fastest;
}

// Without an expectation its rate is empty.
ElsewhereRow predicted_row(const Prediction& prediction, const std::optional<ExpectedTime>& time, const Elsewhere& answer) {
  ElsewhereRow row{EvidenceClass::predicted, prediction.name, time ? time->program : "", prediction.work.precision,
                   prediction.work.batch};
  if (!time) return row;
  const double batch = static_cast<double>(prediction.work.batch);
  row.rate = {batch / time->seconds, std::pair(batch / time->high_seconds, batch / time->low_seconds)};
  follow_from_rate(row, answer, prediction.cost ? &*prediction.cost : nullptr);
  if (time->bound == std::string_view(name(Demand::launches)))
    row.notes.push_back("launches bound this, so faster devices and precisions gain nothing, and larger batches do");
  return row;
}

double hourly_price(const Prediction& prediction) {
  return prediction.cost ? prediction.cost->usd_per_hour : std::numeric_limits<double>::infinity();
}

// Whether a device of the catalog, by its name, is the GPU that a result names.
bool is_same_gpu(const std::string& of_catalog, const std::string& reported) {
  const auto& devices = embedded_devices().devices;
  const auto device = std::ranges::find(devices, of_catalog, &CatalogDevice::name);
  return device != devices.end() && (reported == of_catalog || contains(device->also, reported));
}

}  // namespace

BestRows best_rows(const Elsewhere& answer) {
  std::vector<RangedFigure> costs, rates;
  for (const ElsewhereRow& row : answer.rows) {
    const bool is_cpu = &row == &answer.rows.front();
    const bool measured_too = std::ranges::any_of(answer.rows, [&](const ElsewhereRow& other) {
      const bool as_fast = other.precision == row.precision || has_16_bits(other.precision);
      return other.evidence == EvidenceClass::measured && as_fast && is_same_gpu(row.device, other.device);
    });
    const bool counts = row.evidence == EvidenceClass::measured    ? !is_cpu || answer.unusable.empty()
                        : row.evidence == EvidenceClass::predicted ? !row.tuned && !measured_too
                                                                   : false;
    costs.push_back(counts ? epoch_cost(row, answer) : RangedFigure());
    rates.push_back(counts ? row.rate : RangedFigure());
  }
  return {find_leader(costs, Better::smaller), find_leader(rates, Better::bigger)};
}

const RangedFigure& epoch_cost(const ElsewhereRow& row, const Elsewhere& answer) {
  return &row != &answer.rows.front() && row.whole_usd_per_epoch.value ? row.whole_usd_per_epoch : row.usd_per_epoch;
}

std::vector<FastestSeries> cpu_baselines(const AllSeries& all, std::optional<Precision> precision) {
  struct OfModel {
    std::string model;
    std::vector<const Series*> series;
  };
  ListByKey<&OfModel::model> models;
  for (const Series& series : all.series) {
    const Run& run = series.first();
    if (!series.on_gpu() && is_ours(run) && run.workload.mode == Mode::train && !run.ranks && handicap_of(series).empty() &&
        run.precision == precision.value_or(run.precision))
      models[run.workload.model].series.push_back(&series);
  }
  std::vector<FastestSeries> fastest;
  for (OfModel& model : models) fastest.push_back(choose_series(usable_ones(std::move(model.series))));
  return fastest;
}

Elsewhere measured_rows(const AllSeries& all, const FastestSeries& fastest, const Speedup& speedup) {
  const Series& baseline = fastest.series();
  const Run& run = baseline.first();
  Elsewhere answer{&run, {measured_row(baseline, {fastest.runs, fastest.error()}, run)}};
  if (const std::string doubt = fastest.doubt(); !doubt.empty()) answer.rows.front().notes.push_back(doubt);
  answer.unusable = why_unusable(baseline);
  if (!answer.unusable.empty())
    answer.rows.front().notes.insert(answer.rows.front().notes.begin(),
                                     answer.unusable +
                                         ", so its rate and the ratios in parentheses are too uncertain; measure "
                                         "again when `epochbench system` finds nothing that disturbs");
  answer.rows.front().ratio.value = 1;
  if (!answer.rows.front().rate.ends)
    answer.rows.front().notes.push_back(
        "one repetition: the intervals of predicted ratios leave its spread out; measure it with --repetitions 5");
  for (const SpeedupPair& pair : speedup.pairs) {
    const bool of_baseline = pair.baseline.name == baseline.name() && pair.baseline.file == baseline.source->path;
    if (!pair.each_at_best || !of_baseline || !why_unusable(pair).empty()) continue;
    const auto contender = std::ranges::find_if(all.series, [&](const Series& series) {
      return series.name() == pair.contender.name && series.source->path == pair.contender.file;
    });
    if (contender == all.series.end()) continue;
    answer.rows.push_back(measured_row(*contender, {pair.contender.runs, pair.contender.error}, run));
    for (const Warning& warning : pair.warnings)
      if (warning.code == WarningCode::fastest_in_doubt && warning.run == pair.contender.name)
        answer.rows.back().notes.push_back(warning.first);
    answer.rows.back().ratio = {pair.ratio.value, pair.ratio.ci95};
  }
  return answer;
}

void add_device(Elsewhere& answer, const PublishedSteps& published, const std::vector<Prediction>& prices) {
  const auto best = std::ranges::min_element(prices, {}, hourly_price);
  const PredictedCost* const price = best->cost ? &*best->cost : nullptr;
  if (const PublishedStep* step = fastest_step(published, best->device, answer.baseline->workload.model)) {
    const std::string& setting = published.settings.at(step->setting);
    ElsewhereRow row{EvidenceClass::published, best->name, program_named(setting), step->precision, step->batch};
    row.rate.value = step->rate();
    row.notes.push_back(setting);
    follow_from_rate(row, answer, price);
    answer.rows.push_back(std::move(row));
  }
  ElsewhereRow row = predicted_row(*best, best->expected, answer);
  if (!best->expected) {
    row.notes.push_back(best->step ? best->expected_reason : best->reason);
    if (const auto most = max_rate(*best)) row.notes.push_back("at most " + format_rate(*most) + " samples/s by its roofline");
  }
  if (!best->cost_reason.empty()) row.notes.push_back(best->cost_reason);
  row.notes.insert(row.notes.end(), best->notes.begin(), best->notes.end());
  answer.rows.push_back(std::move(row));
  if (best->tuned) {
    answer.rows.push_back(predicted_row(*best, best->tuned, answer));
    answer.rows.back().tuned = true;
    if (const std::string weak = weak_sources_text(*best->tuned); !weak.empty()) answer.rows.back().notes.push_back(weak);
  }
  std::ranges::stable_sort(answer.rows, {}, &ElsewhereRow::evidence);
}

}  // namespace epochbench
