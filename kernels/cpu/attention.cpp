// Attention forward. Threads divide the blocks of queries; a thread packs the keys and values of a group of pairs once and
// reuses them for all of its blocks of these pairs. With causal attention, a block of queries is multiplied only by the keys up
// to its last query.
#include "kernels/cpu/attention.h"

#include <omp.h>

#include "kernels/cpu/attention_rows.h"
#include "kernels/cpu/gemm/team.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

// Scores of a block: 64 KiB, a quarter of the smallest common L2 cache. Half or twice as much is equally fast. AMX multiplies
// so much faster that reading scores from L2 matters: 16 KiB and their weights stay in a 48 KiB L1 cache.
constexpr std::int64_t kBlockFloats = EPOCHBENCH_AMX ? 4096 : 16384;

struct Plan {
  std::int64_t rows, blocks;  // maximum number of queries per block, number of blocks per pair
  // Sizes of the parts of a thread's scratch in words or floats, and their total in floats.
  std::int64_t keys, values, queries, scores, weights, outputs, factors, rounded, total_floats;
};

Plan make_plan(const AttentionShape& shape) {
  Plan plan{};
  plan.rows = block_rows(shape, kBlockFloats);
  plan.blocks = divide_up(shape.sequence, plan.rows);
  plan.keys = panels_words(shape.width, shape.sequence);
  plan.values = panels_words(shape.sequence, shape.width);
  plan.queries = plan.rows * spread_stride(word_count(shape.width));
  plan.scores = plan.rows * spread_stride(shape.sequence);
  plan.weights = kWordDepth == 1 ? 0 : plan.rows * spread_stride(word_count(shape.sequence));
  plan.outputs = plan.rows * spread_stride(shape.width);
  plan.factors = round_up(plan.rows, 16);
  plan.rounded = row_reals(shape.sequence) / 2;
  plan.total_floats = kWordFloats * (plan.keys + plan.values + plan.queries + plan.weights) + plan.scores + plan.outputs +
                      2 * plan.factors + plan.rounded + mask_words(shape.sequence);
  return plan;
}

struct Scratch {
  Word *keys, *values;  // panels of k^T [width,sequence] and of v [sequence,width]
  Word* queries;        // [rows,width] at spread_stride
  float* scores;        // [rows,sequence] at spread_stride
  Word* weights;        // [rows,sequence] at spread_stride, unnormalized; for floats the same memory as the scores
  float* outputs;       // [rows,width] at spread_stride, unnormalized
  float* factors;       // [rows]: normalization factors
  float* shifts;        // [rows]: subtracted from exponents
  Real* rounded;        // see rounded_row
  std::uint32_t* random;
};

Scratch make_scratch(float* base, const Plan& plan) {
  Scratch scratch{};
  scratch.scores = base;
  scratch.outputs = scratch.scores + plan.scores;
  scratch.factors = scratch.outputs + plan.outputs;
  scratch.shifts = scratch.factors + plan.factors;
  scratch.keys = reinterpret_cast<Word*>(scratch.shifts + plan.factors);
  scratch.values = scratch.keys + plan.keys;
  scratch.queries = scratch.values + plan.values;
  scratch.weights = scratch.queries + plan.queries;
  scratch.rounded = reals(scratch.weights + plan.weights);
  scratch.random = reinterpret_cast<std::uint32_t*>(scratch.rounded) + plan.rounded;
  if (kWordDepth == 1) scratch.weights = reinterpret_cast<Word*>(scratch.scores);
  return scratch;
}

struct Call {
  Real* y;
  float* log_sum_exp;
  const Real *q, *k, *v;
  AttentionShape shape;
  Dropout dropout;
  PhiloxKeys philox;
};

// Turns scores into weights in loops over independent rows. Stores the factors that normalize the outputs.
template <bool kMasked>
void softmax(const Call& call, const Scratch& scratch, std::int64_t pair, Range queries) {
  const AttentionShape& shape = call.shape;
  const float scale = score_scale(shape);
  const Real* const keys_and_values[] = {call.k, call.v};
  const std::int64_t keys = keys_before(shape, queries.end), rows = queries.end - queries.begin;
  const std::int64_t score_stride = spread_stride(shape.sequence), weight_stride = spread_stride(word_count(shape.sequence));
  for (std::int64_t i = 0; i < rows; ++i)
    scratch.shifts[i] = row_shift(scratch.scores + i * score_stride, scale, keys_before(shape, queries.begin + i + 1));
  for (std::int64_t i = 0; i < rows; ++i) {
    prefetch_next(call.q, shape, pair, queries.begin + i, input_stride(shape));
    for (const Real* input : keys_and_values) prefetch_next_keys(input, shape, pair, queries.begin + i);
    const std::int64_t n = keys_before(shape, queries.begin + i + 1);
    RowMask mask{};
    if constexpr (kMasked) mask = row_mask(scratch.random, shape, pair, queries.begin + i, {0, n}, call.dropout, call.philox);
    Word* const operand = scratch.weights + i * weight_stride;
    Real* const weights = rounded_row(operand, scratch.rounded);
    scratch.factors[i] = softmax_row<kMasked>(weights, scratch.scores + i * score_stride, scale, scratch.shifts[i], mask, n);
    finish_weights(operand, weights, n, keys);
  }
  if (call.log_sum_exp != nullptr) {
    float* const log_sum_exp = call.log_sum_exp + pair * shape.sequence + queries.begin;
#pragma omp simd
    for (std::int64_t i = 0; i < rows; ++i) log_sum_exp[i] = log_sum_exp_of(scratch.shifts[i], scratch.factors[i]);
  }
#pragma omp simd
  for (std::int64_t i = 0; i < rows; ++i) scratch.factors[i] = call.dropout.scale / scratch.factors[i];
}

// y = factor * output
void normalize(Real* y, const float* output, float factor, std::int64_t n) {
#if EPOCHBENCH_BF16_LANES
  across_registers(n, [=](auto part, std::int64_t d) { store(part, y + d, load(part, output + d) * _mm512_set1_ps(factor)); });
#else
#pragma omp simd
  for (std::int64_t d = 0; d < n; ++d) y[d] = narrow(output[d] * factor);
#endif
}

void attend(const Call& call, const Scratch& scratch, std::int64_t pair, Range queries) {
  const AttentionShape& shape = call.shape;
  const std::int64_t keys = keys_before(shape, queries.end);
  const std::int64_t rows = queries.end - queries.begin, stride = row_stride(shape), stride_q = input_stride(shape);
  const std::int64_t query_stride = spread_stride(word_count(shape.width)), score_stride = spread_stride(shape.sequence);
  const std::int64_t weight_stride = spread_stride(word_count(shape.sequence)), output_stride = spread_stride(shape.width);
  Real* const y = call.y + row_offset(shape, pair, queries.begin, stride);
  copy_rows(scratch.queries, query_stride, call.q + row_offset(shape, pair, queries.begin, stride_q), stride_q, rows,
            shape.width);
  multiply_small({scratch.scores, score_stride, scratch.queries, query_stride, AccessA::rows, scratch.keys, rows,
                  panel_columns(keys, shape.sequence), word_count(shape.width), false});
  if (call.dropout.threshold == 0)
    softmax<false>(call, scratch, pair, queries);
  else
    softmax<true>(call, scratch, pair, queries);
  multiply_small({scratch.outputs, output_stride, scratch.weights, weight_stride, AccessA::rows, scratch.values, rows,
                  shape.width, word_count(keys), false, nullptr, 0, word_count(shape.sequence)});
  for (std::int64_t i = 0; i < rows; ++i)
    normalize(y + i * stride, scratch.outputs + i * output_stride, scratch.factors[i], shape.width);
}

// The `index`-th block of queries. Causal blocks alternate between the beginning and the end of the sequence, so that any two
// neighbors together have about as many keys as any others, and the threads get equal parts.
std::int64_t block_at(const AttentionShape& shape, std::int64_t index, std::int64_t blocks) {
  if (!shape.causal) return index;
  return index % 2 == 0 ? index / 2 : blocks - 1 - index / 2;
}

}  // namespace

std::size_t attention_workspace_bytes(const AttentionShape& shape, int threads) {
  const auto forward = static_cast<std::size_t>(threads * make_plan(shape).total_floats) * sizeof(float);
  const std::size_t grad = attention_grad_workspace_bytes(shape, threads);
  return forward > grad ? forward : grad;
}

void attention(Real* y, float* log_sum_exp, const Real* q, const Real* k, const Real* v, const std::int32_t* step,
               const AttentionShape& shape, const Dropout& dropout, void* workspace, int threads) {
  const Call call{y, log_sum_exp, q, k, v, shape, dropout, PhiloxKeys(*step, dropout)};
  const Plan plan = make_plan(shape);
  const int team = team_size(2 * product_flops(shape), threads);
#pragma omp parallel num_threads(team) if (team > 1)
  {
    const int thread = omp_get_thread_num();
    const Scratch scratch = make_scratch(static_cast<float*>(workspace) + thread * plan.total_floats, plan);
    const MicrokernelScope scope;
    const Range items = part_of(pair_count(shape) * plan.blocks, thread, omp_get_num_threads(), 1);
    std::int64_t packed = -1;
    for (std::int64_t item = items.begin; item < items.end; ++item) {
      const std::int64_t pair = item / plan.blocks, group = pair / group_size(shape), stride = key_stride(shape);
      if (group != packed) {
        const std::int64_t first = key_offset(shape, group, 0);
        pack_panels_transposed(scratch.keys, k + first, stride, shape.width, shape.sequence);
        pack_panels(scratch.values, v + first, stride, shape.sequence, shape.width);
        packed = group;
      }
      attend(call, scratch, pair, cut_into(shape.sequence, plan.blocks)[block_at(shape, item % plan.blocks, plan.blocks)]);
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
