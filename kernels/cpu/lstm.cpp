// Long short-term memory forward: at each step a product with the packed recurrent weights, then gates, cells and h of the
// part's rows and units, which are still in the nearest cache.
#include "kernels/cpu/lstm.h"

#include <omp.h>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/narrow.h"
#include "kernels/cpu/sigmoid.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

struct Call {
  Real* gates;
  float* cells;
  Real *h, *previous;
  const Real *x, *weight;
  LstmShape shape;
  LstmPlan plan;
  LstmScratch scratch;
};

LstmPlan plan_of(const LstmShape& shape, int threads) { return make_lstm_plan(shape, threads, shape.units, kGates); }

// Share `index` of `count` of the panels of all gates, [units, 4*units of the part] transposed.
void pack(const Call& call, int index, int count) {
  const std::int64_t units = call.shape.units, each = panels_words(units, call.plan.units);
  for (std::int64_t job = index; job < std::int64_t{kGates} * call.plan.by_units; job += count) {
    const std::int64_t part = job / kGates, gate = job % kGates;
    const Range own = units_of_part(call.plan, call.shape, static_cast<int>(part));
    pack_panels_transposed(call.scratch.weights + part * call.plan.weights + gate * each,
                           call.weight + (gate * units + own.begin) * units, units, units, own.end - own.begin);
  }
}

// sums [rows, 4, units] of the part = h of the step before, times the weights; 0 at the first step.
void multiply(const Call& call, const LstmPart& part, std::int64_t step) {
  const std::int64_t rows = part.rows.end - part.rows.begin, units = call.plan.units, stride = call.plan.sums_stride;
  if (step == 0) {
    for (std::int64_t i = 0; i < rows * stride; ++i) part.sums[i] = 0;
    for (std::int64_t i = 0; i < rows * units; ++i) part.cells[i] = 0;
    return;
  }
  const Word* const state = state_row(call.scratch, call.plan, step, part.rows.begin);
  for (std::int64_t gate = 0; gate < kGates; ++gate)
    multiply_small({part.sums + gate * units, stride, state, call.plan.state_stride, AccessA::rows,
                    part.weights + gate * panels_words(call.shape.units, units), rows, part.units.end - part.units.begin,
                    call.plan.depth, false});
}

// One sequence at one step.
void activate(const Call& call, const LstmPart& part, std::int64_t row, std::int64_t step) {
  const std::int64_t units = call.shape.units, n = part.units.end - part.units.begin, stride = call.plan.units;
  const std::int64_t position = row * call.shape.sequence + step, at = position * units + part.units.begin;
  float* const sums = part.sums + (row - part.rows.begin) * call.plan.sums_stride;
  float* const cells = part.cells + (row - part.rows.begin) * stride;
  const Real* const x = call.x + position * kGates * units + part.units.begin;
  for (std::int64_t gate = 0; gate < kGates; ++gate) {
    float* const sum = sums + gate * stride;
    const Real* const from = x + gate * units;
    if (gate == 2) {
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) sum[i] = tanh_of(sum[i] + widen(from[i]));
    } else {
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) sum[i] = sigmoid_of(sum[i] + widen(from[i]));
    }
  }
  const float *const input = sums, *const forget = sums + stride, *const update = sums + 2 * stride,
                     *const output = sums + 3 * stride;
  float* const values = part.values;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    cells[i] = forget[i] * cells[i] + input[i] * update[i];
    values[i] = output[i] * tanh_of(cells[i]);
  }
  narrow_all(call.h + at, values, n);
  const bool last = step + 1 == call.shape.sequence;
  if (!last) store_state(state_row(call.scratch, call.plan, step + 1, row), part.units.begin, values, n);
  if (call.previous != nullptr) {
    if (step == 0)
      for (std::int64_t i = 0; i < n; ++i) call.previous[at + i] = Real{};
    if (!last) narrow_all(call.previous + at + units, values, n);
  }
  if (call.cells != nullptr)
    for (std::int64_t i = 0; i < n; ++i) call.cells[at + i] = cells[i];
  for (std::int64_t gate = 0; gate < kGates && call.gates != nullptr; ++gate)
    narrow_all(call.gates + position * kGates * units + gate * units + part.units.begin, sums + gate * stride, n);
}

}  // namespace

std::size_t lstm_workspace_bytes(const LstmShape& shape, int threads) {
  const std::size_t forward = workspace_bytes(plan_of(shape, threads)), grad = lstm_grad_workspace_bytes(shape, threads);
  return forward > grad ? forward : grad;
}

void lstm(Real* gates, float* cells, Real* h, Real* previous, const Real* x, const Real* weight, const LstmShape& shape,
          void* workspace, int threads) {
  const LstmPlan plan = plan_of(shape, threads);
  const Call call{gates, cells, h, previous, x, weight, shape, plan, lstm_scratch(workspace, plan)};
#pragma omp parallel num_threads(plan.team) if (plan.team > 1)
  {
    // The runtime may grant fewer threads than there are parts.
    const int thread = omp_get_thread_num(), granted = omp_get_num_threads();
    const MicrokernelScope scope;
    pack(call, thread, granted);
    for (int part = thread; part < plan.team; part += granted)
      if (part % plan.by_units == 0) finish_states(call.scratch, plan, shape.units, rows_of_part(plan, shape, part));
#pragma omp barrier
    for (std::int64_t step = 0; step < shape.sequence; ++step) {
      for (int index = thread; index < plan.team; index += granted) {
        const LstmPart part = lstm_part(call.scratch, plan, shape, index);
        multiply(call, part, step);
        for (std::int64_t row = part.rows.begin; row < part.rows.end; ++row) activate(call, part, row, step);
      }
      if (plan.by_units > 1) {
#pragma omp barrier
      }
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
