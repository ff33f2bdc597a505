// Attention backward: recomputes the weights from the scores and log_sum_exp (Dao et al., "FlashAttention", 2022).
//
// A thread processes whole groups of pairs, which have the same keys, and accumulates their dk and dv over the pairs' blocks of
// queries. If there are fewer groups than half the threads, a group is split into shares of keys, each computing its dk and dv,
// and shares of queries, each computing its dq.
// Both kinds recompute the weights they need: 7 products in all instead of 5, but no two threads add to the same sum.
//
// With causal attention, a block of queries is multiplied only by the keys up to its last query. Where groups are split, one
// thread processes the share of keys and the share of queries with the same number; together they are about as much work as any
// other two.
#include <omp.h>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/gemm/team.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

// Scores of a block. The gradient of its weights takes as much again: together a quarter of a 1 MiB L2 cache.
constexpr std::int64_t kBlockFloats = 32768;

struct Plan {
  std::int64_t rows;  // maximum number of queries per block
  // Sizes in words or floats: panels of keys, rows of a block, panels of queries, sums of keys; the total in floats.
  std::int64_t transposed, panels, queries, scores, weights, columns, query_panels, delta, sums, rounded, total_floats;
};

Plan make_plan(const AttentionShape& shape) {
  Plan plan{};
  plan.rows = block_rows(shape, kBlockFloats);
  plan.transposed = panels_words(shape.width, shape.sequence);
  plan.panels = panels_words(shape.sequence, shape.width);
  plan.queries = plan.rows * spread_stride(word_count(shape.width));
  plan.scores = plan.rows * spread_stride(shape.sequence);
  plan.weights = kWordDepth == 1 ? 0 : plan.rows * spread_stride(word_count(shape.sequence));
  plan.columns = kWordDepth == 1 ? 0 : transposed_words(plan.rows, shape.sequence);
  plan.query_panels = panels_words(plan.rows, shape.width);
  plan.delta = round_up(plan.rows, 16);
  plan.sums = plan.rows == shape.sequence && group_size(shape) == 1 ? 0 : shape.sequence * spread_stride(shape.width);
  plan.rounded = row_reals(shape.sequence) / 2;
  plan.total_floats =
      kWordFloats * (2 * (plan.transposed + plan.queries + plan.weights + plan.query_panels) + plan.panels + plan.columns) +
      2 * (plan.scores + plan.sums + plan.rounded) + plan.delta + mask_words(shape.sequence);
  return plan;
}

struct Scratch {
  Word *k_transposed, *v_transposed;        // panels of [width,keys]
  Word* k_panels;                           // panels of [keys,width]
  Word *q_rows, *dy_rows;                   // [rows,width] at spread_stride
  Word *q_panels, *dy_panels;               // panels of [rows,width]
  float *qk, *dyv;                          // products q k^T and dy v^T, [rows,keys] at spread_stride
  Word *weights, *dscores;                  // [rows,keys] at spread_stride; for floats the same memory as the products
  Word* columns;                            // one of these as a transposed operand, where a word is a pair
  float *dk, *dv;                           // sums [keys,width] at spread_stride, if a group has several blocks
  float* delta;                             // [rows]: dy . y
  Real *rounded_weights, *rounded_dscores;  // see rounded_row
  std::uint32_t* random;
};

Scratch make_scratch(float* base, const Plan& plan) {
  Scratch scratch{};
  scratch.qk = base;
  scratch.dyv = scratch.qk + plan.scores;
  scratch.dk = scratch.dyv + plan.scores;
  scratch.dv = scratch.dk + plan.sums;
  scratch.delta = scratch.dv + plan.sums;
  scratch.k_transposed = reinterpret_cast<Word*>(scratch.delta + plan.delta);
  scratch.v_transposed = scratch.k_transposed + plan.transposed;
  scratch.k_panels = scratch.v_transposed + plan.transposed;
  scratch.q_rows = scratch.k_panels + plan.panels;
  scratch.dy_rows = scratch.q_rows + plan.queries;
  scratch.q_panels = scratch.dy_rows + plan.queries;
  scratch.dy_panels = scratch.q_panels + plan.query_panels;
  scratch.weights = scratch.dy_panels + plan.query_panels;
  scratch.dscores = scratch.weights + plan.weights;
  scratch.columns = scratch.dscores + plan.weights;
  scratch.rounded_weights = reals(scratch.columns + plan.columns);
  scratch.rounded_dscores = scratch.rounded_weights + 2 * plan.rounded;
  scratch.random = reinterpret_cast<std::uint32_t*>(scratch.rounded_weights) + 2 * plan.rounded;
  if (kWordDepth == 1) {
    scratch.weights = reinterpret_cast<Word*>(scratch.qk);
    scratch.dscores = reinterpret_cast<Word*>(scratch.dyv);
  }
  return scratch;
}

struct Call {
  Real *dq, *dk, *dv;
  const Real *dy, *q, *k, *v, *y;
  const float* log_sum_exp;
  AttentionShape shape;
  Dropout dropout;
  PhiloxKeys philox;
};

struct Task {  // part of a group
  std::int64_t group;
  Range queries, keys;
  bool needs_dq, needs_dkv;  // dq is complete if the task has all keys, dk and dv if it has all queries
};

// 1, or the number of shares of keys (and of queries) that a group is split into; see the top of this file. A share is at least
// one vector wide.
std::int64_t shares_of(const AttentionShape& shape, int team) {
  return max_of(min_of(team / max_of(group_count(shape), 1), shape.sequence / kLanes), 1);
}

struct Block {  // of queries of a task's pair
  std::int64_t pair;
  Range queries;
  bool first, last;  // of its task
};

// The number of keys that the products of a block of queries multiply: those that at least one query has.
std::int64_t keys_of(const AttentionShape& shape, const Task& task, Range queries) {
  return min_of(keys_before(shape, queries.end), task.keys.end) - task.keys.begin;
}
// The same for one query.
std::int64_t keys_of(const AttentionShape& shape, const Task& task, std::int64_t query) {
  return keys_of(shape, task, Range{query, query + 1});
}

Task task_of(const AttentionShape& shape, std::int64_t shares, std::int64_t index) {
  const Range all{0, shape.sequence};
  if (shares == 1) return {index, all, all, true, true};
  const std::int64_t share = index / 2 % shares, group = index / (2 * shares);
  const Range part = cut_into(shape.sequence, shares)[share];
  const Range queries{shape.causal ? part.begin : 0, shape.sequence}, keys{0, keys_before(shape, part.end)};
  if (index % 2 == 0) return {group, queries, part, false, true};
  return {group, part, keys, true, false};
}

#if EPOCHBENCH_BF16_LANES
float dot(const Real* a, const Real* b, std::int64_t n) {
  Lanes sum = _mm512_setzero_ps();
  across_registers(n, [&](auto part, std::int64_t i) { sum = _mm512_fmadd_ps(load(part, a + i), load(part, b + i), sum); });
  return sum_in(sum);
}
#else
float dot(const Real* a, const Real* b, std::int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += widen(a[i]) * widen(b[i]);
  return sum;
}
#endif

// A separate loop, so that the cache misses of many rows overlap: the rows are pages apart.
void fill_delta(const Call& call, const Scratch& scratch, std::int64_t pair, Range queries) {
  const std::int64_t stride = row_stride(call.shape), offset = row_offset(call.shape, pair, queries.begin, stride);
  const std::int64_t rows = queries.end - queries.begin;
  for (std::int64_t i = 0; i < rows; ++i)
    scratch.delta[i] = dot(call.dy + offset + i * stride, call.y + offset + i * stride, call.shape.width);
}

template <bool kMasked>
void compute_block_weights(const Call& call, const Scratch& scratch, const Task& task, const Block& block) {
  const AttentionShape& shape = call.shape;
  const Range queries = block.queries;
  const std::int64_t keys = keys_of(shape, task, queries);
  const Real *const keys_and_values[] = {call.k, call.v}, *const outputs[] = {call.dy, call.y};
  const std::int64_t score_stride = spread_stride(shape.sequence), weight_stride = spread_stride(word_count(shape.sequence));
  for (std::int64_t i = queries.begin; i < queries.end; ++i) {
    prefetch_next(call.q, shape, block.pair, i, input_stride(shape));
    for (const Real* input : keys_and_values) prefetch_next_keys(input, shape, block.pair, i);
    for (const Real* output : outputs) prefetch_next(output, shape, block.pair, i, row_stride(shape));
    const GradRow row{score_scale(shape), call.log_sum_exp[block.pair * shape.sequence + i], scratch.delta[i - queries.begin]};
    const float *qk = scratch.qk + (i - queries.begin) * score_stride, *dyv = scratch.dyv + (i - queries.begin) * score_stride;
    Word* const weight_words = scratch.weights + (i - queries.begin) * weight_stride;
    Word* const dscore_words = scratch.dscores + (i - queries.begin) * weight_stride;
    Real* const weights = rounded_row(weight_words, scratch.rounded_weights);
    Real* const dscores = rounded_row(dscore_words, scratch.rounded_dscores);
    const std::int64_t n = keys_of(shape, task, i);
    const Range seen{task.keys.begin, task.keys.begin + n};
    RowMask mask{};
    if constexpr (kMasked) mask = row_mask(scratch.random, shape, block.pair, i, seen, call.dropout, call.philox);
    grad_row<kMasked>(weights, dscores, qk, dyv, row, mask, n);
    finish_weights(weight_words, weights, n, keys);
    finish_weights(dscore_words, dscores, n, keys);
  }
}

// Whether the sums of keys are read. With causal attention, each block of a pair adds to more keys than the one before, so
// their sums start at 0; the last block has all keys.
bool adds(const Call& call, const Block& block) { return call.shape.causal ? !(block.first && block.last) : !block.first; }

// dv or dk: y [keys,width] = (sum +) a^T b, rounded after the last block. a [rows,keys] at spread_stride, b in panels.
void add_block(Real* y, float* sum, const Word* a, const Word* b, const Call& call, const Scratch& scratch, const Task& task,
               const Block& block) {
  const std::int64_t rows = block.queries.end - block.queries.begin, keys = keys_of(call.shape, task, block.queries);
  const std::int64_t width = call.shape.width;
  SmallProduct product{sum,
                       spread_stride(width),
                       a,
                       spread_stride(word_count(call.shape.sequence)),
                       AccessA::columns,
                       b,
                       keys,
                       width,
                       word_count(rows),
                       adds(call, block)};
  if (kWordDepth > 1) {
    product.a = scratch.columns;
    product.a_stride = transposed_stride(rows, keys);
    product.access = kPackedTransposedA;
    pack_transposed(scratch.columns, product.a_stride, reinterpret_cast<const Real*>(a),
                    kWordDepth * spread_stride(word_count(call.shape.sequence)), rows, keys);
  }
  if (block.last) {
    product.y = y;
    product.y_stride = key_stride(call.shape);
  }
  multiply_small(product);
}

void differentiate(const Call& call, const Scratch& scratch, const Task& task, const Block& block) {
  const AttentionShape& shape = call.shape;
  const Range queries = block.queries;
  const std::int64_t rows = queries.end - queries.begin, keys = keys_of(shape, task, queries);
  const std::int64_t all = task.keys.end - task.keys.begin, columns = panel_columns(keys, all);
  const std::int64_t stride = input_stride(shape), stride_y = row_stride(shape), width = shape.width;
  const std::int64_t packed_stride = spread_stride(word_count(width)), score_stride = spread_stride(shape.sequence);
  const std::int64_t offset = row_offset(shape, block.pair, queries.begin, stride);
  const std::int64_t offset_y = row_offset(shape, block.pair, queries.begin, stride_y);
  copy_rows(scratch.q_rows, packed_stride, call.q + offset, stride, rows, width);
  copy_rows(scratch.dy_rows, packed_stride, call.dy + offset_y, stride_y, rows, width);
  multiply_small({scratch.qk, score_stride, scratch.q_rows, packed_stride, AccessA::rows, scratch.k_transposed, rows, columns,
                  word_count(width), false});
  multiply_small({scratch.dyv, score_stride, scratch.dy_rows, packed_stride, AccessA::rows, scratch.v_transposed, rows, columns,
                  word_count(width), false});
  fill_delta(call, scratch, block.pair, queries);
  if (call.dropout.threshold == 0)
    compute_block_weights<false>(call, scratch, task, block);
  else
    compute_block_weights<true>(call, scratch, task, block);
  if (task.needs_dq)
    multiply_small({nullptr, 0, scratch.dscores, spread_stride(word_count(shape.sequence)), AccessA::rows, scratch.k_panels,
                    rows, width, word_count(keys), false, call.dq + offset, stride, word_count(all)});
  if (!task.needs_dkv) return;
  const std::int64_t first_key = key_offset(shape, task.group, task.keys.begin);
  if (kWidens) {
    pack_panels(scratch.q_panels, call.q + offset, stride, rows, width);
    pack_panels(scratch.dy_panels, call.dy + offset_y, stride_y, rows, width);
  } else {  // from rows that are near each other
    pack_panels(scratch.q_panels, reals(scratch.q_rows), kWordDepth * packed_stride, rows, width);
    pack_panels(scratch.dy_panels, reals(scratch.dy_rows), kWordDepth * packed_stride, rows, width);
  }
  add_block(call.dv + first_key, scratch.dv, scratch.weights, scratch.dy_panels, call, scratch, task, block);
  add_block(call.dk + first_key, scratch.dk, scratch.dscores, scratch.q_panels, call, scratch, task, block);
}

void perform(const Call& call, const Scratch& scratch, const Task& task, std::int64_t block_rows) {
  const AttentionShape& shape = call.shape;
  const std::int64_t stride = key_stride(shape), keys = task.keys.end - task.keys.begin, group = group_size(shape);
  const std::int64_t offset = key_offset(shape, task.group, task.keys.begin);
  pack_panels_transposed(scratch.k_transposed, call.k + offset, stride, shape.width, keys);
  pack_panels_transposed(scratch.v_transposed, call.v + offset, stride, shape.width, keys);
  if (task.needs_dq) pack_panels(scratch.k_panels, call.k + offset, stride, keys, shape.width);
  float* const sums[] = {scratch.dk, scratch.dv};
  if (shape.causal && task.needs_dkv && (group > 1 || task.queries.end - task.queries.begin > block_rows))
    for (float* sum : sums)
      __builtin_memset(sum, 0, static_cast<std::size_t>(keys * spread_stride(shape.width)) * sizeof(float));
  for (std::int64_t i = 0; i < group; ++i)
    for (std::int64_t begin = task.queries.begin; begin < task.queries.end; begin += block_rows) {
      const std::int64_t end = min_of(begin + block_rows, task.queries.end);
      const bool first = i == 0 && begin == task.queries.begin, last = i == group - 1 && end == task.queries.end;
      differentiate(call, scratch, task, {task.group * group + i, {begin, end}, first, last});
    }
}

}  // namespace

std::size_t attention_grad_workspace_bytes(const AttentionShape& shape, int threads) {
  return static_cast<std::size_t>(threads * make_plan(shape).total_floats) * sizeof(float);
}

void attention_grad(Real* dq, Real* dk, Real* dv, const Real* dy, const Real* q, const Real* k, const Real* v, const Real* y,
                    const float* log_sum_exp, const std::int32_t* step, const AttentionShape& shape, const Dropout& dropout,
                    void* workspace, int threads) {
  const Call call{dq, dk, dv, dy, q, k, v, y, log_sum_exp, shape, dropout, PhiloxKeys(*step, dropout)};
  const Plan plan = make_plan(shape);
  const int team = team_size(5 * product_flops(shape), threads);
  const std::int64_t shares = shares_of(shape, team);
  const std::int64_t tasks = group_count(shape) * (shares == 1 ? 1 : 2 * shares);
#pragma omp parallel num_threads(team) if (team > 1)
  {
    const int thread = omp_get_thread_num();
    const Scratch scratch = make_scratch(static_cast<float*>(workspace) + thread * plan.total_floats, plan);
    const MicrokernelScope scope;
    const Range part = part_of(tasks, thread, omp_get_num_threads(), 1);
    for (std::int64_t i = part.begin; i < part.end; ++i) perform(call, scratch, task_of(shape, shares, i), plan.rows);
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
