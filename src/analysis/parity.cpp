#include "src/analysis/parity.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace epochbench {
namespace {

constexpr const char* kChangesRoundingAlone[] = {"/gemm=", "/threads=", "/without="};

// What a name says beyond model, backend, precision and batch, and what changes losses by more than rounding: order and
// learning rate, for example.
std::string conditions(const Run& run) {
  std::size_t at = 0;
  for (int slash = 0; slash < 4 && at != std::string::npos; ++slash) at = run.name.find('/', slash == 0 ? 0 : at + 1);
  std::string rest = at == std::string::npos ? "" : run.name.substr(at);
  for (const char* setting : kChangesRoundingAlone)
    if (const auto begin = rest.find(setting); begin != std::string::npos) {
      const auto end = rest.find('/', begin + 1);
      rest.erase(begin, end == std::string::npos ? std::string::npos : end - begin);
    }
  return rest;
}

// How many such settings a run has.
std::ptrdiff_t settings_of_rounding(const Run& run) {
  return std::count_if(std::begin(kChangesRoundingAlone), std::end(kChangesRoundingAlone),
                       [&](const char* setting) { return run.name.find(setting) != std::string::npos; });
}

bool comparable(const Run& run) {
  return run.status == RunStatus::ok && run.workload.mode == "train" && run.quality && !run.quality->loss.empty() &&
         !run.quality->dropout_masks;
}

bool same_workload(const Run& a, const Run& b) {
  return a.repetition == b.repetition && a.workload.fingerprint == b.workload.fingerprint &&
         a.workload.dataset == b.workload.dataset && a.workload.seed == b.workload.seed &&
         a.workload.samples_per_epoch == b.workload.samples_per_epoch && conditions(a) == conditions(b);
}

// The steps of epoch 0 where the timed steps are of later epochs; empty where all are of epoch 0.
std::optional<std::size_t> steps_of_epoch_0(const Run& run) {
  const bool whole_epochs = run.timing && run.timing->epoch_kind == "measured";
  return whole_epochs ? std::optional(static_cast<std::size_t>(std::max(run.timing->warmup_steps, 0))) : std::nullopt;
}

const Run* reference_of(const Run& run, const std::vector<Run>& runs) {
  const Run* found = nullptr;
  for (const Run& other : runs) {
    if (!comparable(other) || other.device.backend != "cpu" || other.precision != "fp32" || !same_workload(run, other))
      continue;
    if (!found || settings_of_rounding(other) < settings_of_rounding(*found)) found = &other;
  }
  return found == &run ? nullptr : found;
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

double parity_bound(const std::string& precision) {
  if (precision == "fp32") return 1e-4;
  return 4 * (precision == "bf16" ? 0x1p-8 : 0x1p-11);  // tf32 and fp16 have the same significand
}

void fill_parity(std::vector<Run>& runs) {
  for (Run& run : runs) {
    if (!run.quality) continue;
    run.quality->parity_with.reset();
    run.quality->parity_max_relative_difference.reset();
    const Run* reference = comparable(run) ? reference_of(run, runs) : nullptr;
    const std::optional<double> apart = reference ? losses_apart(run, *reference) : std::nullopt;
    if (!apart) continue;
    run.quality->parity_with = reference->name;
    run.quality->parity_max_relative_difference = apart;
  }
}

}  // namespace epochbench
