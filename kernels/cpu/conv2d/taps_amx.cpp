// Strips of pixels, and the loops over phases, panels of weights, images and tiles of outputs.
#include "kernels/cpu/conv2d/taps_amx.h"

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

// One plane of a strip: rows [begin, end) of the plane.
void copy_plane(const TapPlan& plan, Real* to, const Real* image, std::int64_t first_row, std::int64_t first_column,
                Range rows) {
  const std::int64_t length = plan.width * plan.channels, whole = (plan.tap_steps - 1) * kStepReals;
  const __mmask32 last = lanes_between(0, plan.run - whole);
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    const std::int64_t row = first_row + i * plan.step;
    const bool inside = row >= 0 && row < plan.height;
    const Real* const start = image + row * length;
    for (std::int64_t j = 0; j < plan.strip_width; ++j, to += plan.pixel_stride) {
      const std::int64_t offset = (first_column + j * plan.step) * plan.channels;
      if (inside && offset >= 0 && offset + plan.run <= length) {
        const Real* const from = start + offset;
        for (std::int64_t c = 0; c < whole; c += kStepReals) _mm512_storeu_si512(to + c, _mm512_loadu_si512(from + c));
        _mm512_storeu_si512(to + whole, _mm512_maskz_loadu_epi16(last, from + whole));
      } else {
        copy_edge(to, start, offset, inside ? length : offset, plan.run);
      }
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

// 32 columns or fewer of outputs.
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

// Adds the taps of 32 outputs in the tile registers. sums [32, 32] is scratch.
template <int kVectors>
void multiply_tile(const TapPlan& plan, const Phase& phase, const Panel& panel, const TileOutputs& outputs, const Real* strip,
                   float* sums) {
  const std::int64_t pixel = plan.pixel_stride * 2, b_row = kVectors * 64;
  const TileStrides stride{pixel, kTileRows * pixel, 64, b_row, kTileDepth * b_row};
  const char* b = reinterpret_cast<const char*>(panel.weights);
  const Real* const y =
      outputs.y + outputs.first / plan.strip_width * plan.row_stride + outputs.first % plan.strip_width * plan.column_stride;
  Progress progress{{reinterpret_cast<const char*>(y), plan.column_stride * 2, kTilePair}, sums, kStoreSteps};
  zero_sums<kVectors>();
  for (std::int64_t r = 0; r < phase.kernel_height; ++r) {
    for (std::int64_t s = 0; s < phase.kernel_width; ++s) {
      const std::int64_t plane = r % plan.step * plan.planes_wide + s % plan.step;
      const std::int64_t at = plane * plan.plane_pixels + r / plan.step * plan.strip_width + s / plan.step + outputs.first;
      multiply_deep<kVectors, 2>(reinterpret_cast<const char*>(strip + at * plan.pixel_stride), b, stride, plan.tap_steps,
                                 progress);
      b += plan.tap_steps * stride.b_step;
    }
  }
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

template <int kVectors>
void multiply_panel(const TapPlan& plan, const Phase& phase, const Block& block, const Panel& panel, Real* y, std::int64_t rows,
                    const Real* strip) {
  alignas(64) float sums[kTileFloats];
  for (std::int64_t image = block.images.begin; image < block.images.end; ++image) {
    const Real* const pixels = strip + (image - block.images.begin) * plan.strip_reals;
    for (std::int64_t first = 0; first < rows * plan.strip_width; first += kTilePair) {
      const TileOutputs outputs{y + image * plan.image_stride, first, rows};
      multiply_tile<kVectors>(plan, phase, panel, outputs, pixels, sums);
      store_sums<kVectors>(sums);
      store_tile(plan, phase, panel, outputs, sums);
    }
  }
}

void multiply_phase(const TapPlan& plan, const Phase& phase, const Block& block, Real* y, const Word* weights,
                    const Epilogue<Real>& epilogue, const Real* strip) {
  const std::int64_t rows = min_of(block.rows.end, phase.rows) - block.rows.begin;
  y += phase.y_offset + block.rows.begin * plan.row_stride;
  if (phase.kernel_height == 0) {
    for (std::int64_t image = block.images.begin; image < block.images.end; ++image)
      zero_outputs(plan, phase, y + image * plan.image_stride, rows);
    return;
  }
  strip += ((phase.first_row - plan.first_row) * plan.strip_width + phase.first_column - plan.first_column) * plan.pixel_stride;
  for (std::int64_t channel = 0; channel < plan.out_channels; channel += kTilePair) {
    const Panel panel{weights + phase.first_word + channel * phase.depth,
                      epilogue.bias != nullptr ? epilogue.bias + channel : nullptr, epilogue.relu,
                      min_of(plan.out_channels - channel, kTilePair)};
    if (panel.columns > kLanes) {
      multiply_panel<2>(plan, phase, block, panel, y + channel, rows, strip);
    } else {
      multiply_panel<1>(plan, phase, block, panel, y + channel, rows, strip);
    }
  }
}

}  // namespace

void multiply_taps(const TapPlan& plan, Real* y, const Real* images, const Word* packed, const Epilogue<Real>& epilogue,
                   Real* strip, int part) {
  configure_whole_tiles();
  const std::int64_t groups = divide_up(plan.shape.batch, plan.images_at_once);
  const Range blocks = part_of(groups * plan.blocks, part, plan.team, 1);
  for (std::int64_t index = blocks.begin; index < blocks.end; ++index) {
    const std::int64_t image = index / plan.blocks * plan.images_at_once, row = index % plan.blocks * plan.block_rows;
    const Block block{{image, min_of(image + plan.images_at_once, plan.shape.batch)},
                      {row, min_of(row + plan.block_rows, plan.rows)}};
    for (std::int64_t i = block.images.begin; i < block.images.end; ++i)
      copy_strip(plan, strip + (i - image) * plan.strip_reals, images + i * plan.height * plan.width * plan.channels,
                 block.rows);
    for (std::int64_t i = 0; i < plan.phases; ++i) multiply_phase(plan, make_phase(plan, i), block, y, packed, epilogue, strip);
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
