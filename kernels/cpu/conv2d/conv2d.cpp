// Convolution and its input gradient as implicit matrix products: output pixels by (taps, channels) by output channels.
//
// The input gradient is a convolution too. Pixel i of dx meets the taps r for which stride divides i + padding - r. So dx
// splits into stride * stride phases of pixels that meet the same taps; each phase is a stride-1 convolution of dy with those
// taps in descending order. No products with the zeros between strided pixels are computed.
#include "kernels/cpu/conv2d/conv2d.h"

#include <omp.h>

#include "kernels/cpu/conv2d/windows.h"
#include "kernels/cpu/conv2d/winograd.h"
#include "kernels/cpu/gemm/team.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/shares.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

int team_of(const Conv2dShape& s, int threads) {
  return team_size(2.0 * static_cast<double>(s.batch * s.out_height * s.out_width) *
                       static_cast<double>(s.kernel_height * s.kernel_width * s.channels) * static_cast<double>(s.out_channels),
                   threads);
}

// Weights of one output channel: `count` contiguous units, each padded to whole words.
struct Units {
  std::int64_t count, reals;
};

struct ForwardPlan {
  int team;
  Windows windows;
  StripLayout layout;
  Units units;
  std::int64_t depth, weight_words, scratch_bytes;  // depth in words
};

ForwardPlan make_forward_plan(const Conv2dShape& s, const Real* x, int threads) {
  ForwardPlan plan{};
  plan.team = team_of(s, threads);
  plan.windows = {x,           s.batch,         s.height,       s.width,  s.channels, s.out_height,
                  s.out_width, s.kernel_height, s.kernel_width, s.stride, -s.padding, -s.padding};
  plan.layout = make_product_layout(plan.windows, true, plan.team);
  plan.depth = product_depth(plan.windows, plan.layout);
  const std::int64_t taps = s.kernel_height * s.kernel_width;
  if (s.channels % kWordDepth == 0) {
    plan.units = {1, taps * s.channels};
  } else if (plan.depth == taps * word_count(s.channels)) {
    plan.units = {taps, s.channels};
  } else {
    plan.units = {s.kernel_height, s.kernel_width * s.channels};
  }
  plan.weight_words = round_up(plan.depth * packed_columns(s.out_channels), 16);
  plan.scratch_bytes = product_scratch_bytes(plan.windows, plan.layout);
  return plan;
}

// Packs the part-th share of the weights: panels of output channels, as deep as all units.
void pack_forward(const Conv2dShape& s, const ForwardPlan& plan, const Real* weight, Word* packed, int part) {
  const std::int64_t stride = plan.units.count * plan.units.reals;  // between output channels
  const std::int64_t along = divide_up(plan.units.reals, kPieceDepth), in_panel = plan.units.count * along;
  const Range pieces = part_of(divide_up(s.out_channels, kNr) * in_panel, part, plan.team, 1);
  for (std::int64_t i = pieces.begin; i < pieces.end; ++i) {
    const std::int64_t channel = i / in_panel * kNr, unit = i % in_panel / along, k = i % along * kPieceDepth;
    const std::int64_t columns = min_of(kNr, s.out_channels - channel);
    const std::int64_t word = unit * word_count(plan.units.reals) + word_count(k);
    pack_panel_transposed(packed + channel * plan.depth + word * panel_vectors(columns) * kLanes,
                          weight + channel * stride + unit * plan.units.reals + k, stride,
                          min_of(kPieceDepth, plan.units.reals - k), columns);
  }
}

// The pixels of dx at row phase_row + stride * i, column phase_column + stride * j, as windows over dy.
struct Phase {
  Axis rows, columns;
  Windows windows;
  StripLayout layout;
  std::int64_t depth, weight_words, scratch_bytes;  // depth in words
};
Phase make_phase(const Conv2dShape& s, const Real* dy, std::int64_t index, int team) {
  Phase phase{};
  phase.rows = make_axis(s.height, s.kernel_height, s.stride, s.padding, index / s.stride);
  phase.columns = make_axis(s.width, s.kernel_width, s.stride, s.padding, index % s.stride);
  phase.windows = {dy,
                   s.batch,
                   s.out_height,
                   s.out_width,
                   s.out_channels,
                   phase.rows.pixels,
                   phase.columns.pixels,
                   phase.rows.taps,
                   phase.columns.taps,
                   1,
                   phase.rows.first,
                   phase.columns.first};
  if (phase.columns.taps == 0) phase.windows.kernel_height = 0;
  if (phase.windows.kernel_height == 0) phase.windows.kernel_width = 0;
  if (phase.rows.pixels > 0 && phase.columns.pixels > 0) {
    phase.layout = make_product_layout(phase.windows, false, team);
    phase.scratch_bytes = product_scratch_bytes(phase.windows, phase.layout);
  }
  phase.depth = phase.windows.kernel_height * phase.windows.kernel_width * word_count(s.out_channels);
  phase.weight_words = round_up(phase.depth * packed_columns(s.channels), 16);
  return phase;
}

// Packs the part-th share of the phase's weights: panels of input channels, as deep as (taps descending, output channels).
void pack_phase(const Conv2dShape& s, const Phase& phase, const Real* weight, Word* packed, int part, int parts) {
  const std::int64_t stride = s.kernel_height * s.kernel_width * s.channels;  // between output channels
  const std::int64_t width = phase.windows.kernel_width, taps = phase.windows.kernel_height * width;
  const Range pieces = part_of(divide_up(s.channels, kNr) * taps, part, parts, 1);
  for (std::int64_t i = pieces.begin; i < pieces.end; ++i) {
    const std::int64_t channel = i / taps * kNr, tap = i % taps, from_last = taps - 1 - tap;
    const std::int64_t columns = min_of(kNr, s.channels - channel);
    const std::int64_t row = phase.rows.first_tap + from_last / width * s.stride;
    const std::int64_t column = phase.columns.first_tap + from_last % width * s.stride;
    pack_panel(packed + channel * phase.depth + tap * word_count(s.out_channels) * panel_vectors(columns) * kLanes,
               weight + (row * s.kernel_width + column) * s.channels + channel, stride, s.out_channels, columns);
  }
}

struct GradInputSizes {
  std::int64_t weight_words, scratch_bytes;  // of all phases together, of the largest phase
};
GradInputSizes grad_input_sizes(const Conv2dShape& s, int team) {
  GradInputSizes sizes{};
  for (std::int64_t i = 0; i < s.stride * s.stride; ++i) {
    const Phase phase = make_phase(s, nullptr, i, team);
    sizes.weight_words += phase.weight_words;
    sizes.scratch_bytes = max_of(sizes.scratch_bytes, phase.scratch_bytes);
  }
  return sizes;
}

// In the workspace.
std::int64_t own_words(const Conv2dShape& s, const ForwardPlan& plan) { return s.packed_weight ? 0 : plan.weight_words; }

}  // namespace

std::size_t conv2d_packed_bytes(const Conv2dShape& shape, int threads) {
  if (is_matrix_product(shape)) return gemm_packed_bytes(forward_product(shape), threads);
#if !EPOCHBENCH_BF16
  if (conv2d_is_winograd(shape)) return winograd_packed_bytes(shape, threads);
#endif
  return static_cast<std::size_t>(make_forward_plan(shape, nullptr, threads).weight_words) * sizeof(Word);
}

void pack_conv2d(Real* packed, const Real* weight, const Conv2dShape& shape, int threads) {
  if (is_matrix_product(shape)) {
    pack_gemm(packed, weight, forward_product(shape), threads);
    return;
  }
#if !EPOCHBENCH_BF16
  if (conv2d_is_winograd(shape)) {
    pack_winograd(packed, weight, shape, threads);
    return;
  }
#endif
  const ForwardPlan plan = make_forward_plan(shape, nullptr, threads);
#pragma omp parallel for num_threads(plan.team) if (plan.team > 1)
  for (int part = 0; part < plan.team; ++part) pack_forward(shape, plan, weight, reinterpret_cast<Word*>(packed), part);
}

std::size_t conv2d_workspace_bytes(const Conv2dShape& shape, int threads) {
  if (is_matrix_product(shape)) return gemm_workspace_bytes(forward_product(shape), threads);
#if !EPOCHBENCH_BF16
  if (conv2d_is_winograd(shape)) return winograd_workspace_bytes(shape, WinogradOf::forward, threads);
#endif
  const ForwardPlan plan = make_forward_plan(shape, nullptr, threads);
  return static_cast<std::size_t>(plan.team) * sizeof(TakenShares) +
         static_cast<std::size_t>(own_words(shape, plan)) * sizeof(Word) +
         static_cast<std::size_t>(plan.team * plan.scratch_bytes);
}

void conv2d(Real* y, const Real* x, const Real* weight, const Conv2dShape& shape, const Epilogue<Real>& epilogue,
            void* workspace, int threads) {
  if (is_matrix_product(shape)) {
    gemm(y, x, weight, forward_product(shape), epilogue, workspace, threads);
    return;
  }
#if !EPOCHBENCH_BF16
  if (conv2d_is_winograd(shape)) {
    winograd(y, x, weight, shape, WinogradOf::forward, epilogue, workspace, threads);
    return;
  }
#endif
  const ForwardPlan plan = make_forward_plan(shape, x, threads);
  auto* const taken = static_cast<TakenShares*>(workspace);
  auto* const own = reinterpret_cast<Word*>(taken + plan.team);
  char* const scratch = reinterpret_cast<char*>(own + own_words(shape, plan));
  const WindowProduct product{plan.windows,
                              plan.layout,
                              shape.packed_weight ? reinterpret_cast<const Word*>(weight) : own,
                              y,
                              shape.out_channels,
                              shape.out_height * shape.out_width * shape.out_channels,
                              shape.out_width * shape.out_channels,
                              shape.out_channels,
                              epilogue};
  start_shares(taken, plan.team);
#pragma omp parallel num_threads(plan.team) if (plan.team > 1)
  {
    // The runtime may grant fewer threads than there are parts.
    const int thread = omp_get_thread_num(), granted = omp_get_num_threads();
    const MicrokernelScope scope;
    if (!shape.packed_weight) {
      for (int part = thread; part < plan.team; part += granted) pack_forward(shape, plan, weight, own, part);
#pragma omp barrier
    }
    take_shares(taken, plan.team, 0, thread, [&](int share) {
      multiply_windows(product, scratch + thread * plan.scratch_bytes, share, plan.team * kShares);
    });
  }
}

std::size_t conv2d_grad_input_workspace_bytes(const Conv2dShape& shape, int threads) {
  if (is_matrix_product(shape)) return gemm_workspace_bytes(grad_input_product(shape), threads);
#if !EPOCHBENCH_BF16
  if (conv2d_is_winograd(shape)) return winograd_workspace_bytes(shape, WinogradOf::grad_input, threads);
#endif
  const int team = team_of(shape, threads);
  const GradInputSizes sizes = grad_input_sizes(shape, team);
  return static_cast<std::size_t>(team) * sizeof(TakenShares) + static_cast<std::size_t>(sizes.weight_words) * sizeof(Word) +
         static_cast<std::size_t>(team * sizes.scratch_bytes);
}

void conv2d_grad_input(Real* dx, const Real* dy, const Real* weight, const Conv2dShape& shape, void* workspace, int threads) {
  if (is_matrix_product(shape)) {
    gemm(dx, dy, weight, grad_input_product(shape), {}, workspace, threads);
    return;
  }
#if !EPOCHBENCH_BF16
  if (conv2d_is_winograd(shape)) {
    winograd(dx, dy, weight, shape, WinogradOf::grad_input, {}, workspace, threads);
    return;
  }
#endif
  const int team = team_of(shape, threads);
  const GradInputSizes sizes = grad_input_sizes(shape, team);
  const std::int64_t phases = shape.stride * shape.stride, row_stride = shape.width * shape.channels;
  auto* const taken = static_cast<TakenShares*>(workspace);
  auto* const weights = reinterpret_cast<Word*>(taken + team);
  char* const scratch = reinterpret_cast<char*>(weights + sizes.weight_words);
  start_shares(taken, team);
#pragma omp parallel num_threads(team) if (team > 1)
  {
    const int thread = omp_get_thread_num(), granted = omp_get_num_threads();
    const MicrokernelScope scope;
    Word* packed = weights;
    for (std::int64_t i = 0; i < phases; ++i) {
      const Phase phase = make_phase(shape, dy, i, team);
      for (int part = thread; part < team; part += granted) pack_phase(shape, phase, weight, packed, part, team);
      packed += phase.weight_words;
    }
#pragma omp barrier
    packed = weights;
    std::int64_t round = 0;
    for (std::int64_t i = 0; i < phases; ++i) {
      const Phase phase = make_phase(shape, dy, i, team);
      const WindowProduct product{phase.windows,
                                  phase.layout,
                                  packed,
                                  dx + i / shape.stride * row_stride + i % shape.stride * shape.channels,
                                  shape.channels,
                                  shape.height * row_stride,
                                  shape.stride * row_stride,
                                  shape.stride * shape.channels,
                                  {}};
      packed += phase.weight_words;
      if (phase.rows.pixels == 0 || phase.columns.pixels == 0) continue;
      take_shares(taken, team, round++, thread,
                  [&](int share) { multiply_windows(product, scratch + thread * sizes.scratch_bytes, share, team * kShares); });
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
