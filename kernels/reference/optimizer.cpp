// SGD with momentum and AdamW (Loshchilov and Hutter 2019), in PyTorch's formulation.
#include <cmath>

#include "kernels/reference/kernels.h"

namespace epochbench::reference {

void sgd(const SgdTensor* tensors, int count, const float* learning_rate, const SgdNumbers& numbers) {
  const double rate = *learning_rate, clip = numbers.clip ? *numbers.clip : 1;
  for (const SgdTensor* t = tensors; t != tensors + count; ++t)
    for (std::int64_t i = 0; i < t->n; ++i) {
      const double velocity = numbers.momentum * t->velocity[i] + (clip * t->gradient[i] + numbers.weight_decay * t->weight[i]);
      t->velocity[i] = static_cast<float>(velocity);
      t->weight[i] = static_cast<float>(t->weight[i] - rate * velocity);
    }
}

void adamw(const AdamwTensor* tensors, int count, const float* learning_rate, const std::int32_t* step,
           const AdamwNumbers& numbers) {
  const double beta1 = numbers.beta1, beta2 = numbers.beta2, clip = numbers.clip ? *numbers.clip : 1;
  const double rate = *learning_rate, now = static_cast<double>(*step) + 1;
  const double correction1 = 1 - std::pow(beta1, now), correction2 = 1 - std::pow(beta2, now);
  for (const AdamwTensor* t = tensors; t != tensors + count; ++t)
    for (std::int64_t i = 0; i < t->n; ++i) {
      const double g = clip * t->gradient[i];
      const double moment1 = beta1 * t->moment1[i] + (1 - beta1) * g;
      const double moment2 = beta2 * t->moment2[i] + (1 - beta2) * g * g;
      const double decayed = t->weight[i] * (1 - rate * t->weight_decay);
      const double denominator = std::sqrt(moment2) / std::sqrt(correction2) + numbers.epsilon;
      t->moment1[i] = static_cast<float>(moment1);
      t->moment2[i] = static_cast<float>(moment2);
      t->weight[i] = static_cast<float>(decayed - rate / correction1 * moment1 / denominator);
    }
}

}  // namespace epochbench::reference
