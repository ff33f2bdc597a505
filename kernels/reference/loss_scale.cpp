// Dynamic loss scaling (Micikevicius et al. 2018, "Mixed Precision Training"), and the norm of gradients of any type.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/reference/kernels.h"

namespace epochbench::reference {

namespace {

float element_at(const void* gradient, Element element, std::int64_t i) {
  const std::int64_t bytes = element == Element::f32 ? 4 : 2;
  float value;
  cast(&value, static_cast<const std::byte*>(gradient) + i * bytes, Element::f32, element, 1);
  return value;
}

}  // namespace

bool all_finite(const void* gradient, Element element, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    if (!std::isfinite(element_at(gradient, element, i))) return false;
  return true;
}

double sum_of_squares(const void* gradient, Element element, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double value = element_at(gradient, element, i);
    sum += value * value;
  }
  return sum;
}

void update_loss_scale(float* scale, std::int32_t* finite_steps, std::int32_t* skipped_steps, const std::int32_t* finite,
                       const LossScaleNumbers& numbers) {
  double next = *scale;
  if (*finite == 0) {
    next *= numbers.backoff;
    *finite_steps = 0;
    ++*skipped_steps;
  } else if (++*finite_steps >= numbers.growth_interval) {
    next *= numbers.growth;
    *finite_steps = 0;
  }
  *scale = static_cast<float>(std::clamp(next, numbers.smallest, numbers.largest));
}

}  // namespace epochbench::reference
