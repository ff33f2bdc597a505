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
// A word holds the same pixel of two images: two neighboring pixels of one image would separate again for other taps and
// strides. So for Bf16, images are processed in pairs, and the last image of an odd batch alone.
#include <omp.h>

#include "kernels/cpu/conv2d/strip.h"
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
// A thread's sum should fit its L2 cache.
constexpr std::int64_t kSumBytes = 1024 * 1024;
constexpr std::int64_t kSegments = 64;

// Minimum depth of a segment, so that starting one costs little.
constexpr std::int64_t kSegmentPixels = 256;

// The same product with longer rows: if windows are single pixels, the rows of an image can be joined.
Conv2dShape with_long_rows(Conv2dShape s) {
  if (s.kernel_height != 1 || s.kernel_width != 1 || s.stride != 1 || s.padding != 0) return s;
  for (std::int64_t rows = s.height; rows > 1; --rows) {
    if (s.height % rows != 0 || rows * s.width > kSegmentPixels) continue;
    s.height = s.out_height = s.height / rows;
    s.width = s.out_width = s.width * rows;
    break;
  }
  return s;
}

struct Plan {
  int team, strip_parts, channel_parts;  // strip_parts * channel_parts == team
  Windows windows;
  StripLayout layout;
  std::int64_t pairs;                  // pairs of images (for float: images) in the batch
  std::int64_t pairs_at_once;          // number of pairs whose strips are processed together
  std::int64_t strip_words, dy_words;  // of one group; dy_words is 0 if dy is read in place
  AccessA access;                      // how dy is read
  std::int64_t dy_pixel, dy_channel;   // words between pixels and between channels of dy
  std::int64_t dy_stride;              // the one of the two that is not 1
  bool transposed;                     // sums are [taps * channels, out_channels]
  std::int64_t sum_floats;             // size of all of dweight, unless it is accumulated in place
};

// Number of pairs in a group, given that a strip covers a whole image: groups differ little in size.
std::int64_t pairs_at_once(const Conv2dShape& s, const StripLayout& layout, const StripSize& size, std::int64_t pairs) {
  const std::int64_t strip_bytes = s.height * layout.row_stride * static_cast<std::int64_t>(sizeof(Word));
  const std::int64_t deep = min_of(divide_up(size.windows, s.out_height * s.out_width), size.max_bytes / strip_bytes);
  const std::int64_t wanted = min_of(max_of(size.bytes / strip_bytes, deep), kSegments / s.out_height);
  return divide_up(max_of(pairs, 1), divide_up(max_of(pairs, 1), max_of(wanted, 1)));
}

// Vectors of output channels are read whole, from dy in place or from a packed copy with one row per pixel.
bool transposed_pays(const Conv2dShape& s, const Plan& plan) {
  if (plan.channel_parts > 1 || plan.access != AccessA::columns) return false;
  if (kWordDepth == 1 && s.out_channels % kLanes != 0) return false;
  const std::int64_t straight = s.out_channels * divide_up(plan.layout.run, kLanes);
  return plan.layout.run * divide_up(s.out_channels, kLanes) * 20 < straight * 19;
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
  const StripSize& size = divide_up(weights, plan.channel_parts) * 4 > kSumBytes ? kDeepStripSize : kStripSize;
  plan.layout = make_strip_layout(of_pairs, StripOf::image_words, size, plan.strip_parts);
  plan.pairs_at_once = plan.layout.blocks == 1 ? pairs_at_once(s, plan.layout, size, plan.pairs / plan.strip_parts) : 1;
  plan.strip_words = plan.pairs_at_once * plan.layout.elements;
  plan.access = AccessA::columns;
  plan.dy_stride = s.out_channels;
  if (kWordDepth > 1) {
    const std::int64_t pixels = plan.pairs_at_once * plan.layout.block_rows * s.out_width;
    const std::int64_t channels = divide_up(s.out_channels, plan.channel_parts);
    plan.access = kPackedTransposedA;
    plan.dy_stride = spread_stride(plan.access == AccessA::columns ? channels : pixels);
    plan.dy_words = plan.dy_stride * (plan.access == AccessA::columns ? pixels : channels);
  }
  plan.dy_pixel = plan.access == AccessA::columns ? plan.dy_stride : 1;
  plan.dy_channel = plan.access == AccessA::columns ? 1 : plan.dy_stride;
  plan.transposed = transposed_pays(s, plan);
  plan.sum_floats = plan.strip_parts > 1 || kWordDepth > 1 || plan.transposed ? round_up(weights, 16) : 0;
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

// Strips [begin, end) of consecutive pairs, or one block of rows of one pair.
struct Group {
  Strip strips[kSegments];
  std::int64_t first_pair, pairs;
  Range rows;
  const Word* dy;                // at the first channel, pair and row
  std::int64_t dy_pair, dy_row;  // words between pairs and rows
  bool first, last;              // whether it is the first or last group of the sum
};

// sum [channels, taps * channels] = (sum +) the products of the group, for one run of taps. If one sum is all of dweight, its
// last group is stored directly into dweight.
void add_run(const Call& call, const Group& group, std::int64_t run, Range channels, float* sum) {
  const Conv2dShape& s = call.shape;
  const StripLayout& layout = call.plan.layout;
  const std::int64_t tap_row = run / layout.runs_per_row, tap_column = run % layout.runs_per_row;
  const std::int64_t row_floats = s.kernel_height * s.kernel_width * s.channels;
  Segment segments[kSegments];
  Tile tile{};
  const Plan& plan = call.plan;
  const std::int64_t x_pixel = s.stride / layout.column_step * layout.pixel_stride;
  tile.segments = segments;
  tile.k = s.out_width;
  tile.a_stride = plan.transposed ? x_pixel : plan.dy_stride;
  tile.b_stride = plan.transposed ? plan.dy_pixel : x_pixel;
  tile.sum_stride = plan.transposed ? s.out_channels : row_floats;
  tile.y_stride = row_floats;
  const std::int64_t columns = plan.transposed ? channels.end - channels.begin : layout.run;
  const std::int64_t rows = group.rows.end - group.rows.begin, group_rows = group.pairs * rows;
  for (std::int64_t done = 0; done < group_rows;) {
    const bool begins = group.first && done == 0;
    tile.segment_count = 0;
    for (; done < group_rows && tile.segment_count < kSegments; ++done) {
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
      const Tiles tiles = cut(plan.transposed ? layout.run : channels.end - channels.begin, kMr[vectors]);
      for (std::int64_t t = 0; t < tiles.count; ++t) {
        const Range range = tiles[t];
        const std::int64_t at = plan.transposed ? (run * layout.run + range.begin) * s.out_channels + channels.begin + column
                                                : (channels.begin + range.begin) * row_floats + run * layout.run + column;
        tile.a_offset = range.begin * (plan.transposed ? 1 : plan.dy_channel);
        tile.sum = sum + at;
        tile.y = ends ? call.dweight + at : nullptr;
        tile_kernel(plan.transposed ? AccessA::columns : plan.access, range.end - range.begin, vectors)(tile);
      }
      column += tile.columns;
    }
  }
}

// Packs dy of the group, for some of the channels.
void pack_dy(const Call& call, const Group& group, Range channels, Word* packed) {
  const Conv2dShape& s = call.shape;
  const Plan& plan = call.plan;
  const std::int64_t image_stride = s.out_height * s.out_width * s.out_channels;
  const std::int64_t pixels = (group.rows.end - group.rows.begin) * s.out_width;
  for (std::int64_t pair = 0; pair < group.pairs; ++pair) {
    const std::int64_t image = (group.first_pair + pair) * kWordDepth, images = min_of(kWordDepth, s.batch - image);
    const Real* from = call.dy + image * image_stride + group.rows.begin * s.out_width * s.out_channels + channels.begin;
    for (std::int64_t i = 0; i < pixels; ++i, packed += plan.dy_pixel, from += s.out_channels)
      pack_transposed(packed, plan.dy_stride, from, image_stride, images, channels.end - channels.begin);
  }
}

// Strips and dy of a group that starts with block `block` of pair `first_pair`. scratch [strip_words + dy_words].
void prepare(const Call& call, Group& group, std::int64_t block, Range channels, Word* scratch) {
  const Conv2dShape& s = call.shape;
  const Plan& plan = call.plan;
  group.rows = {block * plan.layout.block_rows, min_of((block + 1) * plan.layout.block_rows, s.out_height)};
  for (std::int64_t i = 0; i < group.pairs; ++i) {
    const std::int64_t image = (group.first_pair + i) * kWordDepth;
    group.strips[i] = make_word_strip(plan.windows, plan.layout, image, min_of(kWordDepth, s.batch - image), group.rows,
                                      scratch + i * plan.layout.elements);
  }
  group.dy_row = s.out_width * plan.dy_pixel;
  if (plan.dy_words > 0) {
    Word* const packed = scratch + plan.strip_words;
    pack_dy(call, group, channels, packed);
    group.dy = packed;
    group.dy_pair = (group.rows.end - group.rows.begin) * group.dy_row;
  } else {
    group.dy_pair = s.out_height * group.dy_row;
    const std::int64_t first = group.first_pair * group.dy_pair + group.rows.begin * group.dy_row + channels.begin;
    group.dy = reinterpret_cast<const Word*>(call.dy) + first;
  }
}

// The sum of share `strip_part` of the strips, for share `channel_part` of the output channels.
void sum_part(const Call& call, int strip_part, int channel_part, float* sum, Word* scratch) {
  const Conv2dShape& s = call.shape;
  const Plan& plan = call.plan;
  const StripLayout& layout = plan.layout;
  const std::int64_t row_floats = s.kernel_height * s.kernel_width * s.channels;
  const Range channels = part_of(s.out_channels, channel_part, plan.channel_parts, 1);
  const Range strips = part_of(plan.pairs * layout.blocks, strip_part, plan.strip_parts, 1);
  if (strips.begin == strips.end)
    for (std::int64_t i = channels.begin * row_floats; i < channels.end * row_floats; ++i) sum[i] = 0;
  for (std::int64_t index = strips.begin; index < strips.end; index += plan.pairs_at_once) {
    Group group;
    group.first_pair = index / layout.blocks;
    group.pairs = min_of(plan.pairs_at_once, strips.end - index);
    group.first = index == strips.begin;
    group.last = index + plan.pairs_at_once >= strips.end;
    prepare(call, group, index % layout.blocks, channels, scratch);
    for (std::int64_t run = 0; run < s.kernel_height * layout.runs_per_row; ++run) add_run(call, group, run, channels, sum);
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
  const Plan plan = make_plan(with_long_rows(shape), nullptr, threads);
  return static_cast<std::size_t>(plan.strip_parts * plan.sum_floats) * sizeof(float) +
         static_cast<std::size_t>(plan.team * (plan.strip_words + plan.dy_words)) * sizeof(Word);
}

void conv2d_grad_weight(Real* dweight, const Real* dy, const Real* x, const Conv2dShape& given, void* workspace, int threads) {
  const Conv2dShape shape = with_long_rows(given);
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
