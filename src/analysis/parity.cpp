#include "src/analysis/parity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "epochbench/precision.h"
#include "src/analysis/case_settings.h"
#include "src/analysis/series.h"

namespace epochbench {
namespace {

// Settings that change losses by more than rounding: order and learning rate, for example.
Settings settings_of_losses(const Run& run) {
  return of_classes(case_settings(run), {SettingClass::workload, SettingClass::sample});
}

// How many settings a run has that change only rounding, or nothing.
std::size_t count_of_others(const Run& run) {
  const Settings others =
      of_classes(run.settings, {SettingClass::placement, SettingClass::rounding, SettingClass::ablation, SettingClass::input});
  return others.size();
}

bool comparable(const Run& run) {
  return is_ours(run) && run.status == RunStatus::ok && run.workload.mode == Mode::train && run.quality &&
         !run.quality->loss.empty() && !run.quality->dropout_masks;
}

// What runs share whose losses differ only by rounding.
using LossesKey = std::tuple<int, std::uint64_t, WorkKey, std::int64_t, Settings>;
LossesKey losses_key(const Run& run) {
  return {run.repetition, run.workload.seed, work_key(run.workload), run.workload.samples_per_epoch, settings_of_losses(run)};
}

// The steps of epoch 0 if the timed steps are of later epochs; empty if all are of epoch 0.
std::optional<std::size_t> steps_of_epoch_0(const Run& run) {
  const bool whole_epochs = run.timing && run.timing->epoch_kind == EpochKind::measured;
  return whole_epochs ? std::optional(static_cast<std::size_t>(std::max(run.timing->warmup_steps, 0))) : std::nullopt;
}

// For each key the CPU's run in fp32 with the fewest other settings; the first of several.
std::map<LossesKey, const Run*> references_of(const std::vector<Run>& runs) {
  std::map<LossesKey, const Run*> references;
  for (const Run& run : runs) {
    if (!comparable(run) || run.device.backend != BackendKind::cpu || run.precision != Precision::fp32) continue;
    const Run*& reference = references[losses_key(run)];
    if (!reference || count_of_others(run) < count_of_others(*reference)) reference = &run;
  }
  return references;
}

}  // namespace

double max_relative_difference(std::span<const double> losses, std::span<const double> reference) {
  const std::size_t count = std::min({losses.size(), reference.size(), kParitySteps});
  double worst = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double scale = std::max(std::fabs(reference[i]), std::numeric_limits<double>::min());
    worst = std::max(worst, std::fabs(losses[i] - reference[i]) / scale);
  }
  return worst;
}

std::size_t shared_losses(const Run& a, const Run& b) {
  if (!a.quality || !b.quality) return 0;
  const std::size_t both = std::min(a.quality->loss.size(), b.quality->loss.size());
  const auto of_a = steps_of_epoch_0(a), of_b = steps_of_epoch_0(b);
  return of_a == of_b ? both : std::min({both, of_a.value_or(both), of_b.value_or(both)});
}

std::optional<double> losses_apart(const Run& run, const Run& reference) {
  const std::size_t shared = shared_losses(run, reference);
  if (shared == 0) return std::nullopt;
  return max_relative_difference(std::span(run.quality->loss).first(shared), reference.quality->loss);
}

double parity_bound(Precision precision) {
  if (precision == Precision::fp32) return 1e-4;
  return 4 * (precision == Precision::bf16 ? 0x1p-8 : 0x1p-11);  // tf32 and fp16 have the same significand
}

void fill_parity(std::vector<Run>& runs) {
  const std::map<LossesKey, const Run*> references = references_of(runs);
  for (Run& run : runs) {
    if (!run.quality) continue;
    run.quality->parity_with.reset();
    run.quality->parity_max_relative_difference.reset();
    const auto reference = comparable(run) ? references.find(losses_key(run)) : references.end();
    if (reference == references.end() || reference->second == &run) continue;
    const std::optional<double> apart = losses_apart(run, *reference->second);
    if (!apart) continue;
    run.quality->parity_with = reference->second->name;
    run.quality->parity_max_relative_difference = apart;
  }
}

}  // namespace epochbench
