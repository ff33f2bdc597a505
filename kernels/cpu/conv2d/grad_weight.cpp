// The weight gradient of a convolution as an implicit matrix product that reduces over pixels:
// dweight [out_channels, taps * channels] = dy^T [out_channels, pixels] times windows of x [pixels, taps * channels].
//
// Threads form a grid: each takes some of the strips of x and some of the output channels and accumulates into its own sum,
// which stays in its cache. The sums of one output channel are then added in the order of the strips, so the result depends
// only on the number of threads.
//
// If a run of taps would leave many vector lanes idle (as three channels do), the vectors hold output channels instead, and the
// sums are transposed.
//
// With many channels, both operands are copied: x in panels of the columns of one tile, dy in tiles of its rows. In place,
// pixels are all channels apart, so that those of a tile share a few sets of the caches. A block of output channels that stays
// in the L2 cache is copied at a time; then each panel of x serves all tiles of the block, at every tap.
//
// A word holds the same pixel of two images: two neighboring pixels of one image would separate again for other taps and
// strides. So for Bf16, images are processed in pairs, and the last image of an odd batch alone.
#include <omp.h>

#include "kernels/cpu/conv2d/strip.h"
#include "kernels/cpu/gemm/caches.h"
#include "kernels/cpu/gemm/team.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

// The strip of x and its dy are read once for every tile of dweight; this is fast if both fit a near cache. But every tile is
// read and written once per group of strips, so a group has a minimum depth even if that takes more space: the columns of one
// tile, 256 deep, still fit a 32 KiB L1 cache and serve all output channels. If the sums are too large for the L2 cache, the
// columns of a tile stay there instead.
constexpr StripSize kStripSize{48 * 1024, 256, 2048 * 1024};
constexpr StripSize kDeepStripSize{48 * 1024, 512, 4096 * 1024};
// The same for panels, which are copied one at a time.
constexpr StripSize kPanelSize{0, 256, 256 * 1024};

// Words of a block of dy in tiles: three eighths of the L2 cache, beside a panel of x, sums, and what is prefetched. Up to 768
// KiB of 2 MiB, larger blocks were faster: each copies all panels of x.
std::int64_t block_words() {
  return min_of(this_cpu_caches().l2_bytes * 3 / 8, 768 * 1024) / static_cast<std::int64_t>(sizeof(Word));
}

// A thread's sum should fit its L2 cache.
constexpr std::int64_t kSumBytes = 1024 * 1024;
constexpr std::int64_t kSegments = 64;

// Words between the pixels of dy in a tile.
constexpr std::int64_t kTileStride = (kMr[2] + kLanes - 1) / kLanes * kLanes;

struct Plan {
  int team, strip_parts, channel_parts;  // strip_parts * channel_parts == team
  Windows windows;
  StripLayout layout;
  bool panels;                         // whether x is copied in panels and dy in tiles
  bool joined;                         // whether the rows of windows follow each other like the pixels of a row
  std::int64_t pairs;                  // pairs of images (for float: images) in the batch
  std::int64_t pairs_at_once;          // number of pairs whose strips are processed together
  std::int64_t channels_at_once;       // maximum output channels of a block
  std::int64_t strip_words, dy_words;  // of one group; dy_words is 0 if dy is read in place
  std::int64_t dy_stride;              // words between pixels of dy
  bool transposed;                     // sums are [taps * channels, out_channels]
  std::int64_t sum_floats;             // size of all of dweight, unless it is accumulated in place
};

// Number of pairs in a group, given that a strip covers a whole image: groups differ little in size.
std::int64_t pairs_at_once(const Conv2dShape& s, const Plan& plan, const StripSize& size, std::int64_t pairs) {
  const std::int64_t strip_bytes = s.height * plan.layout.row_stride * static_cast<std::int64_t>(sizeof(Word));
  const std::int64_t deep = min_of(divide_up(size.windows, s.out_height * s.out_width), size.max_bytes / strip_bytes);
  const std::int64_t wanted = min_of(max_of(size.bytes / strip_bytes, deep), kSegments / (plan.joined ? 1 : s.out_height));
  return divide_up(max_of(pairs, 1), divide_up(max_of(pairs, 1), max_of(wanted, 1)));
}

// Vectors of output channels are read whole, from dy in place or from a packed copy with one row per pixel.
bool transposed_pays(const Conv2dShape& s, const Plan& plan) {
  if (plan.channel_parts > 1 || plan.panels) return false;
  if (kRealWords && s.out_channels % kLanes != 0) return false;
  const std::int64_t straight = s.out_channels * divide_up(plan.layout.run, kLanes);
  return plan.layout.run * divide_up(s.out_channels, kLanes) * 20 < straight * 19;
}

// Words between the windows of a row in a strip.
std::int64_t x_pixel_stride(const Conv2dShape& s, const StripLayout& layout) {
  return s.stride / layout.column_step * layout.pixel_stride;
}

Plan make_plan(const Conv2dShape& s, const Real* x, int threads) {
  Plan plan{};
  plan.windows = {x,           s.batch,         s.height,       s.width,  s.channels, s.out_height,
                  s.out_width, s.kernel_height, s.kernel_width, s.stride, -s.padding, -s.padding};
  const std::int64_t weights = s.out_channels * s.kernel_height * s.kernel_width * s.channels;
  plan.team =
      team_size(2.0 * static_cast<double>(s.batch * s.out_height * s.out_width) * static_cast<double>(weights), threads);
  plan.channel_parts = plan.team;
  for (int parts = plan.team; parts >= 1; --parts)
    if (plan.team % parts == 0 && divide_up(weights, parts) * 4 <= kSumBytes) plan.channel_parts = parts;
  plan.strip_parts = plan.team / plan.channel_parts;
  plan.pairs = word_count(s.batch);
  Windows of_pairs = plan.windows;
  of_pairs.batch = plan.pairs;
  plan.panels = s.channels >= kLongRun;
  const bool large_sum = divide_up(weights, plan.channel_parts) * 4 > kSumBytes;
  const StripSize& size = plan.panels ? kPanelSize : large_sum ? kDeepStripSize : kStripSize;
  plan.layout = make_strip_layout(of_pairs, StripOf::image_words, size, plan.strip_parts);
  plan.joined = s.kernel_height == 1 && s.padding == 0 &&
                s.stride / plan.layout.row_step * plan.layout.row_stride == s.out_width * x_pixel_stride(s, plan.layout);
  plan.pairs_at_once = plan.layout.blocks == 1 ? pairs_at_once(s, plan, size, plan.pairs / plan.strip_parts) : 1;
  plan.strip_words = plan.pairs_at_once * plan.layout.elements;
  plan.channels_at_once = divide_up(s.out_channels, plan.channel_parts);
  plan.dy_stride = s.out_channels;
  const std::int64_t pixels = plan.pairs_at_once * plan.layout.block_rows * s.out_width;
  if (plan.panels) {
    plan.dy_stride = kTileStride;
    plan.channels_at_once =
        min_of(round_up(plan.channels_at_once, kMr[2]), max_of(block_words() / (pixels * kTileStride), 1) * kMr[2]);
    plan.dy_words = round_up(divide_up(plan.channels_at_once, kMr[2]) * pixels * kTileStride, 16);
  } else if (!kRealWords) {
    plan.dy_stride = spread_stride(plan.channels_at_once);
    plan.dy_words = plan.dy_stride * pixels;
  }
  plan.transposed = transposed_pays(s, plan);
  plan.sum_floats = plan.strip_parts > 1 || !kRealWords || plan.transposed ? round_up(weights, 16) : 0;
  return plan;
}

// Whether the last group of a sum is stored directly into dweight.
bool writes_dweight(const Plan& plan) { return plan.strip_parts == 1 && !plan.transposed; }

struct Call {
  Real* dweight;
  const Real* dy;
  const Conv2dShape& shape;
  const Plan& plan;
};

// What is multiplied at once: a block of output channels with a panel of x, or with all its channels, in some rows of
// consecutive pairs.
struct Group {
  Strip strips[kSegments];
  std::int64_t first_pair, pairs;
  Range rows, channels, panel;
  const Word* dy;                         // at the first channel, pair and row
  std::int64_t dy_pair, dy_row, dy_tile;  // words between pairs, rows and tiles
  bool first, last;                       // whether it is the first or last of its part of the sum
  Prefetcher* prefetcher;
};

std::int64_t count(const Range& range) { return range.end - range.begin; }

// sum [channels, taps * channels] = (sum +) the products of the group, for one run of taps. If one sum is all of dweight, its
// last group is stored directly into dweight.
void add_run(const Call& call, const Group& group, std::int64_t run, float* sum) {
  const Conv2dShape& s = call.shape;
  const Plan& plan = call.plan;
  const StripLayout& layout = plan.layout;
  const std::int64_t tap_row = run / layout.runs_per_row, tap_column = run % layout.runs_per_row;
  const std::int64_t row_floats = s.kernel_height * s.kernel_width * s.channels;
  const std::int64_t first_column = (tap_row * s.kernel_width + tap_column) * s.channels + group.panel.begin;
  const std::int64_t run_columns = plan.panels ? count(group.panel) : layout.run;
  const std::int64_t x_pixel = x_pixel_stride(s, layout), segment_rows = plan.joined ? count(group.rows) : 1;
  Segment segments[kSegments];
  Tile tile{};
  tile.segments = segments;
  tile.k = segment_rows * s.out_width;
  tile.a_stride = plan.transposed ? x_pixel : plan.dy_stride;
  tile.b_stride = plan.transposed ? plan.dy_stride : x_pixel;
  tile.sum_stride = plan.transposed ? s.out_channels : row_floats;
  tile.y_stride = row_floats;
  tile.prefetcher = group.prefetcher;
  const std::int64_t columns = plan.transposed ? count(group.channels) : run_columns;
  const std::int64_t rows = count(group.rows), group_rows = group.pairs * rows;
  for (std::int64_t done = 0; done < group_rows;) {
    const bool begins = group.first && done == 0;
    tile.segment_count = 0;
    for (; done < group_rows && tile.segment_count < kSegments; done += segment_rows) {
      const std::int64_t pair = done / rows, row = done % rows;
      const Strip& strip = group.strips[pair];
      const std::int64_t image_row = (group.rows.begin + row) * s.stride - s.padding + tap_row;
      if (image_row < strip.first_row || image_row >= strip.end_row) continue;
      const std::int64_t strip_row = (image_row - strip.first_row) / layout.row_step;
      const Word* dy = group.dy + pair * group.dy_pair + row * group.dy_row;
      const Word* x =
          reinterpret_cast<const Word*>(strip.data) + strip_row * layout.row_stride + tap_column * layout.pixel_stride;
      segments[tile.segment_count++] = plan.transposed ? Segment{x, dy} : Segment{dy, x};
    }
    const bool ends = group.last && done == group_rows && writes_dweight(plan);
    if (tile.segment_count == 0 && !begins && !ends) continue;
    tile.accumulate = !begins;
    for (std::int64_t column = 0; column < columns;) {
      const std::int64_t left = columns - column;
      const int vectors = kMaxVectors == 3 && left % (3 * kLanes) == 0 ? 3 : panel_vectors(left);
      tile.columns = min_of(left, vectors * kLanes);
      tile.b_offset = column;
      const Tiles tiles = cut(plan.transposed ? layout.run : count(group.channels), kMr[plan.panels ? 2 : vectors]);
      for (std::int64_t t = 0; t < tiles.count; ++t) {
        const Range range = tiles[t];
        const std::int64_t at = plan.transposed ? (first_column + range.begin) * s.out_channels + group.channels.begin + column
                                                : (group.channels.begin + range.begin) * row_floats + first_column + column;
        tile.a_offset = plan.panels ? t * group.dy_tile : range.begin;
        tile.sum = sum + at;
        tile.y = ends ? call.dweight + at : nullptr;
        tile_kernel(AccessA::columns, count(range), vectors)(tile);
      }
      column += tile.columns;
    }
  }
}

// Copies dy of the group: pixels of all its channels, or tiles of some.
void pack_dy(const Call& call, const Group& group, Word* packed) {
  // So few pixels that lines which two tiles share stay in the L1 cache.
  constexpr std::int64_t kPixels = 16;
  const Conv2dShape& s = call.shape;
  const Plan& plan = call.plan;
  const std::int64_t image_stride = s.out_height * s.out_width * s.out_channels;
  const std::int64_t pixels = count(group.rows) * s.out_width;
  const Tiles tiles = cut(count(group.channels), plan.panels ? kMr[2] : count(group.channels));
  for (std::int64_t pair = 0; pair < group.pairs; ++pair) {
    const std::int64_t image = (group.first_pair + pair) * kWordDepth, images = min_of(kWordDepth, s.batch - image);
    const Real* const from =
        call.dy + image * image_stride + group.rows.begin * s.out_width * s.out_channels + group.channels.begin;
    for (std::int64_t pixel = 0; pixel < pixels; pixel += kPixels) {
      for (std::int64_t t = 0; t < tiles.count; ++t)
        pack_pixels(packed + t * group.dy_tile + pair * group.dy_pair + pixel * plan.dy_stride, plan.dy_stride,
                    from + pixel * s.out_channels + tiles[t].begin, s.out_channels, image_stride, images,
                    min_of(kPixels, pixels - pixel), count(tiles[t]));
    }
  }
}

// Makes dy of the group's block of channels readable. packed [dy_words].
void prepare_dy(const Call& call, Group& group, Word* packed) {
  const Conv2dShape& s = call.shape;
  const Plan& plan = call.plan;
  group.dy_row = s.out_width * plan.dy_stride;
  group.dy_pair = (plan.dy_words > 0 ? count(group.rows) : s.out_height) * group.dy_row;
  group.dy_tile = group.pairs * group.dy_pair;
  group.dy = packed;
  if (plan.dy_words > 0) {
    pack_dy(call, group, packed);
  } else {
    const std::int64_t first = group.first_pair * group.dy_pair + group.rows.begin * group.dy_row + group.channels.begin;
    group.dy = reinterpret_cast<const Word*>(call.dy) + first;
  }
}

// Strips of the group's panel. scratch [strip_words].
void prepare_x(const Call& call, Group& group, Word* scratch) {
  const Plan& plan = call.plan;
  for (std::int64_t i = 0; i < group.pairs; ++i) {
    const std::int64_t image = (group.first_pair + i) * kWordDepth;
    group.strips[i] =
        make_word_strip(plan.windows, plan.layout, group.panel, image, min_of(kWordDepth, call.shape.batch - image), group.rows,
                        scratch + i * plan.layout.elements);
  }
}

// A group that starts with a strip of the range; its block and panel are not set.
Group group_at(const Plan& plan, const Conv2dShape& s, const Range& strips, std::int64_t index) {
  Group group{};
  group.first_pair = index / plan.layout.blocks;
  group.pairs = min_of(plan.pairs_at_once, strips.end - index);
  group.first = index == strips.begin;
  group.last = index + plan.pairs_at_once >= strips.end;
  const std::int64_t first_row = index % plan.layout.blocks * plan.layout.block_rows;
  group.rows = {first_row, min_of(first_row + plan.layout.block_rows, s.out_height)};
  return group;
}

// A share of the rows of memory that a group reads from its first image, and of those from its second.
void add_share(Prefetcher& prefetcher, const Call& call, const Group& group, PrefetchRows rows, std::int64_t image_bytes,
               int part, int parts) {
  std::int64_t images = min_of(group.pairs * kWordDepth, call.shape.batch - group.first_pair * kWordDepth);
  if (call.plan.layout.blocks == 1) {  // whole images, one after the other
    rows.rows *= images;
    images = 1;
  }
  const Range share = part_of(rows.rows, part, parts, 1);
  rows.first += share.begin * rows.stride;
  rows.rows = count(share);
  for (std::int64_t image = 0; image < min_of(images, 2); ++image, rows.first += image_bytes) prefetcher.add(rows);
}

// What is copied next while a panel is multiplied: the panel of x at `channel` of the group `next_x`, whose pixels are far
// apart, so that no hardware prefetches them, unless it skips pixels, and a share of dy of the group `next_dy`.
void prefetch(Prefetcher& prefetcher, const Call& call, const Group& next_x, std::int64_t channel, const Group& next_dy,
              int part, int parts) {
  const Conv2dShape& s = call.shape;
  const StripLayout& layout = call.plan.layout;
  constexpr std::int64_t kBytes = sizeof(Real);
  prefetcher = {};
  if (layout.row_step == 1 && layout.column_step == 1) {
    const StripOfNumbers<Real> strip = find_strip(call.plan.windows, next_x.first_pair * kWordDepth, next_x.rows);
    // A panel starts with a cache line, and this length ends in its last one.
    const PrefetchRows pixels{reinterpret_cast<const char*>(strip.data + channel), (strip.end_row - strip.first_row) * s.width,
                              kNr * kBytes - 63, s.channels * kBytes};
    add_share(prefetcher, call, next_x, pixels, s.height * s.width * s.channels * kBytes, 0, 1);
  }
  const std::int64_t row = next_dy.first_pair * kWordDepth * s.out_height + next_dy.rows.begin;
  const PrefetchRows pixels{
      reinterpret_cast<const char*>(call.dy + row * s.out_width * s.out_channels + next_dy.channels.begin),
      count(next_dy.rows) * s.out_width, count(next_dy.channels) * kBytes, s.out_channels * kBytes};
  add_share(prefetcher, call, next_dy, pixels, s.out_height * s.out_width * s.out_channels * kBytes, part, parts);
  const std::int64_t rows = next_x.pairs * count(next_x.rows);
  const std::int64_t steps = call.plan.joined ? rows * s.out_width / kPrefetchStep : rows * (s.out_width / kPrefetchStep);
  const std::int64_t tiles = divide_up(count(next_dy.channels), kMr[2]);
  prefetcher.spread(s.kernel_height * layout.runs_per_row * tiles * steps);
}

// The sum of share `strip_part` of the strips, for share `channel_part` of the output channels. scratch [strip_words +
// dy_words].
void sum_part(const Call& call, int strip_part, int channel_part, float* sum, Word* scratch) {
  const Conv2dShape& s = call.shape;
  const Plan& plan = call.plan;
  const StripLayout& layout = plan.layout;
  const std::int64_t row_floats = s.kernel_height * s.kernel_width * s.channels;
  const Range channels = part_of(s.out_channels, channel_part, plan.channel_parts, 1);
  const Range strips = part_of(plan.pairs * layout.blocks, strip_part, plan.strip_parts, 1);
  if (strips.begin == strips.end)
    for (std::int64_t i = channels.begin * row_floats; i < channels.end * row_floats; ++i) sum[i] = 0;
  if (channels.begin == channels.end) return;
  const Tiles blocks = cut(count(channels), plan.channels_at_once);
  const auto block_at = [&](std::int64_t block) {
    return Range{channels.begin + blocks[block].begin, channels.begin + blocks[block].end};
  };
  const int panels = static_cast<int>(divide_up(s.channels, layout.panel));
  for (std::int64_t index = strips.begin; index < strips.end; index += plan.pairs_at_once) {
    Group group = group_at(plan, s, strips, index);
    Prefetcher prefetcher;
    if (plan.panels) group.prefetcher = &prefetcher;
    for (std::int64_t block = 0; block < blocks.count; ++block) {
      Group next = group;
      if (block + 1 == blocks.count) next = group_at(plan, s, strips, min_of(index + plan.pairs_at_once, strips.end));
      next.channels = block_at((block + 1) % blocks.count);
      group.channels = block_at(block);
      prepare_dy(call, group, scratch + plan.strip_words);
      for (int panel = 0; panel < panels; ++panel) {
        group.panel = {panel * layout.panel, min_of((panel + 1) * layout.panel, s.channels)};
        prepare_x(call, group, scratch);
        const bool ends = panel + 1 == panels;
        if (plan.panels) prefetch(prefetcher, call, ends ? next : group, ends ? 0 : group.panel.end, next, panel, panels);
        for (std::int64_t run = 0; run < s.kernel_height * layout.runs_per_row; ++run) add_run(call, group, run, sum);
      }
    }
  }
}

// The part-th share of dweight.
void add_sums(Real* dweight, const float* sums, const Conv2dShape& s, const Plan& plan, int part) {
  const std::int64_t row = s.kernel_height * s.kernel_width * s.channels;
  const Range range = part_of(s.out_channels * row, part, plan.team, 16);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const float* sum = sums + (plan.transposed ? i % row * s.out_channels + i / row : i);
    float total = *sum;
    for (int p = 1; p < plan.strip_parts; ++p) total += sum[p * plan.sum_floats];
    dweight[i] = narrow(total);
  }
}

}  // namespace

std::size_t conv2d_grad_weight_workspace_bytes(const Conv2dShape& shape, int threads) {
  const Plan plan = make_plan(shape, nullptr, threads);
  return static_cast<std::size_t>(plan.strip_parts * plan.sum_floats) * sizeof(float) +
         static_cast<std::size_t>(plan.team * (plan.strip_words + plan.dy_words)) * sizeof(Word);
}

void conv2d_grad_weight(Real* dweight, const Real* dy, const Real* x, const Conv2dShape& shape, void* workspace, int threads) {
  const Plan plan = make_plan(shape, x, threads);
  const Call call{dweight, dy, shape, plan};
  float* const sums = static_cast<float*>(workspace);
  Word* const scratch = reinterpret_cast<Word*>(sums + plan.strip_parts * plan.sum_floats);
#pragma omp parallel num_threads(plan.team) if (plan.team > 1)
  {
    // The runtime may grant fewer threads than there are parts.
    const int thread = omp_get_thread_num(), granted = omp_get_num_threads();
    const MicrokernelScope scope;
    for (int part = thread; part < plan.team; part += granted) {
      const int strip_part = part / plan.channel_parts;
      float* sum = sums + strip_part * plan.sum_floats;
      if (plan.sum_floats == 0) sum = reinterpret_cast<float*>(dweight);
      sum_part(call, strip_part, part % plan.channel_parts, sum, scratch + part * (plan.strip_words + plan.dy_words));
    }
    if (!writes_dweight(plan)) {
#pragma omp barrier
      for (int part = thread; part < plan.team; part += granted) add_sums(dweight, sums, shape, plan, part);
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
