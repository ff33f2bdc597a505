// The weight gradient of a convolution as an implicit matrix product that reduces over pixels, with AMX tiles: dweight
// [out_channels, taps * channels] = dy^T [out_channels, pixels] times windows of x [pixels, taps * channels].
//
// A block is some rows of dy of a pair of images, or several pairs. Its dy is transposed once and the part of x that its
// windows cover is interleaved once; all tiles are then products of these two. Rows of dy are as far apart as rows of x,
// divided by the stride, with zeros in between; so every tap is one long run of pixels with a different start. With a stride, x
// is split into planes of pixels whose row and column have the same remainders.
//
// If windows are single pixels, the operand with fewer channels is transposed, because interleaving costs less. If x has few
// channels, a row of a window is taken as one pixel with more channels.
//
// Threads form a grid: each takes some of the blocks and some of the transposed channels. Their sums are added in the order of
// the blocks, so the result depends only on the number of threads.
#include <omp.h>

#include "kernels/cpu/conv2d/pixels_amx.h"
#include "kernels/cpu/conv2d/weight_tiles_amx.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/gemm/team.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

// A thread's sum should fit its L2 cache. If it does not, blocks are deeper.
constexpr std::int64_t kSumBytes = 1024 * 1024;
// Words of pixels in a block. 32 transposed channels, 480 deep, take 60 KiB; the sums are read and written once per block.
constexpr std::int64_t kBlockWords = 480;
// Bytes of transposed pixels in a block, and of interleaved ones that are multiplied with them.
constexpr std::int64_t kTransposedBytes = 1536 * 1024;
constexpr std::int64_t kInterleavedBytes = 768 * 1024;
// Cost of a tile per block, in steps: its sums are read and written, in the L2 cache or farther away.
constexpr std::int64_t kNearSumSteps = 4, kFarSumSteps = 16;

struct Plan {
  int team, block_parts, channel_parts;  // block_parts * channel_parts == team
  bool swapped;                          // x is transposed and dy interleaved
  PixelGrid transposed, interleaved;
  std::int64_t kernel_height, kernel_width, stride;       // of windows over the interleaved pixels
  std::int64_t rows, columns, width;                      // of the transposed operand; words from row to row
  std::int64_t pairs, block_rows, blocks, pairs_at_once;  // blocks per pair, pairs per block
  std::int64_t steps;                                     // of a pair in a block
  std::int64_t planes, plane_rows, plane_pixels;          // planes in each direction
  std::int64_t a_panels, b_panels, group_panels;          // of 32 channels; those interleaved at once
  std::int64_t pixel_stride;                              // words between interleaved pixels
  std::int64_t a_words, b_words, sum_floats;
};

std::int64_t panels_of(std::int64_t channels) { return divide_up(channels, kTilePair); }

// The same product with fewer and longer rows, if the windows of an image are directly followed by those of the next image: two
// images of many rows. Neighboring pixels are joined if each is a window.
Conv2dShape with_two_images(Conv2dShape s) {
  const bool point = s.kernel_height == 1 && s.kernel_width == 1 && s.padding == 0;
  if (!point || s.batch % 2 != 0 || s.height != s.stride * s.out_height || s.width != s.stride * s.out_width) return s;
  s.out_height *= s.batch / 2;
  s.height *= s.batch / 2;
  s.batch = 2;
  if (s.stride > 1) return s;
  const std::int64_t pixels = s.height * s.width;
  std::int64_t width = kTileDepth;
  while (pixels % width != 0) width /= 2;
  s.width = s.out_width = width;
  s.height = s.out_height = pixels / width;
  return s;
}

void choose_operands(Plan& plan, const Conv2dShape& s, const Real* dy, const Real* x) {
  const PixelGrid of_dy{dy, s.batch, s.out_height, s.out_width, s.out_channels, 0, 0, 1, s.out_channels};
  PixelGrid of_x{x, s.batch, s.height, s.width, s.channels, -s.padding, -s.padding, s.stride, s.channels};
  const bool point = s.kernel_height == 1 && s.kernel_width == 1;
  plan.swapped = point && s.channels < s.out_channels;
  plan.kernel_height = s.kernel_height;
  plan.kernel_width = s.kernel_width;
  plan.stride = s.stride;
  if (panels_of(s.kernel_width * s.channels) < s.kernel_width * panels_of(s.channels)) {
    plan.kernel_width = 1;
    of_x.run = s.kernel_width * s.channels;
  }
  plan.transposed = plan.swapped ? of_x : of_dy;
  plan.interleaved = plan.swapped ? of_dy : of_x;
  if (plan.swapped) plan.stride = 1;
  plan.a_panels = panels_of(plan.transposed.run);
  plan.b_panels = panels_of(plan.interleaved.run);
}

std::int64_t steps_of(std::int64_t depth) { return divide_up(depth, kTileDepth); }

// Chooses rows and pairs per block: the fewest steps, counting zeros and the cost of sums.
void choose_blocks(Plan& plan, std::int64_t a_panels, bool far_sums) {
  const std::int64_t most = max_of(min_of(kBlockWords, kTransposedBytes / (a_panels * kTilePair * 4)), 1);
  const std::int64_t sum_steps = far_sums ? kFarSumSteps : kNearSumSteps;
  std::int64_t best = -1;
  for (std::int64_t rows = 1; rows <= plan.rows && (rows == 1 || rows * plan.width <= most); ++rows) {
    const std::int64_t blocks = divide_up(plan.rows, rows), last = plan.rows - (blocks - 1) * rows;
    const std::int64_t cost = (blocks - 1) * steps_of(rows * plan.width) + steps_of(last * plan.width) + blocks * sum_steps;
    if (best >= 0 && cost > best) continue;
    best = cost;
    plan.block_rows = rows;
  }
  plan.blocks = divide_up(plan.rows, plan.block_rows);
  plan.steps = steps_of(plan.block_rows * plan.width);
  plan.pairs_at_once = 1;
  if (plan.blocks > 1) return;
  const std::int64_t pairs = max_of(plan.pairs / plan.block_parts, 1);
  const std::int64_t wanted = min_of(max_of(most / (plan.steps * kTileDepth), 1), pairs);
  plan.pairs_at_once = divide_up(pairs, divide_up(pairs, wanted));
}

void choose_planes(Plan& plan) {
  plan.planes = min_of(plan.stride, max_of(plan.kernel_height, plan.kernel_width));
  plan.plane_rows = plan.block_rows - 1 + divide_up(plan.kernel_height, plan.stride);
  const std::int64_t last_tap = (plan.kernel_height - 1) / plan.stride * plan.width + (plan.kernel_width - 1) / plan.stride;
  plan.plane_pixels = max_of(plan.plane_rows * plan.width, last_tap + plan.steps * kTileDepth);
}

Plan make_plan(const Conv2dShape& given, const Real* dy, const Real* x, int threads) {
  const Conv2dShape s = with_two_images(given);
  Plan plan{};
  const std::int64_t weights = s.out_channels * s.kernel_height * s.kernel_width * s.channels;
  plan.team =
      team_size(2.0 * static_cast<double>(s.batch * s.out_height * s.out_width) * static_cast<double>(weights), threads);
  choose_operands(plan, s, dy, x);
  const std::int64_t floats = plan.a_panels * plan.kernel_height * plan.kernel_width * plan.b_panels * kTileFloats;
  plan.channel_parts = plan.team;
  for (int parts = plan.team; parts >= 1; --parts)
    if (plan.team % parts == 0 && divide_up(floats, parts) * 4 <= kSumBytes) plan.channel_parts = parts;
  plan.block_parts = plan.team / plan.channel_parts;
  plan.rows = s.out_height;
  plan.columns = s.out_width;
  plan.width = s.out_width - 1 + divide_up(plan.kernel_width, plan.stride);
  plan.pairs = divide_up(s.batch, 2);
  const std::int64_t a_panels = divide_up(plan.a_panels, plan.channel_parts);
  choose_blocks(plan, a_panels, divide_up(floats, plan.channel_parts) * 4 > kSumBytes);
  choose_planes(plan);
  const std::int64_t pixels = plan.pairs_at_once * plan.planes * plan.planes * plan.plane_pixels;
  plan.group_panels = max_of(min_of(kInterleavedBytes / (pixels * kTilePair * 4), plan.b_panels), 1);
  // An odd number of cache lines between pixels distributes them over all cache sets.
  plan.pixel_stride = plan.group_panels * kTilePair + 16;
  plan.a_words = a_panels * plan.pairs_at_once * plan.steps * kTransposedStep;
  plan.b_words = pixels * plan.pixel_stride;
  plan.sum_floats = plan.block_parts * plan.blocks * plan.pairs > 1 ? floats : 0;
  return plan;
}

// Blocks that are multiplied together: one block of a pair, or the single blocks of several pairs.
struct Group {
  std::int64_t first_pair, pairs;
  Range rows;
  bool first, last;  // of a sum that is dweight
};

struct Call {
  const Plan& plan;
  WeightTiles tiles;
};

void transpose_group(const Plan& plan, const Group& group, Range panels, Word* a) {
  const std::int64_t pair_words = plan.steps * kTransposedStep, panel_words = plan.pairs_at_once * pair_words;
  for (std::int64_t i = 0; i < group.pairs; ++i)
    transpose_pixels(a + i * pair_words, panel_words, plan.transposed, {group.first_pair + i, group.rows, plan.columns},
                     plan.width, plan.steps, panels.begin * kTilePair, panels.end - panels.begin);
}

// All planes of the group, for some of the channels. The windows of the last words end past the last row, where zeros follow.
void interleave_group(const Plan& plan, const Group& group, Range panels, Word* b) {
  const std::int64_t count = panels.end - panels.begin;
  PixelGrid grid = plan.interleaved;
  const std::int64_t rows = group.rows.end - group.rows.begin - 1 + divide_up(plan.kernel_height, plan.stride);
  for (std::int64_t i = 0; i < group.pairs; ++i) {
    for (std::int64_t plane = 0; plane < plan.planes * plan.planes; ++plane, b += plan.plane_pixels * plan.pixel_stride) {
      grid.first_row = plan.interleaved.first_row + plane / plan.planes;
      grid.first_column = plan.interleaved.first_column + plane % plan.planes;
      interleave_pixels(b, plan.pixel_stride, grid,
                        {group.first_pair + i, {group.rows.begin, group.rows.begin + rows}, plan.width},
                        panels.begin * kTilePair, count);
      for (std::int64_t pixel = rows * plan.width; pixel < plan.plane_pixels; ++pixel)
        for (std::int64_t word = 0; word < count * kTilePair; word += kLanes)
          store(b + pixel * plan.pixel_stride + word, zero_word_vec());
    }
  }
}

// The tiles of one tap and one panel of transposed channels. a, b: of the first pair.
void multiply_tap(const Call& call, const Group& group, const Word* a, const Word* b, std::int64_t a_panel, std::int64_t tap,
                  Range panels, float* sums) {
  const Plan& plan = call.plan;
  const std::int64_t steps = steps_of((group.rows.end - group.rows.begin) * plan.width);
  const TileStrides stride{64, 1024, 2048, plan.pixel_stride * 4, kTileDepth * plan.pixel_stride * 4};
  const std::int64_t pair_words = plan.planes * plan.planes * plan.plane_pixels * plan.pixel_stride;
  const std::int64_t taps = plan.kernel_height * plan.kernel_width;
  for (std::int64_t panel = panels.begin; panel < panels.end; ++panel, b += kTilePair) {
    float* const sum = sums + ((a_panel * taps + tap) * plan.b_panels + panel) * kTileFloats;
    if (group.first) {
      zero_sums();
    } else {
      load_sums(sum);
    }
    alignas(64) float result[kTileFloats];
    Progress progress{{reinterpret_cast<const char*>(sum + kTileFloats), 64, kTileFloats / 16}, result, kStoreSteps};
    for (std::int64_t i = 0; i < group.pairs; ++i)
      multiply_deep<2, 4>(reinterpret_cast<const char*>(a + i * plan.steps * kTransposedStep),
                          reinterpret_cast<const char*>(b + i * pair_words), stride, steps, progress);
    if (group.last) {
      store_sums(result);
      write_weights(call.tiles, result, a_panel, tap, panel);
    } else {
      store_sums(sum);
    }
  }
}

void multiply_group(const Call& call, const Group& group, Range a_panels, Word* a, Word* b, float* sums) {
  const Plan& plan = call.plan;
  transpose_group(plan, group, a_panels, a);
  for (std::int64_t first = 0; first < plan.b_panels; first += plan.group_panels) {
    const Range panels{first, min_of(first + plan.group_panels, plan.b_panels)};
    interleave_group(plan, group, panels, b);
    for (std::int64_t panel = a_panels.begin; panel < a_panels.end; ++panel) {
      const Word* const rows = a + (panel - a_panels.begin) * plan.pairs_at_once * plan.steps * kTransposedStep;
      for (std::int64_t tap = 0; tap < plan.kernel_height * plan.kernel_width; ++tap) {
        const std::int64_t r = tap / plan.kernel_width, s = tap % plan.kernel_width;
        const std::int64_t plane = r % plan.stride * plan.planes + s % plan.stride;
        const std::int64_t pixel = plane * plan.plane_pixels + r / plan.stride * plan.width + s / plan.stride;
        multiply_tap(call, group, rows, b + pixel * plan.pixel_stride, panel, tap, panels, sums);
      }
    }
  }
}

// The sum of share `block_part` of the blocks, for share `channel_part` of the transposed channels.
void sum_part(const Call& call, int block_part, int channel_part, float* sums, Word* a) {
  const Plan& plan = call.plan;
  configure_whole_tiles();
  const Range panels = part_of(plan.a_panels, channel_part, plan.channel_parts, 1);
  const Range blocks = part_of(plan.pairs * plan.blocks, block_part, plan.block_parts, 1);
  if (blocks.begin == blocks.end) {
    const std::int64_t floats = plan.kernel_height * plan.kernel_width * plan.b_panels * kTileFloats;
    for (std::int64_t i = panels.begin * floats; i < panels.end * floats; ++i) sums[i] = 0;
  }
  for (std::int64_t index = blocks.begin; index < blocks.end; index += plan.pairs_at_once) {
    Group group{};
    group.first_pair = index / plan.blocks;
    group.pairs = min_of(plan.pairs_at_once, blocks.end - index);
    group.rows.begin = index % plan.blocks * plan.block_rows;
    group.rows.end = min_of(group.rows.begin + plan.block_rows, plan.rows);
    group.first = index == blocks.begin;
    group.last = plan.block_parts == 1 && index + plan.pairs_at_once >= blocks.end;
    multiply_group(call, group, panels, a, a + plan.a_words, sums);
  }
}

// Adds the sums of all parts, for the part-th share of the tiles.
void add_sums(const Call& call, const float* sums, int part) {
  const Plan& plan = call.plan;
  const std::int64_t taps = plan.kernel_height * plan.kernel_width;
  const Range tiles = part_of(plan.a_panels * taps * plan.b_panels, part, plan.team, 1);
  for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
    alignas(64) float total[kTileFloats];
    for (std::int64_t i = 0; i < kTileFloats; i += kLanes) {
      Vec sum = load(sums + tile * kTileFloats + i);
      for (int p = 1; p < plan.block_parts; ++p) sum = sum + load(sums + p * plan.sum_floats + tile * kTileFloats + i);
      store(total + i, sum);
    }
    write_weights(call.tiles, total, tile / (taps * plan.b_panels), tile / plan.b_panels % taps, tile % plan.b_panels);
  }
}

}  // namespace

std::size_t conv2d_grad_weight_workspace_bytes(const Conv2dShape& shape, int threads) {
  const Plan plan = make_plan(shape, nullptr, nullptr, threads);
  return static_cast<std::size_t>(plan.block_parts * plan.sum_floats) * sizeof(float) +
         static_cast<std::size_t>(plan.team * (plan.a_words + plan.b_words)) * sizeof(Word);
}

void conv2d_grad_weight(Real* dweight, const Real* dy, const Real* x, const Conv2dShape& shape, void* workspace, int threads) {
  const Plan plan = make_plan(shape, dy, x, threads);
  const Call call{plan,
                  {dweight, shape.out_channels, shape.kernel_height * shape.kernel_width * shape.channels, plan.interleaved.run,
                   plan.swapped}};
  float* const sums = static_cast<float*>(workspace);
  Word* const scratch = reinterpret_cast<Word*>(sums + plan.block_parts * plan.sum_floats);
#pragma omp parallel num_threads(plan.team) if (plan.team > 1)
  {
    // The runtime may grant fewer threads than there are parts.
    const int thread = omp_get_thread_num(), granted = omp_get_num_threads();
    const MicrokernelScope scope;
    for (int part = thread; part < plan.team; part += granted) {
      const int block_part = part / plan.channel_parts;
      sum_part(call, block_part, part % plan.channel_parts, sums + block_part * plan.sum_floats,
               scratch + part * (plan.a_words + plan.b_words));
    }
    if (plan.block_parts > 1) {
#pragma omp barrier
      for (int part = thread; part < plan.team; part += granted) add_sums(call, sums, part);
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
