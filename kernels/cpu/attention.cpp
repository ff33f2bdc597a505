// Attention forward. Threads share out blocks of queries; a thread packs the keys and values of a pair once and keeps them for
// as many blocks of it as it has.
#include "kernels/cpu/attention.h"

#include <omp.h>

#include "kernels/cpu/exp.h"
#include "kernels/cpu/gemm/team.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

// Scores of a block: 64 KiB, a quarter of the smallest second-level cache in use. Half and twice as much are as fast.
constexpr std::int64_t kBlockFloats = 16384;

struct Plan {
  std::int64_t rows, blocks;                            // queries of a block at most, blocks of a pair
  std::int64_t keys, values, queries, scores, factors;  // floats of each part of a thread's scratch
  std::int64_t floats;                                  // of all
};

Plan make_plan(const AttentionShape& shape) {
  Plan plan{};
  plan.rows = block_rows(shape, kBlockFloats);
  plan.blocks = divide_up(shape.sequence, plan.rows);
  plan.keys = panels_words(shape.width, shape.sequence);
  plan.values = panels_words(shape.sequence, shape.width);
  plan.queries = plan.rows * spread_stride(shape.width);
  plan.scores = plan.rows * spread_stride(shape.sequence);
  plan.factors = round_up(plan.rows, 16);
  plan.floats = plan.keys + plan.values + plan.queries + plan.scores + plan.factors + mask_words(shape.sequence);
  return plan;
}

struct Scratch {
  float *keys, *values;  // panels of k^T [width,sequence] and of v [sequence,width]
  float* queries;        // [rows,width] at spread_stride
  float* scores;         // [rows,sequence] at spread_stride; then unnormalized weights
  float* factors;        // [rows]: what normalizes them
  std::uint32_t* words;
};

Scratch make_scratch(float* base, const Plan& plan) {
  Scratch scratch{};
  scratch.keys = base;
  scratch.values = scratch.keys + plan.keys;
  scratch.queries = scratch.values + plan.values;
  scratch.scores = scratch.queries + plan.queries;
  scratch.factors = scratch.scores + plan.scores;
  scratch.words = reinterpret_cast<std::uint32_t*>(scratch.factors + plan.factors);
  return scratch;
}

struct RowSum {
  float shift, sum;  // of exp(score - shift)
};

// A row of scores becomes exp(score - largest).
RowSum exponentials(float* row, float scale, std::int64_t n) {
  float largest = row[0];
#pragma omp simd reduction(max : largest)
  for (std::int64_t j = 0; j < n; ++j) largest = row[j] > largest ? row[j] : largest;
  const float shift = scale * largest;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < n; ++j) {
    const float value = exp_of_nonpositive(scale * row[j] - shift);
    row[j] = value;
    sum += value;
  }
  return {shift, sum};
}

void drop(float* row, const std::uint32_t* words, std::uint32_t threshold, std::int64_t n) {
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) row[j] = words[j] >= threshold ? row[j] : 0;
}

struct Call {
  float *y, *log_sum_exp;
  const float *q, *k, *v;
  std::int32_t step;
  AttentionShape shape;
  Dropout dropout;
};

void softmax(const Call& call, const Scratch& scratch, std::int64_t pair, Range queries) {
  const AttentionShape& shape = call.shape;
  const float scale = score_scale(shape);
  for (std::int64_t i = queries.begin; i < queries.end; ++i) {
    float* row = scratch.scores + (i - queries.begin) * spread_stride(shape.sequence);
    const RowSum row_sum = exponentials(row, scale, shape.sequence);
    if (call.log_sum_exp != nullptr)
      call.log_sum_exp[pair * shape.sequence + i] =
          static_cast<float>(row_sum.shift + __builtin_log(static_cast<double>(row_sum.sum)));
    scratch.factors[i - queries.begin] = call.dropout.scale / row_sum.sum;
    if (call.dropout.threshold != 0) {
      const Range keys{0, shape.sequence};
      drop(row, draw_mask(scratch.words, shape, pair, i, keys, call.step, call.dropout), call.dropout.threshold,
           shape.sequence);
    }
  }
}

void attend(const Call& call, const Scratch& scratch, std::int64_t pair, Range queries) {
  const AttentionShape& shape = call.shape;
  const std::int64_t rows = queries.end - queries.begin, stride = row_stride(shape);
  const std::int64_t query_stride = spread_stride(shape.width), score_stride = spread_stride(shape.sequence);
  float* const y = call.y + row_offset(shape, pair, queries.begin);
  copy_rows(scratch.queries, query_stride, call.q + row_offset(shape, pair, queries.begin), stride, rows, shape.width);
  multiply_small({scratch.scores, score_stride, scratch.queries, query_stride, AccessA::rows, scratch.keys, rows,
                  shape.sequence, shape.width, false});
  softmax(call, scratch, pair, queries);
  multiply_small(
      {y, stride, scratch.scores, score_stride, AccessA::rows, scratch.values, rows, shape.width, shape.sequence, false});
  for (std::int64_t i = 0; i < rows; ++i) {
    const float factor = scratch.factors[i];
#pragma omp simd
    for (std::int64_t d = 0; d < shape.width; ++d) y[i * stride + d] *= factor;
  }
}

double flops_of(const AttentionShape& shape) {
  return 4 * static_cast<double>(pair_count(shape)) * static_cast<double>(shape.sequence) *
         static_cast<double>(shape.sequence) * static_cast<double>(shape.width);
}

}  // namespace

std::size_t attention_workspace_bytes(const AttentionShape& shape, int threads) {
  const auto forward = static_cast<std::size_t>(threads * make_plan(shape).floats) * sizeof(float);
  const std::size_t grad = attention_grad_workspace_bytes(shape, threads);
  return forward > grad ? forward : grad;
}

void attention(float* y, float* log_sum_exp, const float* q, const float* k, const float* v, const std::int32_t* step,
               const AttentionShape& shape, const Dropout& dropout, void* workspace, int threads) {
  const Call call{y, log_sum_exp, q, k, v, *step, shape, dropout};
  const Plan plan = make_plan(shape);
  const int team = team_size(flops_of(shape), threads);
#pragma omp parallel num_threads(team) if (team > 1)
  {
    const int thread = omp_get_thread_num();
    const Scratch scratch = make_scratch(static_cast<float*>(workspace) + thread * plan.floats, plan);
    const Range items = part_of(pair_count(shape) * plan.blocks, thread, omp_get_num_threads(), 1);
    std::int64_t packed = -1;
    for (std::int64_t item = items.begin; item < items.end; ++item) {
      const std::int64_t pair = item / plan.blocks, first = row_offset(shape, pair, 0);
      if (pair != packed) {
        pack_panels_transposed(scratch.keys, k + first, row_stride(shape), shape.width, shape.sequence);
        pack_panels(scratch.values, v + first, row_stride(shape), shape.sequence, shape.width);
        packed = pair;
      }
      attend(call, scratch, pair, cut_into(shape.sequence, plan.blocks)[item % plan.blocks]);
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
