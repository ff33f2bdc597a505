// The weight gradient of a convolution as an implicit matrix product that is deep in pixels:
// dweight [out_channels, taps * channels] = dy^T [out_channels, pixels] times windows of x [pixels, taps * channels].
//
// Threads form a grid: each takes some of the strips of x and some of the output channels, and adds up in a sum of its own,
// which stays in its cache. The sums of one output channel are then added in the order of the strips, so the result depends
// on the number of threads alone.
#include <omp.h>

#include "kernels/cpu/conv2d_strip.h"
#include "kernels/cpu/gemm/team.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

// The strip of x and the dy beside it pass once for every tile of dweight: from a near cache, if they are small. But every tile
// is read and written once a group of strips, so a group has some depth even where that takes more space.
constexpr StripSize kStripSize{48 * 1024, 256, 512 * 1024};
// A thread's sum should fit its second-level cache.
constexpr std::int64_t kSumBytes = 1024 * 1024;
constexpr std::int64_t kSegments = 64;

struct Plan {
  int team, strip_parts, channel_parts;  // strip_parts * channel_parts == team
  Windows windows;
  StripLayout layout;
  std::int64_t images;                    // whose strips are taken together
  std::int64_t strip_floats, sum_floats;  // of one group, of all of dweight
};

// How many images, out of `images`, whose strips are whole, make a group.
std::int64_t images_at_once(const Conv2dShape& s, const StripLayout& layout, std::int64_t images) {
  const std::int64_t strip_bytes = s.height * layout.row_stride * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t deep =
      min_of(divide_up(kStripSize.windows, s.out_height * s.out_width), kStripSize.most_bytes / strip_bytes);
  const std::int64_t wanted = min_of(max_of(kStripSize.bytes / strip_bytes, deep), kSegments / s.out_height);
  return max_of(min_of(wanted, images), 1);
}

Plan make_plan(const Conv2dShape& s, const float* x, int threads) {
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
  plan.layout = make_strip_layout(plan.windows, kStripSize, plan.strip_parts, true);
  plan.images = plan.layout.blocks == 1 ? images_at_once(s, plan.layout, s.batch / plan.strip_parts) : 1;
  plan.strip_floats = plan.images * plan.layout.floats;
  plan.sum_floats = plan.strip_parts > 1 ? round_up(weights, 16) : 0;
  return plan;
}

struct Call {
  const float* dy;
  const Conv2dShape& shape;
  const Plan& plan;
};

// Strips [begin, end) of consecutive images, or one block of rows of one image.
struct Group {
  Strip strips[kSegments];
  std::int64_t first_image, images;
  Range rows;
};

// sum [channels, taps * channels] += over the group, for one run of taps.
void add_run(const Call& call, const Group& group, std::int64_t run, Range channels, float* sum) {
  const Conv2dShape& s = call.shape;
  const StripLayout& layout = call.plan.layout;
  const std::int64_t tap_row = run / layout.runs_per_row, tap_column = run % layout.runs_per_row;
  const std::int64_t row_floats = s.kernel_height * s.kernel_width * s.channels;
  Segment segments[kSegments];
  Tile tile{};
  tile.sum_stride = row_floats;
  tile.segments = segments;
  tile.k = s.out_width;
  tile.a_stride = s.out_channels;
  tile.b_stride = s.stride * layout.pixel_stride;
  tile.accumulate = true;
  const std::int64_t group_rows = group.images * (group.rows.end - group.rows.begin);
  for (std::int64_t done = 0; done < group_rows;) {
    tile.segment_count = 0;
    for (; done < group_rows && tile.segment_count < kSegments; ++done) {
      const std::int64_t image = done / (group.rows.end - group.rows.begin);
      const std::int64_t row = group.rows.begin + done % (group.rows.end - group.rows.begin);
      const Strip& strip = group.strips[image];
      const std::int64_t image_row = row * s.stride - s.padding + tap_row;
      if (image_row < strip.first_row || image_row >= strip.end_row) continue;
      segments[tile.segment_count++] = {
          call.dy + ((group.first_image + image) * s.out_height + row) * s.out_width * s.out_channels,
          strip.data + (image_row - strip.first_row) * layout.row_stride + tap_column * layout.pixel_stride};
    }
    if (tile.segment_count == 0) continue;
    for (std::int64_t column = 0; column < layout.run;) {
      const std::int64_t left = layout.run - column;
      const int vectors = left % (3 * kLanes) == 0 ? 3 : panel_vectors(left);
      tile.columns = min_of(left, vectors * kLanes);
      tile.b_offset = column;
      const Tiles tiles = cut(channels.end - channels.begin, kMaxRows[vectors]);
      for (std::int64_t t = 0; t < tiles.count; ++t) {
        const Range range = tiles[t];
        tile.a_offset = channels.begin + range.begin;
        tile.sum = sum + tile.a_offset * row_floats + run * layout.run + column;
        tile_kernel(AccessA::columns, range.end - range.begin, vectors)(tile);
      }
      column += tile.columns;
    }
  }
}

// The sum of part `strip_part` of the strips, for part `channel_part` of the output channels.
void sum_part(const Call& call, int strip_part, int channel_part, float* sum, float* scratch) {
  const Conv2dShape& s = call.shape;
  const Plan& plan = call.plan;
  const StripLayout& layout = plan.layout;
  const std::int64_t row_floats = s.kernel_height * s.kernel_width * s.channels;
  const Range channels = part_of(s.out_channels, channel_part, plan.channel_parts, 1);
  for (std::int64_t i = channels.begin * row_floats; i < channels.end * row_floats; ++i) sum[i] = 0;
  const Range strips = part_of(s.batch * layout.blocks, strip_part, plan.strip_parts, 1);
  for (std::int64_t index = strips.begin; index < strips.end; index += plan.images) {
    Group group;
    group.first_image = index / layout.blocks;
    group.images = min_of(plan.images, strips.end - index);
    const std::int64_t block = index % layout.blocks;
    group.rows = {block * layout.block_rows, min_of((block + 1) * layout.block_rows, s.out_height)};
    for (std::int64_t i = 0; i < group.images; ++i)
      group.strips[i] = make_strip(plan.windows, layout, group.first_image + i, group.rows, scratch + i * layout.floats);
    for (std::int64_t run = 0; run < s.kernel_height * layout.runs_per_row; ++run) add_run(call, group, run, channels, sum);
  }
}

}  // namespace

std::size_t conv2d_grad_weight_workspace_bytes(const Conv2dShape& shape, int threads) {
  const Plan plan = make_plan(shape, nullptr, threads);
  return static_cast<std::size_t>(plan.strip_parts * plan.sum_floats + plan.team * plan.strip_floats) * sizeof(float);
}

void conv2d_grad_weight(float* dweight, const float* dy, const float* x, const Conv2dShape& shape, void* workspace,
                        int threads) {
  const Plan plan = make_plan(shape, x, threads);
  const Call call{dy, shape, plan};
  float* const sums = static_cast<float*>(workspace);
  float* const strips = sums + plan.strip_parts * plan.sum_floats;
  const std::int64_t weights = shape.out_channels * shape.kernel_height * shape.kernel_width * shape.channels;
#pragma omp parallel num_threads(plan.team) if (plan.team > 1)
  {
    // The runtime may grant fewer threads than there are parts.
    const int thread = omp_get_thread_num(), granted = omp_get_num_threads();
    for (int part = thread; part < plan.team; part += granted) {
      const int strip_part = part / plan.channel_parts;
      float* sum = plan.strip_parts > 1 ? sums + strip_part * plan.sum_floats : dweight;
      sum_part(call, strip_part, part % plan.channel_parts, sum, strips + part * plan.strip_floats);
    }
    if (plan.strip_parts > 1) {
#pragma omp barrier
      for (int part = thread; part < plan.team; part += granted) {
        const Range range = part_of(weights, part, plan.team, 16);
        for (std::int64_t i = range.begin; i < range.end; ++i) {
          float total = sums[i];
          for (int p = 1; p < plan.strip_parts; ++p) total += sums[p * plan.sum_floats + i];
          dweight[i] = total;
        }
      }
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
