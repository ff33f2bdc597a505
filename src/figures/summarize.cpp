#include "src/figures/summarize.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "src/base/statistics.h"

namespace epochbench {
namespace {

// A resumed result may hold several.
bool in_one_currency(const Repetitions& runs) {
  std::optional<std::string> currency;
  for (const Run* run : runs) {
    if (!run->cost) continue;
    const std::string own = run->cost->currency.value_or("USD");
    if (currency.value_or(own) != own) return false;
    currency = own;
  }
  return true;
}

}  // namespace

std::vector<double> values_of(const Repetitions& runs, const Figure& figure) {
  return known_values(runs, [&](const Run* run) { return run->status == RunStatus::ok ? figure.value(*run) : std::nullopt; });
}

std::optional<GroupEstimate> summarize(const Repetitions& runs, const Figure& figure) {
  const std::vector<double> values = values_of(runs, figure);
  if (values.empty() || (&figure.unit == &kMoney && !in_one_currency(runs))) return std::nullopt;
  if (figure.pooling == Pooling::geometric_mean)
    return std::isfinite(geometric_mean_estimate(values).value) ? std::optional(estimate_of_groups(values)) : std::nullopt;
  const double value = figure.pooling == Pooling::greatest ? std::ranges::max(values) : mean(values);
  return std::isfinite(value) ? std::optional(GroupEstimate{value, {value, value}, Spread::none, values.size()}) : std::nullopt;
}

KnownPart known_energy(const Repetitions& runs) {
  constexpr std::pair<const Figure*, const char*> kParts[] = {{&kEnergy, ""}, {&kGpuEnergy, "GPU"}, {&kCpuEnergy, "CPU"}};
  for (const auto& [figure, part] : kParts)
    if (auto summary = summarize(runs, *figure)) return {std::move(summary), part};
  return {};
}

}  // namespace epochbench
