// Scaled dot-product attention, full or causal, one row of weights at a time.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/reference/dropout_mask.h"
#include "kernels/reference/kernels.h"

namespace epochbench::reference {
namespace {

struct Head {
  const AttentionShape& shape;
  std::int64_t batch, head;
  std::int64_t at(std::int64_t row) const { return offset(row, input_stride(shape), head); }                        // of q
  std::int64_t at_key(std::int64_t row) const { return offset(row, key_stride(shape), head / group_size(shape)); }  // of k, v
  std::int64_t at_y(std::int64_t row) const { return offset(row, row_stride(shape), head); }
  std::int64_t offset(std::int64_t row, std::int64_t stride, std::int64_t of) const {
    return (batch * shape.sequence + row) * stride + of * shape.width;
  }
  std::int64_t row_index(std::int64_t row) const { return (batch * shape.heads + head) * shape.sequence + row; }
};

template <typename Function>
void for_each_head(const AttentionShape& shape, Function function) {
  for (std::int64_t batch = 0; batch < shape.batch; ++batch)
    for (std::int64_t head = 0; head < shape.heads; ++head) function(Head{shape, batch, head});
}

double dot(const float* a, const float* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

double score(const Head& head, const float* q, const float* k, std::int64_t i, std::int64_t j) {
  return dot(q + head.at(i), k + head.at_key(j), head.shape.width) / std::sqrt(static_cast<double>(head.shape.width));
}

}  // namespace

void attention(float* y, float* log_sum_exp, const float* q, const float* k, const float* v, const std::int32_t* step,
               const AttentionShape& shape, const Dropout& dropout) {
  std::vector<double> scores, row(static_cast<std::size_t>(shape.width));
  for_each_head(shape, [&](const Head& head) {
    for (std::int64_t i = 0; i < shape.sequence; ++i) {
      const std::int64_t keys = keys_before(shape, i + 1);
      scores.resize(static_cast<std::size_t>(keys));
      for (std::int64_t j = 0; j < keys; ++j) scores[static_cast<std::size_t>(j)] = score(head, q, k, i, j);
      const double largest = *std::max_element(scores.begin(), scores.end());
      double sum = 0;
      for (double s : scores) sum += std::exp(s - largest);
      std::fill(row.begin(), row.end(), 0);
      for (std::int64_t j = 0; j < keys; ++j) {
        const double weight = std::exp(scores[static_cast<std::size_t>(j)] - largest) / sum *
                              dropout_factor(dropout, *step, head.row_index(i) * shape.sequence + j);
        for (std::int64_t d = 0; d < shape.width; ++d) row[static_cast<std::size_t>(d)] += weight * v[head.at_key(j) + d];
      }
      std::copy(row.begin(), row.end(), y + head.at_y(i));
      if (log_sum_exp != nullptr) log_sum_exp[head.row_index(i)] = static_cast<float>(largest + std::log(sum));
    }
  });
}

// With p the softmax, m the mask's factors and s the scores: dv = (p m)^T dy, dp = m (dy v^T), ds = p (dp - rowsum(dy y)). dk
// and dv are sums over the heads of a group.
void attention_grad(float* dq, float* dk, float* dv, const float* dy, const float* q, const float* k, const float* v,
                    const float* y, const float* log_sum_exp, const std::int32_t* step, const AttentionShape& shape,
                    const Dropout& dropout) {
  const double scale = 1 / std::sqrt(static_cast<double>(shape.width));
  std::vector<double> sum_q(static_cast<std::size_t>(shape.width)), sum_k, sum_v;
  for_each_head(shape, [&](const Head& head) {
    if (head.head % group_size(shape) == 0)
      for (auto* sum : {&sum_k, &sum_v}) sum->assign(static_cast<std::size_t>(shape.sequence * shape.width), 0);
    for (std::int64_t i = 0; i < shape.sequence; ++i) {
      std::fill(sum_q.begin(), sum_q.end(), 0);
      const float* dy_row = dy + head.at_y(i);
      const double delta = dot(dy_row, y + head.at_y(i), shape.width);
      for (std::int64_t j = 0; j < keys_before(shape, i + 1); ++j) {
        const double p = std::exp(score(head, q, k, i, j) - log_sum_exp[head.row_index(i)]);
        const double factor = dropout_factor(dropout, *step, head.row_index(i) * shape.sequence + j);
        const double ds = p * (factor * dot(dy_row, v + head.at_key(j), shape.width) - delta) * scale;
        for (std::int64_t d = 0; d < shape.width; ++d) {
          const auto column = static_cast<std::size_t>(d), element = static_cast<std::size_t>(j * shape.width + d);
          sum_q[column] += ds * k[head.at_key(j) + d];
          sum_k[element] += ds * q[head.at(i) + d];
          sum_v[element] += p * factor * dy_row[d];
        }
      }
      std::copy(sum_q.begin(), sum_q.end(), dq + head.at(i));
    }
    if (head.head % group_size(shape) != group_size(shape) - 1) return;
    for (std::int64_t j = 0; j < shape.sequence; ++j) {
      std::copy_n(sum_k.begin() + j * shape.width, shape.width, dk + head.at_key(j));
      std::copy_n(sum_v.begin() + j * shape.width, shape.width, dv + head.at_key(j));
    }
  });
}

}  // namespace epochbench::reference
