// How a convolution or its input gradient is divided into phases and strips, and its weights packed.
//
// The input gradient is a convolution too. Pixel i of dx meets the taps r for which the stride divides i + padding - r. So dx
// splits into stride * stride phases of pixels that meet the same taps; each phase is a stride-1 convolution of dy with those
// taps in descending order. No products with the zeros between strided pixels are computed, and all phases read one strip.
#include "kernels/cpu/conv2d/conv2d.h"
#include "kernels/cpu/conv2d/taps_amx.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/gemm/team.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

// A strip and the weights stay in the L2 cache; if the weights are larger than this, they are read again for each strip, so
// strips are as large as possible.
constexpr std::int64_t kNearWeightBytes = 1024 * 1024;
constexpr std::int64_t kStripBytes = 320 * 1024, kLargeStripBytes = 1024 * 1024;
// Strips per thread, so that all threads finish at about the same time.
constexpr std::int64_t kStripsPerPart = 2;

Phase forward_phase(const TapPlan& plan) {
  const Conv2dShape& s = plan.shape;
  const bool joined = plan.run > plan.channels;
  return {s.out_height, s.out_width, s.kernel_height, joined ? 1 : s.kernel_width, -s.padding, -s.padding, 0, 0, 1, 0, 0, 0, 0};
}
Phase grad_input_phase(const TapPlan& plan, std::int64_t index) {
  const Conv2dShape& s = plan.shape;
  const std::int64_t row = index / s.stride, column = index % s.stride;
  const Axis rows = make_axis(s.height, s.kernel_height, s.stride, s.padding, row);
  const Axis columns = make_axis(s.width, s.kernel_width, s.stride, s.padding, column);
  const bool taps = rows.taps > 0 && columns.taps > 0;
  return {rows.pixels,
          columns.pixels,
          taps ? rows.taps : 0,
          taps ? columns.taps : 0,
          rows.first,
          columns.first,
          rows.first_tap + (rows.taps - 1) * s.stride,
          columns.first_tap + (columns.taps - 1) * s.stride,
          -s.stride,
          (row * s.width + column) * s.channels,
          0,
          0,
          0};
}

bool has_products(const Phase& phase) { return phase.kernel_height > 0 && phase.rows > 0 && phase.columns > 0; }

// Pixels of a strip for `rows` rows of outputs.
void choose_planes(TapPlan& plan, std::int64_t rows) {
  plan.plane_rows = plan.plane_pixels = 0;
  for (std::int64_t i = 0; i < plan.phases; ++i) {
    const Phase phase = make_phase(plan, i);
    if (!has_products(phase)) continue;
    const std::int64_t row = phase.first_row - plan.first_row + (phase.kernel_height - 1) / plan.step;
    const std::int64_t column = phase.first_column - plan.first_column + (phase.kernel_width - 1) / plan.step;
    plan.plane_rows = max_of(plan.plane_rows, row + rows);
    plan.plane_pixels =
        max_of(plan.plane_pixels, row * plan.strip_width + column + round_up(rows * plan.strip_width, kTilePair));
  }
  plan.plane_pixels = max_of(plan.plane_pixels, plan.plane_rows * plan.strip_width);
  plan.strip_reals = plan.planes_high * plan.planes_wide * plan.plane_pixels * plan.pixel_stride;
}

// What all phases together read.
void choose_extent(TapPlan& plan) {
  bool any = false;
  plan.planes_high = plan.planes_wide = 1;
  for (std::int64_t i = 0; i < plan.phases; ++i) {
    const Phase phase = make_phase(plan, i);
    plan.rows = max_of(plan.rows, phase.rows);
    if (!has_products(phase)) continue;
    plan.first_row = any ? min_of(plan.first_row, phase.first_row) : phase.first_row;
    plan.first_column = any ? min_of(plan.first_column, phase.first_column) : phase.first_column;
    plan.planes_high = max_of(plan.planes_high, min_of(plan.step, phase.kernel_height));
    plan.planes_wide = max_of(plan.planes_wide, min_of(plan.step, phase.kernel_width));
    any = true;
  }
  plan.strip_width = 1;
  for (std::int64_t i = 0; i < plan.phases; ++i) {
    const Phase phase = make_phase(plan, i);
    if (has_products(phase))
      plan.strip_width = max_of(plan.strip_width, phase.first_column - plan.first_column + phase.columns - 1 +
                                                      divide_up(phase.kernel_width, plan.step));
  }
}

// Chooses rows or images per strip: the fewest tiles.
void choose_strips(TapPlan& plan) {
  const std::int64_t bytes = plan.far_weights ? kLargeStripBytes : kStripBytes;
  const std::int64_t all_rows = plan.shape.batch * plan.rows;
  const std::int64_t most = plan.team > 1 ? max_of(all_rows / (kStripsPerPart * plan.team), 1) : all_rows;
  std::int64_t best = -1;
  for (std::int64_t rows = 1; rows <= min_of(plan.rows, most); ++rows) {
    choose_planes(plan, rows);
    if (rows > 1 && plan.strip_reals * 2 > bytes) break;
    const std::int64_t blocks = divide_up(plan.rows, rows), last = plan.rows - (blocks - 1) * rows;
    // A row of a strip that is copied twice costs about as much as a quarter of a tile.
    const std::int64_t cost = 4 * (blocks - 1) * divide_up(rows * plan.strip_width, kTilePair) +
                              4 * divide_up(last * plan.strip_width, kTilePair) + blocks * (plan.plane_rows - rows);
    if (best >= 0 && cost > best) continue;
    best = cost;
    plan.block_rows = rows;
  }
  choose_planes(plan, plan.block_rows);
  plan.blocks = divide_up(plan.rows, plan.block_rows);
  plan.images_at_once = 1;
  if (plan.blocks > 1) return;
  const std::int64_t fit = max_of(min_of(bytes / max_of(plan.strip_reals * 2, 1), most / plan.rows), 1);
  plan.images_at_once = divide_up(plan.shape.batch, divide_up(plan.shape.batch, fit));
}

}  // namespace

Phase make_phase(const TapPlan& plan, std::int64_t index) {
  Phase phase{};
  std::int64_t first_word = 0;
  for (std::int64_t i = 0; i <= index; ++i) {
    first_word += phase.weight_words;
    phase = plan.of == TapsOf::forward ? forward_phase(plan) : grad_input_phase(plan, i);
    phase.depth = phase.kernel_height * phase.kernel_width * plan.tap_steps * kTileDepth;
    phase.weight_words = phase.depth * packed_columns(plan.out_channels);
  }
  phase.first_word = first_word;
  return phase;
}

TapPlan make_tap_plan(const Conv2dShape& s, TapsOf of, int threads) {
  TapPlan plan{};
  const bool forward = of == TapsOf::forward;
  plan.shape = s;
  plan.of = of;
  plan.team =
      team_size(2.0 * static_cast<double>(s.batch * s.out_height * s.out_width) *
                    static_cast<double>(s.kernel_height * s.kernel_width * s.channels) * static_cast<double>(s.out_channels),
                threads);
  plan.phases = forward ? 1 : s.stride * s.stride;
  plan.height = forward ? s.height : s.out_height;
  plan.width = forward ? s.width : s.out_width;
  plan.channels = plan.run = forward ? s.channels : s.out_channels;
  plan.step = forward ? s.stride : 1;
  plan.out_channels = forward ? s.out_channels : s.channels;
  plan.column_stride = forward ? s.out_channels : s.stride * s.channels;
  plan.row_stride = forward ? s.out_width * s.out_channels : s.stride * s.width * s.channels;
  plan.image_stride = forward ? s.out_height * plan.row_stride : s.height * s.width * s.channels;
  constexpr std::int64_t kStepReals = kTileDepth * kWordDepth;
  if (forward && divide_up(s.kernel_width * s.channels, kStepReals) < s.kernel_width * divide_up(s.channels, kStepReals))
    plan.run = s.kernel_width * s.channels;
  plan.tap_steps = divide_up(plan.run, kStepReals);
  // An odd number of cache lines between pixels distributes them over all cache sets.
  plan.pixel_stride = (plan.tap_steps | 1) * kStepReals;
  const Phase last = make_phase(plan, plan.phases - 1);
  plan.weight_words = last.first_word + last.weight_words;
  plan.far_weights = plan.weight_words * 4 > kNearWeightBytes;
  choose_extent(plan);
  choose_strips(plan);
  return plan;
}

void pack_taps(const TapPlan& plan, const Phase& phase, const Real* weight, Word* packed, int part) {
  const Conv2dShape& s = plan.shape;
  const std::int64_t taps = phase.kernel_height * phase.kernel_width, tap_depth = plan.tap_steps * kTileDepth;
  const std::int64_t stride = s.kernel_height * s.kernel_width * s.channels;  // between output channels of the convolution
  const Range pieces = part_of(divide_up(plan.out_channels, kNr) * taps, part, plan.team, 1);
  for (std::int64_t i = pieces.begin; i < pieces.end; ++i) {
    const std::int64_t channel = i / taps * kNr, tap = i % taps, columns = min_of(kNr, plan.out_channels - channel);
    const std::int64_t row = phase.weight_row + tap / phase.kernel_width * phase.weight_step;
    const std::int64_t column = phase.weight_column + tap % phase.kernel_width * phase.weight_step;
    const Real* const from = weight + (row * s.kernel_width + column) * s.channels;
    const std::int64_t width = panel_vectors(columns) * kLanes;
    Word* const to = packed + channel * phase.depth + tap * tap_depth * width;
    if (plan.of == TapsOf::forward) {
      pack_panel_transposed(to, from + channel * stride, stride, plan.run, columns);
    } else {
      pack_panel(to, from + channel, stride, plan.run, columns);
    }
    for (std::int64_t word = word_count(plan.run) * width; word < tap_depth * width; word += kLanes)
      store(to + word, zero_word_vec());
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
