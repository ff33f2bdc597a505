// The gradient of long short-term memory, from the last step to the first: the gates' gradients of the step after, times the
// packed recurrent weights, then those of this step. Gradients of weights are products over all steps, computed elsewhere.
#include <omp.h>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/lstm.h"
#include "kernels/cpu/narrow.h"
#include "kernels/cpu/sigmoid.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

struct Call {
  Real* dx;
  const Real *dh, *weight, *gates;
  const float* cells;
  LstmShape shape;
  LstmPlan plan;
  LstmScratch scratch;
};

LstmPlan plan_of(const LstmShape& shape, int threads) { return make_lstm_plan(shape, threads, kGates * shape.units, 1); }

// Share `index` of `count` of the panels [4*units, units of a part].
void pack(const Call& call, int index, int count) {
  const std::int64_t units = call.shape.units, depth = kGates * units;
  std::int64_t turn = 0;
  for (int part = 0; part < call.plan.by_units; ++part) {
    const Range own = units_of_part(call.plan, call.shape, part);
    for (std::int64_t column = own.begin; column < own.end; column += kNr, ++turn)
      if (turn % count == index)
        pack_panel(call.scratch.weights + part * call.plan.weights + (column - own.begin) * word_count(depth),
                   call.weight + column, units, depth, min_of(kNr, own.end - column));
  }
}

// sums [rows, units] of the part = the gates' gradients of the step after, times the weights; 0 at the last step.
void multiply(const Call& call, const LstmPart& part, std::int64_t step) {
  const std::int64_t rows = part.rows.end - part.rows.begin, stride = call.plan.sums_stride;
  if (step == call.shape.sequence - 1) {
    for (std::int64_t i = 0; i < rows * stride; ++i) part.sums[i] = 0;
    for (std::int64_t i = 0; i < rows * call.plan.units; ++i) part.cells[i] = 0;
    return;
  }
  const Word* const state = state_row(call.scratch, call.plan, step + 1, part.rows.begin);
  multiply_small({part.sums, stride, state, call.plan.state_stride, AccessA::rows, part.weights, rows,
                  part.units.end - part.units.begin, call.plan.depth, false});
}

// One sequence at one step. The four gradients share `values`: each is rounded to its destinations before the next is computed.
void differentiate(const Call& call, const LstmPart& part, std::int64_t row, std::int64_t step) {
  const std::int64_t units = call.shape.units, n = part.units.end - part.units.begin;
  const std::int64_t position = row * call.shape.sequence + step, at = position * units + part.units.begin;
  const std::int64_t gates_at = position * kGates * units + part.units.begin;
  float* const upstream = part.sums + (row - part.rows.begin) * call.plan.sums_stride;
  float* const dcells = part.cells + (row - part.rows.begin) * call.plan.units;
  const Real *const input = call.gates + gates_at, *const forget = input + units, *const update = forget + units,
                    *const output = update + units, *const dh = call.dh + at;
  const float* const cells = call.cells + at;
  const float* const before = step == 0 ? nullptr : cells - units;
  float* const values = part.values;
  const auto leave = [&](std::int64_t gate) {
    if (step > 0) store_state(state_row(call.scratch, call.plan, step, row), gate * units + part.units.begin, values, n);
    narrow_all(call.dx + gates_at + gate * units, values, n);
  };
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float o = widen(output[i]), squashed = tanh_of(cells[i]), gradient = upstream[i] + widen(dh[i]);
    dcells[i] += gradient * o * (1 - squashed * squashed);
    values[i] = gradient * squashed * o * (1 - o);
  }
  leave(3);
  // dx may be gates, and the gradient of g needs gate i after the gradient of i has replaced it.
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) upstream[i] = widen(input[i]);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) values[i] = dcells[i] * widen(update[i]) * upstream[i] * (1 - upstream[i]);
  leave(0);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = widen(update[i]);
    values[i] = dcells[i] * upstream[i] * (1 - g * g);
  }
  leave(2);
  if (before == nullptr) {
    for (std::int64_t i = 0; i < n; ++i) values[i] = 0;
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      const float f = widen(forget[i]);
      values[i] = dcells[i] * before[i] * f * (1 - f);
      dcells[i] *= f;
    }
  }
  leave(1);
}

}  // namespace

std::size_t lstm_grad_workspace_bytes(const LstmShape& shape, int threads) { return workspace_bytes(plan_of(shape, threads)); }

void lstm_grad(Real* dx, const Real* dh, const Real* weight, const Real* gates, const float* cells, const LstmShape& shape,
               void* workspace, int threads) {
  const LstmPlan plan = plan_of(shape, threads);
  const Call call{dx, dh, weight, gates, cells, shape, plan, lstm_scratch(workspace, plan)};
#pragma omp parallel num_threads(plan.team) if (plan.team > 1)
  {
    const int thread = omp_get_thread_num(), granted = omp_get_num_threads();
    const MicrokernelScope scope;
    pack(call, thread, granted);
#pragma omp barrier
    for (std::int64_t step = shape.sequence - 1; step >= 0; --step) {
      for (int index = thread; index < plan.team; index += granted) {
        const LstmPart part = lstm_part(call.scratch, plan, shape, index);
        multiply(call, part, step);
        for (std::int64_t row = part.rows.begin; row < part.rows.end; ++row) differentiate(call, part, row, step);
      }
      if (plan.by_units > 1) {
#pragma omp barrier
      }
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
