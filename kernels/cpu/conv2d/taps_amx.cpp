// Strips of pixels, and the loops over phases, panels of weights, images and tiles of outputs.
#include "kernels/cpu/conv2d/taps_amx.h"

#include "kernels/cpu/gemm/column_moments.h"
#include "kernels/cpu/gemm/pack.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

constexpr std::int64_t kStepReals = kTileDepth * kWordDepth;

// Copies the run that starts `offset` Reals after the start of a row of `length` Reals.
void copy_edge(Real* to, const Real* row, std::int64_t offset, std::int64_t length, std::int64_t run) {
  for (std::int64_t c = 0; c < run; c += kStepReals) {
    const __mmask32 mask = lanes_between(-offset - c, min_of(length - offset, run) - c);
    _mm512_storeu_si512(to + c, _mm512_maskz_loadu_epi16(mask, row + offset + c));
  }
}

// Copies runs that are within a row: `count` of them, `step` Reals apart.
void copy_runs(const TapPlan& plan, Real* to, const Real* from, std::int64_t step, std::int64_t count) {
  const std::int64_t whole = (plan.tap_steps - 1) * kStepReals;
  const __mmask32 last = lanes_between(0, plan.run - whole);
  for (std::int64_t i = 0; i < count; ++i, to += plan.pixel_stride, from += step) {
    for (std::int64_t c = 0; c < whole; c += kStepReals) _mm512_storeu_si512(to + c, _mm512_loadu_si512(from + c));
    _mm512_storeu_si512(to + whole, _mm512_maskz_loadu_epi16(last, from + whole));
  }
}

// One plane of a strip: rows [begin, end) of the plane.
void copy_plane(const TapPlan& plan, Real* to, const Real* image, std::int64_t first_row, std::int64_t first_column,
                Range rows) {
  const std::int64_t length = plan.width * plan.channels, step = plan.step * plan.channels;
  const std::int64_t first = first_column * plan.channels;
  Range inside{0, plan.strip_width};  // runs that are within a row of the image
  while (inside.begin < inside.end && first + inside.begin * step < 0) ++inside.begin;
  while (inside.begin < inside.end && first + (inside.end - 1) * step + plan.run > length) --inside.end;
  for (std::int64_t i = rows.begin; i < rows.end; ++i, to += plan.strip_width * plan.pixel_stride) {
    const std::int64_t row = first_row + i * plan.step;
    const Real* const from = image + row * length;
    const bool outside = row < 0 || row >= plan.height;
    for (std::int64_t j = 0; j < plan.strip_width; ++j) {
      if (!outside && j == inside.begin) {
        copy_runs(plan, to + j * plan.pixel_stride, from + first + j * step, step, inside.end - inside.begin);
        j = inside.end;
        if (j == plan.strip_width) break;
      }
      const std::int64_t offset = first + j * step;
      copy_edge(to + j * plan.pixel_stride, from, offset, outside ? offset : length, plan.run);
    }
  }
}

// The strip of the outputs in `rows` of one image.
void copy_strip(const TapPlan& plan, Real* strip, const Real* image, Range rows) {
  const Range plane_rows{rows.begin, rows.end + plan.plane_rows - plan.block_rows};
  for (std::int64_t high = 0; high < plan.planes_high; ++high) {
    for (std::int64_t wide = 0; wide < plan.planes_wide; ++wide) {
      copy_plane(plan, strip, image, plan.first_row + high, plan.first_column + wide, plane_rows);
      strip += plan.plane_pixels * plan.pixel_stride;
    }
  }
}

// Up to 32 columns of outputs.
struct Panel {
  const Word* weights;
  const Real* bias;  // or null
  bool relu;
  std::int64_t columns;
};

// Rounds `rows` rows of sums and stores them.
void store_rows(Real* y, std::int64_t stride, const float* sums, std::int64_t rows, const Panel& panel) {
  const __mmask32 mask = lanes_between(0, panel.columns);
  const Vec floor = panel.relu ? zero_vector() : zero_vector() - __builtin_inff();
  Vec bias[2] = {zero_vector(), zero_vector()};
  if (panel.bias != nullptr)
    for (std::int64_t v = 0; v < panel_vectors(panel.columns); ++v)
      bias[v] = load_reals_partial(panel.bias + v * kLanes, min_of(panel.columns - v * kLanes, kLanes));
  for (std::int64_t row = 0; row < rows; ++row, y += stride, sums += kTilePair) {
    const Vec low = maximum(floor, load(sums) + bias[0]), high = maximum(floor, load(sums + kLanes) + bias[1]);
    _mm512_mask_storeu_epi16(y, mask, (__m512i)_mm512_cvtne2ps_pbh(high, low));
  }
}

// Where the sums of a tile go: 32 outputs, from output `first` of the strip on, counting those between two rows.
struct TileOutputs {
  Real* y;                   // the first row of the strip
  std::int64_t first, rows;  // rows of the strip
};

void store_tile(const TapPlan& plan, const Phase& phase, const Panel& panel, const TileOutputs& outputs, const float* sums) {
  std::int64_t i = outputs.first / plan.strip_width, j = outputs.first % plan.strip_width;
  for (std::int64_t done = 0; done < kTilePair && i < outputs.rows;) {
    if (j < phase.columns) {
      const std::int64_t count = min_of(kTilePair - done, phase.columns - j);
      store_rows(outputs.y + i * plan.row_stride + j * plan.column_stride, plan.column_stride, sums + done * kTilePair, count,
                 panel);
      done += count;
      j += count;
    }
    done += plan.strip_width - j;
    j = 0;
    ++i;
  }
}

// All taps of 32 outputs. Prefetches `lines` into the L2 cache meanwhile.
template <int kVectors>
void multiply_tile(const TapPlan& plan, const Phase& phase, const Panel& panel, const TileOutputs& outputs, const Real* strip,
                   PrefetchLines& lines) {
  alignas(64) float sums[kTileFloats];
  const std::int64_t pixel = plan.pixel_stride * 2, b_row = kVectors * 64;
  const TileStrides stride{pixel, kTileRows * pixel, 64, b_row, kTileDepth * b_row};
  const char* b = reinterpret_cast<const char*>(panel.weights);
  Progress progress{lines, sums, kStoreSteps};
  zero_sums<kVectors>();
  for (std::int64_t r = 0; r < phase.kernel_height; ++r) {
    for (std::int64_t s = 0; s < phase.kernel_width; ++s) {
      const std::int64_t plane = r % plan.step * plan.planes_wide + s % plan.step;
      const std::int64_t at = plane * plan.plane_pixels + r / plan.step * plan.strip_width + s / plan.step + outputs.first;
      multiply_deep<kVectors, 4, 2>(reinterpret_cast<const char*>(strip + at * plan.pixel_stride), b, stride, plan.tap_steps,
                                    progress);
      b += plan.tap_steps * stride.b_step;
    }
  }
  lines = progress.lines;
  store_sums<kVectors>(sums);
  store_tile(plan, phase, panel, outputs, sums);
}

void zero_outputs(const TapPlan& plan, const Phase& phase, Real* y, std::int64_t rows) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < phase.columns; ++j) {
      Real* const to = y + i * plan.row_stride + j * plan.column_stride;
      for (std::int64_t c = 0; c < plan.out_channels; c += kStepReals)
        _mm512_mask_storeu_epi16(to + c, lanes_between(0, plan.out_channels - c), _mm512_setzero_si512());
    }
  }
}

// Images [begin, end), and rows of outputs in each.
struct Block {
  Range images, rows;
};
Block block_of(const TapPlan& plan, std::int64_t index) {
  const std::int64_t image = index / plan.blocks * plan.images_at_once, row = index % plan.blocks * plan.block_rows;
  return {{image, min_of(image + plan.images_at_once, plan.shape.batch)}, {row, min_of(row + plan.block_rows, plan.rows)}};
}

const Real* image_of(const TapPlan& plan, const Real* images, std::int64_t index) {
  return images + index * plan.height * plan.width * plan.channels;
}

// What copy_strip reads for the block, from its first row in the first image to its last row in the last; nothing if it skips
// pixels.
PrefetchLines source_of(const TapPlan& plan, const Real* images, const Block& block) {
  const bool all_columns = plan.planes_wide == plan.step || plan.run > plan.channels;
  if (plan.planes_high < plan.step || !all_columns) return {reinterpret_cast<const char*>(images), 0, 0};
  const std::int64_t row = plan.width * plan.channels, first = max_of(plan.first_row + block.rows.begin * plan.step, 0);
  const std::int64_t rows = min_of((block.rows.end - block.rows.begin) * plan.step, plan.height - first);
  const std::int64_t reals = (block.images.end - block.images.begin - 1) * plan.height * row + max_of(rows, 0) * row;
  return {reinterpret_cast<const char*>(image_of(plan, images, block.images.begin) + first * row), 64, reals / 32};
}

// Weights of the panels that share a tile of pixels: they stay in the L2 cache, beside a strip.
constexpr std::int64_t kGroupBytes = 256 * 1024;

Panel make_panel(const TapPlan& plan, const Phase& phase, const Word* weights, const Epilogue<Real>& epilogue,
                 std::int64_t channel) {
  return {weights + phase.first_word + channel * phase.depth, epilogue.bias != nullptr ? epilogue.bias + channel : nullptr,
          epilogue.relu, min_of(plan.out_channels - channel, kTilePair)};
}

void multiply_phase(const TapPlan& plan, const Phase& phase, const Block& block, Real* y, const Word* weights,
                    const Epilogue<Real>& epilogue, const Real* strip, PrefetchLines& lines, int part) {
  const std::int64_t rows = min_of(block.rows.end, phase.rows) - block.rows.begin;
  const std::int64_t images = block.images.end - block.images.begin;
  y += phase.y_offset + block.images.begin * plan.image_stride + block.rows.begin * plan.row_stride;
  if (phase.kernel_height == 0) {
    for (std::int64_t image = 0; image < images; ++image) zero_outputs(plan, phase, y + image * plan.image_stride, rows);
    return;
  }
  strip += ((phase.first_row - plan.first_row) * plan.strip_width + phase.first_column - plan.first_column) * plan.pixel_stride;
  const std::int64_t group = max_of(kGroupBytes / (phase.depth * kTilePair * 4), 1) * kTilePair;
  for (std::int64_t begin = 0; begin < plan.out_channels; begin += group) {
    const Range channels{begin, min_of(begin + group, plan.out_channels)};
    if (plan.far_weights) {
      const std::int64_t next = channels.end < plan.out_channels ? channels.end : 0;
      const std::int64_t size = phase.depth * min_of(group, plan.out_channels - next);
      lines = {reinterpret_cast<const char*>(weights + phase.first_word + next * phase.depth), 64, size / 16};
    }
    for (std::int64_t image = 0; image < images; ++image) {
      for (std::int64_t first = 0; first < rows * plan.strip_width; first += kTilePair) {
        for (std::int64_t channel = channels.begin; channel < channels.end; channel += kTilePair) {
          const Panel panel = make_panel(plan, phase, weights, epilogue, channel);
          const TileOutputs outputs{y + image * plan.image_stride + channel, first, rows};
          const auto multiply = panel.columns > kLanes ? &multiply_tile<2> : &multiply_tile<1>;
          multiply(plan, phase, panel, outputs, strip + image * plan.strip_reals, lines);
        }
      }
      if (epilogue.moments == nullptr) continue;
      add_block(column_moments(epilogue.moments, plan.out_channels, part), y + image * plan.image_stride + channels.begin,
                plan.column_stride, rows * phase.columns, channels);
    }
  }
}

}  // namespace

void multiply_taps(const TapPlan& plan, Real* y, const Real* images, const Word* packed, const Epilogue<Real>& epilogue,
                   Real* strip, int part) {
  configure_whole_tiles();
  start_moments(epilogue.moments, plan.out_channels, part, plan.team);
  const std::int64_t groups = divide_up(plan.shape.batch, plan.images_at_once);
  const Range blocks = part_of(groups * plan.blocks, part, plan.team, 1);
  for (std::int64_t index = blocks.begin; index < blocks.end; ++index) {
    const Block block = block_of(plan, index);
    for (std::int64_t i = block.images.begin; i < block.images.end; ++i)
      copy_strip(plan, strip + (i - block.images.begin) * plan.strip_reals, image_of(plan, images, i), block.rows);
    PrefetchLines lines{reinterpret_cast<const char*>(images), 0, 0};
    if (index + 1 < blocks.end) lines = source_of(plan, images, block_of(plan, index + 1));
    for (std::int64_t i = 0; i < plan.phases; ++i)
      multiply_phase(plan, make_phase(plan, i), block, y, packed, epilogue, strip, lines, part);
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
