// Softmax cross entropy of rows of logits, its gradient, and the number of correctly classified rows.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/reference/kernels.h"

namespace epochbench::reference {
namespace {

std::int64_t counted(const std::int32_t* labels, std::int64_t rows) {
  return std::count_if(labels, labels + rows, [](std::int32_t label) { return label >= 0; });
}

// The label that gets the rest of a row's share: the neighbor's, or the row's own if the neighbor's is ignored.
std::int32_t other_label(const std::int32_t* labels, std::int64_t row, std::int64_t rows) {
  const std::int32_t other = labels[neighbor_of(row, rows)];
  return other < 0 ? labels[row] : other;
}

// The logits of all classes.
std::vector<float> row_of(const float* logits, std::int64_t row, std::int64_t columns) {
  if (columns == 1) return {0, logits[row]};
  return {logits + row * columns, logits + (row + 1) * columns};
}

}  // namespace

void cross_entropy(float* loss, float* log_sum_exp, const float* logits, const std::int32_t* labels, std::int64_t rows,
                   std::int64_t classes, const Targets& targets) {
  double total = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::vector<float> row = row_of(logits, r, classes);
    const double largest = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (float logit : row) sum += std::exp(logit - largest);
    const double log_sum = largest + std::log(sum);
    if (log_sum_exp != nullptr) log_sum_exp[r] = static_cast<float>(log_sum);
    if (labels[r] < 0) continue;
    double label_logit = row[static_cast<std::size_t>(labels[r])];
    if (targets.share != nullptr) {
      const double share = targets.share[r];
      label_logit = share * label_logit + (1 - share) * row[static_cast<std::size_t>(other_label(labels, r, rows))];
    }
    total += log_sum - label_logit;
    if (targets.smoothing == 0) continue;  // a logit may be minus infinity
    double sum_of_row = 0;
    for (float logit : row) sum_of_row += logit;
    total += targets.smoothing * (label_logit - sum_of_row / static_cast<double>(row.size()));
  }
  if (targets.mean) total /= static_cast<double>(std::max<std::int64_t>(counted(labels, rows), 1));
  *loss = static_cast<float>(total);
}

void cross_entropy_grad(float* dlogits, const float* logits, const std::int32_t* labels, const float* log_sum_exp,
                        std::int64_t rows, std::int64_t classes, const Targets& targets) {
  const std::int64_t first = classes == 1 ? 1 : 0;  // the class of the first column
  const double share = targets.smoothing / static_cast<double>(first + classes);
  const double weight = targets.mean ? 1 / static_cast<double>(std::max<std::int64_t>(counted(labels, rows), 1)) : 1;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < classes; ++c) {
      const std::int64_t i = r * classes + c;
      const double softmax = std::exp(static_cast<double>(logits[i]) - log_sum_exp[r]);
      const double own = targets.share != nullptr ? targets.share[r] : 1;
      double of_labels = first + c == labels[r] ? own : 0;
      if (targets.share != nullptr && first + c == other_label(labels, r, rows)) of_labels += 1 - own;
      dlogits[i] = labels[r] < 0 ? 0 : static_cast<float>(weight * (softmax - share - of_labels * (1 - targets.smoothing)));
    }
}

// The prediction is the first of equal maxima; a row with a NaN has none.
void count_correct(float* count, const float* logits, const std::int32_t* labels, std::int64_t rows, std::int64_t classes) {
  std::int64_t correct = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    if (labels[r] < 0) continue;
    const std::vector<float> row = row_of(logits, r, classes);
    const auto label = static_cast<std::size_t>(labels[r]);
    bool first_maximum = true;
    for (std::size_t c = 0; c < row.size(); ++c)
      if (c < label ? !(row[c] < row[label]) : !(row[c] <= row[label])) first_maximum = false;
    correct += first_maximum;
  }
  *count = static_cast<float>(correct);
}

}  // namespace epochbench::reference
