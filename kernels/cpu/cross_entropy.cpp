// Softmax cross entropy, its gradient and the count of correct rows, parallel over rows. It uses the exponential of exp.h,
// which vectorizes: with the C library's, a loss over a vocabulary of 30,000 would be the slowest kernel of a step.
#include <omp.h>

#include "kernels/cpu/exp.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/narrow.h"
#include "kernels/cpu/row_sum.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

constexpr std::int64_t kChunk =
    1024;                      // classes summed in float before the sum is added in double; a multiple of every vector width
constexpr int kMaxTeam = 256;  // maximum number of useful threads; bounds the partial sums on the stack

float largest(const Real* row, std::int64_t classes) {
  float best = widen(row[0]);
#pragma omp simd reduction(max : best)
  for (std::int64_t c = 0; c < classes; ++c) best = widen(row[c]) > best ? widen(row[c]) : best;
  return best;
}

struct SumOfExp {
  float shift;   // the largest so far
  double total;  // of exp(x - shift)
};

// One pass over memory (Milakov and Gimelshein 2018): each chunk is read twice, the second time from the cache.
SumOfExp sum_of_exp(const Real* row, std::int64_t classes) {
  SumOfExp result{widen(row[0]), 0};
  for (std::int64_t begin = 0; begin < classes; begin += kChunk) {
    const std::int64_t count = min_of(kChunk, classes - begin);
    const Real* chunk = row + begin;
    const float best = largest(chunk, count);
    if (!(best <= result.shift)) {  // a NaN propagates
      result.total *= __builtin_exp(static_cast<double>(result.shift) - best);
      result.shift = best;
    }
    const float shift = result.shift;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < count; ++c) sum += exp_of_nonpositive(widen(chunk[c]) - shift);
    result.total += sum;
  }
  return result;
}

// weight * (softmax - share)
void softmax_less(Real* out, const Real* row, float log_sum, float share, float weight, std::int64_t classes) {
  narrow_each(out, classes, [=](std::int64_t c) { return weight * (exp_of_nonpositive(widen(row[c]) - log_sum) - share); });
}

void zero(Real* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = Real{};
}

// Counts the values above the limit, or equal to it if `equal_counts`. A NaN always counts.
std::int64_t count_above(const Real* values, float limit, bool equal_counts, std::int64_t n) {
  std::int64_t count = 0;
  for (std::int64_t begin = 0; begin < n; begin += kChunk) {
    const std::int64_t end = min_of(begin + kChunk, n);
    std::int32_t chunk = 0;
    if (equal_counts) {
#pragma omp simd reduction(+ : chunk)
      for (std::int64_t i = begin; i < end; ++i) chunk += widen(values[i]) < limit ? 0 : 1;
    } else {
#pragma omp simd reduction(+ : chunk)
      for (std::int64_t i = begin; i < end; ++i) chunk += widen(values[i]) <= limit ? 0 : 1;
    }
    count += chunk;
  }
  return count;
}

std::int64_t count_labels(const std::int32_t* labels, std::int64_t rows) {
  std::int64_t count = 0;
  for (std::int64_t r = 0; r < rows; ++r) count += labels[r] >= 0;
  return count;
}

float weight_of_row(const std::int32_t* labels, std::int64_t rows, bool mean) {
  return mean ? static_cast<float>(1.0 / static_cast<double>(max_of(count_labels(labels, rows), 1))) : 1;
}

// The logits of a row for all classes: `columns` logits, or, for one column, two classes with a logit of 0 for the first.
struct Row {
  Row(const Real* logits, std::int64_t row, std::int64_t columns)
      : two{Real{}, logits[row * columns]}, logits_of_row(logits + row * columns), single(columns == 1) {}
  const Real* data() const { return single ? two : logits_of_row; }
  Real two[2];
  const Real* logits_of_row;
  bool single;
};
// What a row is compared with: two labels; the first has `share`, the second the rest.
struct Labels {
  std::int32_t own, other;
  float share;
};
Labels labels_of(const std::int32_t* labels, const Targets& targets, std::int64_t row, std::int64_t rows) {
  const std::int32_t own = labels[row];
  if (targets.share == nullptr) return {own, own, 1};
  const std::int32_t other = labels[neighbor_of(row, rows)];
  return {own, other < 0 ? own : other, targets.share[row]};
}

std::int64_t classes_of(std::int64_t columns) { return columns == 1 ? 2 : columns; }

// An exponential costs about as much as eight simple elements.
bool worth_a_team(std::int64_t rows, std::int64_t classes) { return rows * classes > kSerialElements / 8; }

}  // namespace

void cross_entropy(float* loss, float* log_sum_exp, const Real* logits, const std::int32_t* labels, std::int64_t rows,
                   std::int64_t columns, const Targets& targets, int threads) {
  const std::int64_t classes = classes_of(columns);
  double partial[kMaxTeam] = {};  // one sum per thread, added in the order of the threads
#pragma omp parallel num_threads(static_cast <int>(min_of(threads, kMaxTeam))) if (worth_a_team(rows, classes))
  {
    const int thread = omp_get_thread_num();
    const Range part = part_of(rows, thread, omp_get_num_threads(), 1);
    double total = 0;
    for (std::int64_t r = part.begin; r < part.end; ++r) {
      const Row whole(logits, r, columns);
      const Real* row = whole.data();
      const auto [shift, exponentials] = sum_of_exp(row, classes);
      const double log_sum = __builtin_log(exponentials);
      if (log_sum_exp != nullptr) log_sum_exp[r] = static_cast<float>(shift + log_sum);
      if (labels[r] < 0) continue;
      const Labels of_row = labels_of(labels, targets, r, rows);
      double label_logit = widen(row[of_row.own]);
      if (of_row.other != of_row.own)
        label_logit += (1 - static_cast<double>(of_row.share)) * (widen(row[of_row.other]) - label_logit);
      total += log_sum + (shift - label_logit);
      if (targets.smoothing > 0)
        total += targets.smoothing * (label_logit - sum_of(row, classes) / static_cast<double>(classes));
    }
    partial[thread] = total;
  }
  double total = 0;
  for (double part : partial) total += part;
  *loss = static_cast<float>(targets.mean ? total / static_cast<double>(max_of(count_labels(labels, rows), 1)) : total);
}

void cross_entropy_grad(Real* dlogits, const Real* logits, const std::int32_t* labels, const float* log_sum_exp,
                        std::int64_t rows, std::int64_t classes, const Targets& targets, int threads) {
  const std::int32_t first = classes == 1 ? 1 : 0;  // the class of the first column
  const float weight = weight_of_row(labels, rows, targets.mean),
              share = targets.smoothing / static_cast<float>(classes_of(classes)), of_labels = 1 - targets.smoothing;
#pragma omp parallel num_threads(threads) if (worth_a_team(rows, classes))
  {
    const Range part = part_of(rows, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t r = part.begin; r < part.end; ++r) {
      Real* out = dlogits + r * classes;
      if (labels[r] < 0) {
        zero(out, classes);
        continue;
      }
      const Real* row = logits + r * classes;
      const Labels of_row = labels_of(labels, targets, r, rows);
      const bool two = of_row.other != of_row.own;
      const std::int32_t own = of_row.own - first, other = of_row.other - first;
      // Read before they may be overwritten.
      const float own_logit = own < 0 ? 0 : widen(row[own]), other_logit = other < 0 ? 0 : widen(row[other]);
      softmax_less(out, row, log_sum_exp[r], share, weight, classes);
      const auto subtract = [&](std::int32_t column, float logit, float part) {
        if (column >= 0)
          out[column] = narrow(weight * (exp_of_nonpositive(logit - log_sum_exp[r]) - (of_labels * part + share)));
      };
      subtract(own, own_logit, two ? of_row.share : 1);
      if (two) subtract(other, other_logit, 1 - of_row.share);
    }
  }
}

// A row is correct if its label's logit is the first of equal maxima.
void count_correct(float* count, const Real* logits, const std::int32_t* labels, std::int64_t rows, std::int64_t columns,
                   int threads) {
  const std::int64_t classes = classes_of(columns);
  std::int64_t correct = 0;  // an integer: the order of the threads does not matter
#pragma omp parallel num_threads(threads) if (rows * classes > kSerialElements) reduction(+ : correct)
  {
    const Range part = part_of(rows, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t r = part.begin; r < part.end; ++r) {
      if (labels[r] < 0) continue;
      const Row whole(logits, r, columns);
      const Real *row = whole.data(), *label = row + labels[r];
      const float limit = widen(*label);
      correct += count_above(row, limit, true, labels[r]) + count_above(label, limit, false, row + classes - label) == 0;
    }
  }
  *count = static_cast<float>(correct);
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
