// Softmax cross entropy of rows of logits, its gradient, and the number of correctly classified rows.
#include <algorithm>
#include <cmath>

#include "kernels/reference/kernels.h"

namespace epochbench::reference {
namespace {

std::int64_t counted(const std::int32_t* labels, std::int64_t rows) {
  return std::count_if(labels, labels + rows, [](std::int32_t label) { return label >= 0; });
}

}  // namespace

void cross_entropy(float* loss, float* log_sum_exp, const float* logits, const std::int32_t* labels, std::int64_t rows,
                   std::int64_t classes, const Targets& targets) {
  double total = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* row = logits + r * classes;
    const double largest = *std::max_element(row, row + classes);
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(row[c] - largest);
    const double log_sum = largest + std::log(sum);
    if (log_sum_exp != nullptr) log_sum_exp[r] = static_cast<float>(log_sum);
    if (labels[r] < 0) continue;
    total += log_sum - row[labels[r]];
    if (targets.smoothing == 0) continue;  // a logit may be minus infinity
    double sum_of_row = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum_of_row += row[c];
    total += targets.smoothing * (row[labels[r]] - sum_of_row / static_cast<double>(classes));
  }
  if (targets.mean) total /= static_cast<double>(std::max<std::int64_t>(counted(labels, rows), 1));
  *loss = static_cast<float>(total);
}

void cross_entropy_grad(float* dlogits, const float* logits, const std::int32_t* labels, const float* log_sum_exp,
                        std::int64_t rows, std::int64_t classes, const Targets& targets) {
  const double share = targets.smoothing / static_cast<double>(classes);
  const double weight = targets.mean ? 1 / static_cast<double>(std::max<std::int64_t>(counted(labels, rows), 1)) : 1;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < classes; ++c) {
      const std::int64_t i = r * classes + c;
      const double softmax = std::exp(static_cast<double>(logits[i]) - log_sum_exp[r]);
      dlogits[i] =
          labels[r] < 0 ? 0 : static_cast<float>(weight * (softmax - share - (c == labels[r] ? 1 - targets.smoothing : 0)));
    }
}

// The prediction is the first of equal maxima; a row with a NaN has none.
void count_correct(float* count, const float* logits, const std::int32_t* labels, std::int64_t rows, std::int64_t classes) {
  std::int64_t correct = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    if (labels[r] < 0) continue;
    const float* row = logits + r * classes;
    const float chosen = row[labels[r]];
    bool first_maximum = true;
    for (std::int64_t c = 0; c < classes; ++c)
      if (c < labels[r] ? !(row[c] < chosen) : !(row[c] <= chosen)) first_maximum = false;
    correct += first_maximum;
  }
  *count = static_cast<float>(correct);
}

}  // namespace epochbench::reference
