// Code shared by a layer of long short-term memory and its gradient: the division among threads, and the scratch.
//
// A part is some sequences of the batch and some units. At each step it multiplies the state of its sequences by the weights of
// its units, and then computes the gates of its rows and units. The weights are packed once per call. The state is the output
// of all units of a sequence at the step before: h, or the gates' gradients in the gradient. The micro-kernel reads a copy of
// it, because rows of a step are a whole sequence apart in the tensors, often in one cache set. There are two copies, so that
// parts synchronize only once per step, and only if they share sequences.
#pragma once

#include "kernels/cpu/gemm/small.h"
#include "kernels/cpu/gemm/team.h"
#include "kernels/cpu/narrow.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

constexpr int kGates = 4;  // i, f, g, o

// In multiply-adds of words: a barrier of all threads, about 2 microseconds; and per word of weights in each step, the loads of
// the packed operand, and the transfer from a farther cache unless the weights of a part fit in half of a 1 MiB L2 cache.
constexpr std::int64_t kMeeting = 100'000, kLoadRows = 2, kTransferRows = 6, kNearWords = 131072;

struct LstmPlan {
  int team, by_batch, by_units;                                   // team == by_batch * by_units
  std::int64_t rows, units;                                       // of the largest part
  std::int64_t depth;                                             // words of a row of the state
  std::int64_t weights, state_stride, states, sums_stride, part;  // words: packed units, state row, copy; floats: sum row, part
};

// Units of a part, in multiples of a cache line; and its sequences.
static inline Range units_of_part(const LstmPlan& plan, const LstmShape& shape, int part) {
  return part_of(shape.units, part % plan.by_units, plan.by_units, 16);
}
static inline Range rows_of_part(const LstmPlan& plan, const LstmShape& shape, int part) {
  return part_of(shape.batch, part / plan.by_units, plan.by_batch, 1);
}

// depth: Reals of a row of the state; columns: of the weights of a unit.
static inline LstmPlan make_lstm_plan(const LstmShape& shape, int threads, std::int64_t depth, std::int64_t columns) {
  LstmPlan plan{};
  plan.team = team_size(
      2.0 * kGates * static_cast<double>(shape.batch * shape.sequence) * static_cast<double>(shape.units * shape.units),
      threads);
  plan.depth = word_count(depth);
  std::int64_t best = -1;
  for (int by_batch = 1; by_batch <= plan.team; ++by_batch) {
    if (plan.team % by_batch != 0 || by_batch > shape.batch) continue;
    const int by_units = plan.team / by_batch;
    const std::int64_t rows = divide_up(shape.batch, by_batch), units = divide_up(divide_up(shape.units, 16), by_units) * 16;
    const std::int64_t size = units * columns * plan.depth;
    const std::int64_t time =
        size * (rows + kLoadRows + (size > kNearWords ? kTransferRows : 0)) + (by_units > 1 ? kMeeting : 0);
    if (best >= 0 && time >= best) continue;
    best = time;
    plan.by_batch = by_batch;
    plan.by_units = by_units;
    plan.rows = rows;
    plan.units = min_of(units, shape.units);
  }
  plan.weights = columns * panels_words(depth, plan.units);
  plan.state_stride = spread_stride(plan.depth);
  plan.states = shape.batch * plan.state_stride;
  plan.sums_stride = spread_stride(columns * plan.units);
  plan.part = plan.rows * plan.sums_stride + round_up((plan.rows + 1) * plan.units, 16);
  return plan;
}

static inline std::size_t workspace_bytes(const LstmPlan& plan) {
  return sizeof(Word) * static_cast<std::size_t>(plan.by_units * plan.weights + 2 * plan.states) +
         sizeof(float) * static_cast<std::size_t>(plan.team * plan.part);
}

struct LstmScratch {
  Word *weights, *states;  // [by_units] panels; [2, batch, depth] at state_stride
  float* parts;            // [team]: sums [rows, columns * units] at sums_stride, cells [rows, units], values [units]
};
static inline LstmScratch lstm_scratch(void* workspace, const LstmPlan& plan) {
  Word* const weights = static_cast<Word*>(workspace);
  Word* const states = weights + plan.by_units * plan.weights;
  return {weights, states, reinterpret_cast<float*>(states + 2 * plan.states)};
}

struct LstmPart {
  Range rows, units;
  const Word* weights;
  float *sums, *cells, *values;
};
static inline LstmPart lstm_part(const LstmScratch& scratch, const LstmPlan& plan, const LstmShape& shape, int part) {
  float* const sums = scratch.parts + part * plan.part;
  float* const cells = sums + plan.rows * plan.sums_stride;
  return {rows_of_part(plan, shape, part),
          units_of_part(plan, shape, part),
          scratch.weights + part % plan.by_units * plan.weights,
          sums,
          cells,
          cells + plan.rows * plan.units};
}

static inline Word* state_row(const LstmScratch& scratch, const LstmPlan& plan, std::int64_t step, std::int64_t row) {
  return scratch.states + step % 2 * plan.states + row * plan.state_stride;
}
// Rounds n values to those of a row from `at` on.
static inline void store_state(Word* row, std::int64_t at, const float* values, std::int64_t n) {
#if EPOCHBENCH_WIDENED
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) row[at + i] = widen(narrow(values[i]));
#else
  narrow_all(reals(row) + at, values, n);
#endif
}

// The last word of a row may have numbers that no part writes.
static inline void finish_states(const LstmScratch& scratch, const LstmPlan& plan, std::int64_t depth, Range rows) {
  for (std::int64_t row = rows.begin; row < rows.end; ++row)
    for (std::int64_t i = depth; i < plan.depth * kWordDepth; ++i)
      reals(state_row(scratch, plan, 0, row))[i] = reals(state_row(scratch, plan, 1, row))[i] = Real{};
}

std::size_t lstm_grad_workspace_bytes(const LstmShape& shape, int threads);

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
