#include "src/workload/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "src/base/errors.h"
#include "src/base/numbers.h"

namespace epochbench {

std::string LearningRateSchedule::to_string() const {
  std::string text;
  if (kind != Schedule::constant) text += std::string(" lr_schedule=") + name(kind);
  if (warmup_steps > 0) text += " lr_warmup=" + std::to_string(warmup_steps);
  return text;
}

double LearningRateSchedule::factor(std::int64_t step, std::int64_t steps) const {
  if (kind != Schedule::constant) step = std::min(step, steps - 1);
  if (step < warmup_steps) return static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  switch (kind) {
    case Schedule::constant:
      return 1;
    case Schedule::cosine: {
      const double done = static_cast<double>(step - warmup_steps) / static_cast<double>(steps - warmup_steps);
      return (1 + std::cos(std::numbers::pi * done)) / 2;
    }
    case Schedule::step:
      return 3 * step < steps ? 1 : 3 * step < 2 * steps ? 0.1 : 0.01;
  }
  return 1;
}

std::int64_t scheduled_steps(const CaseSpec& spec, std::int64_t steps_per_epoch) {
  if (spec.lr_schedule == Schedule::constant) return 0;
  constexpr std::int64_t kMax = 1'000'000'000'000'000;  // 3 times this does not overflow
  const std::int64_t epochs = spec.stop.epochs.value_or(0), per_epoch = std::max<std::int64_t>(steps_per_epoch, 1);
  const std::int64_t steps = spec.stop.steps ? *spec.stop.steps : epochs > kMax / per_epoch ? kMax : epochs * per_epoch;
  if (spec.lr_warmup >= steps)
    throw CallError("--lr-warmup " + std::to_string(spec.lr_warmup) + " leaves none of " + format_count(steps) +
                    " steps to --lr-schedule " + name(spec.lr_schedule) + "; use fewer, or train longer");
  return steps;
}

}  // namespace epochbench
