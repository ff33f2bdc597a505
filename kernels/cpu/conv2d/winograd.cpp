// Winograd convolution: computes tiles of 4x4 outputs from 6x6 inputs, with 36 products per channel instead of 144.
//
// With polynomials of degree 5 evaluated at the points 0, a, -a, b, -b and infinity, a tile of outputs is
// A' [(G w G') . (B' x B)] A, where the dot multiplies position by position and sums over channels: 36 matrix products of
// tiles by channels with channels by output channels. a = sqrt(1/2), b = sqrt(2) instead of the usual 1 and 2: a b = 1 saves
// multiplications, and the entries of the matrices differ less in size, so less is lost to rounding.
//
// The weights are transformed once per call, or by pack_winograd before all calls. Then each thread processes its tiles in
// blocks: the transformed inputs of a block and the products for one panel of output channels stay in the L2 cache.
#include "kernels/cpu/conv2d/winograd.h"

#include <omp.h>

#include "kernels/cpu/gemm/column_moments.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/gemm/team.h"
#include "kernels/cpu/shares.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

#if EPOCHBENCH_BF16

bool conv2d_is_winograd(const Conv2dShape&) { return false; }

#else

namespace {

constexpr std::int64_t kOut = 4, kIn = 6, kPositions = kIn * kIn, kTaps = 9;
constexpr float kA = 0.70710678f, kB = 1.41421356f;  // a^2 = 1/2, b^2 = 2
constexpr float kACubed = 0.35355339f, kBCubed = 2.82842712f;

inline Vec constant(float value) { return broadcast(&value); }

// B' along one axis.
inline __attribute__((always_inline)) void transform_input(Vec (&y)[kIn], const Vec (&x)[kIn]) {
  const Vec a = constant(kA), b = constant(kB), minus_half = constant(-0.5f), minus_two = constant(-2), s = constant(-2.5f);
  const Vec even_a = multiply_add(minus_two, x[2], x[4]), odd_a = multiply_add(minus_two, x[1], x[3]) * a;
  const Vec even_b = multiply_add(minus_half, x[2], x[4]), odd_b = multiply_add(minus_half, x[1], x[3]) * b;
  y[0] = multiply_add(s, x[2], x[0] + x[4]);
  y[1] = even_a + odd_a;
  y[2] = even_a - odd_a;
  y[3] = even_b + odd_b;
  y[4] = even_b - odd_b;
  y[5] = multiply_add(s, x[3], x[1] + x[5]);
}

// G along one axis.
inline __attribute__((always_inline)) void transform_weight(Vec (&y)[kIn], const Vec (&x)[3]) {
  const Vec by_a = constant(-1.f / 1.5f), by_b = constant(1.f / 6), half = constant(0.5f), two = constant(2);
  const Vec even_a = multiply_add(half, x[2], x[0]) * by_a, odd_a = x[1] * constant(-kA / 1.5f);
  const Vec even_b = multiply_add(two, x[2], x[0]) * by_b, odd_b = x[1] * constant(kB / 6);
  y[0] = x[0];
  y[1] = even_a + odd_a;
  y[2] = even_a - odd_a;
  y[3] = even_b + odd_b;
  y[4] = even_b - odd_b;
  y[5] = x[2];
}

// A' along one axis.
inline __attribute__((always_inline)) void transform_output(Vec (&y)[kOut], const Vec (&x)[kIn]) {
  const Vec even_a = x[1] + x[2], odd_a = x[1] - x[2], even_b = x[3] + x[4], odd_b = x[3] - x[4];
  y[0] = x[0] + even_a + even_b;
  y[1] = multiply_add(constant(kA), odd_a, constant(kB) * odd_b);
  y[2] = multiply_add(constant(0.5f), even_a, even_b + even_b);
  y[3] = multiply_add(constant(kACubed), odd_a, multiply_add(constant(kBCubed), odd_b, x[5]));
}

// Transforms one tile in all channels: 6x6 pixels, each given by its address.
void transform_pixels(float* v, std::int64_t position_stride, const float* const (&pixels)[kPositions], std::int64_t channels) {
  for (std::int64_t c = 0; c < channels; c += kLanes) {
    Vec half[kIn][kIn];
#pragma GCC unroll 6
    for (int j = 0; j < kIn; ++j) {
      Vec x[kIn], y[kIn];
#pragma GCC unroll 6
      for (int i = 0; i < kIn; ++i) x[i] = load(pixels[i * kIn + j] + c);
      transform_input(y, x);
#pragma GCC unroll 6
      for (int i = 0; i < kIn; ++i) half[i][j] = y[i];
    }
#pragma GCC unroll 6
    for (int i = 0; i < kIn; ++i) {
      Vec y[kIn];
      transform_input(y, half[i]);
#pragma GCC unroll 6
      for (int j = 0; j < kIn; ++j) store(v + (i * kIn + j) * position_stride + c, y[j]);
    }
  }
}

// The destination of an output tile: `rows` by `columns` of its 4x4 pixels are inside the image.
struct Target {
  float* y;  // at the first output channel of a panel
  std::int64_t rows, columns, row_stride, column_stride;
};

// The sums of column_moments.h for the channels of a panel.
struct Sums {
  const float* pivot;
  float *sum, *squares;
};

template <bool kMoments>
void transform_sums(const Target& target, const float* m, std::int64_t position_stride, std::int64_t channels,
                    const float* bias, bool relu, const Sums& sums) {
  for (std::int64_t c = 0; c < channels; c += kLanes) {
    Vec half[kOut][kIn];
#pragma GCC unroll 6
    for (int j = 0; j < kIn; ++j) {
      Vec x[kIn], y[kOut];
#pragma GCC unroll 6
      for (int i = 0; i < kIn; ++i) x[i] = load(m + (i * kIn + j) * position_stride + c);
      transform_output(y, x);
#pragma GCC unroll 4
      for (int i = 0; i < kOut; ++i) half[i][j] = y[i];
    }
    Vec pivot = zero_vector(), total = zero_vector(), squares = zero_vector();
    if constexpr (kMoments) pivot = load(sums.pivot + c);
    const Vec add = bias != nullptr ? load(bias + c) : zero_vector();
#pragma GCC unroll 4
    for (int i = 0; i < kOut; ++i) {
      if (i >= target.rows) break;
      Vec y[kOut];
      transform_output(y, half[i]);
#pragma GCC unroll 4
      for (int j = 0; j < kOut; ++j) {
        if (j >= target.columns) break;
        Vec sum = y[j] + add;
        if (relu) sum = maximum(zero_vector(), sum);
        store(target.y + i * target.row_stride + j * target.column_stride + c, sum);
        if constexpr (kMoments) {
          const Vec deviation = sum - pivot;
          total += deviation;
          squares = multiply_add(deviation, deviation, squares);
        }
      }
    }
    if constexpr (kMoments) {
      store(sums.sum + c, load(sums.sum + c) + total);
      store(sums.squares + c, load(sums.squares + c) + squares);
    }
  }
}

struct Plan {
  int team;
  std::int64_t height, width, depth, columns;     // channels of the input, channels of the output
  std::int64_t tile_rows, tile_columns, tiles;    // per image, per image, in total
  std::int64_t block;                             // maximum number of tiles per block
  std::int64_t v_stride, v_position, m_position;  // floats between tiles, and between positions
  std::int64_t weights, scratch;                  // floats in total, floats per part
  std::int64_t own_weights;                       // of them in the workspace: all, or none if they were transformed before
};

// Size of the transformed inputs of a block: leaves room for the panels of weights and sums in a 1 MiB L2 cache.
constexpr std::int64_t kBlockBytes = 512 * 1024;

Plan make_plan(const Conv2dShape& s, WinogradOf of, int threads) {
  Plan plan{};
  plan.team = team_size(
      2.0 * static_cast<double>(s.batch * s.height * s.width * kTaps) * static_cast<double>(s.channels * s.out_channels),
      threads);
  plan.height = s.height;
  plan.width = s.width;
  plan.depth = of == WinogradOf::forward ? s.channels : s.out_channels;
  plan.columns = of == WinogradOf::forward ? s.out_channels : s.channels;
  plan.tile_rows = divide_up(s.height, kOut);
  plan.tile_columns = divide_up(s.width, kOut);
  plan.tiles = s.batch * plan.tile_rows * plan.tile_columns;
  plan.v_stride = spread_stride(plan.depth);
  const std::int64_t rows = kMr[panel_vectors(plan.columns)];
  const std::int64_t row_bytes = kPositions * plan.depth * static_cast<std::int64_t>(sizeof(float)) * rows;
  plan.block = min_of(min_of(max_of(kBlockBytes / row_bytes, 2), 8) * rows, plan.tiles);
  plan.v_position = spread_stride(plan.block * plan.v_stride);
  plan.m_position = spread_stride(plan.block * kNr);
  plan.weights = kPositions * plan.depth * packed_columns(plan.columns);
  plan.own_weights = of == WinogradOf::forward && s.packed_weight ? 0 : plan.weights;
  plan.scratch = kPositions * (plan.v_position + plan.m_position) + round_up(plan.depth, 16);
  return plan;
}

// Transforms the part-th share of the weights: panels [position][depth][columns], in pieces of kLanes of the depth.
void transform_weights(float* u, const float* weight, const Conv2dShape& s, WinogradOf of, const Plan& plan, int part) {
  const std::int64_t along = plan.depth / kLanes, row = kTaps * s.channels;  // between output channels
  const Range pieces = part_of(divide_up(plan.columns, kNr) * along, part, plan.team, 1);
  alignas(64) float taps[kTaps][kLanes * kNr];
  for (std::int64_t i = pieces.begin; i < pieces.end; ++i) {
    const std::int64_t column = i / along * kNr, from = i % along * kLanes;
    const std::int64_t columns = min_of(kNr, plan.columns - column), width = panel_vectors(columns) * kLanes;
    for (std::int64_t tap = 0; tap < kTaps; ++tap) {
      if (of == WinogradOf::forward) {
        pack_panel_transposed(taps[tap], weight + column * row + tap * s.channels + from, row, kLanes, columns);
      } else {
        pack_panel(taps[tap], weight + from * row + (kTaps - 1 - tap) * s.channels + column, row, kLanes, columns);
      }
    }
    float* const panel = u + column * kPositions * plan.depth + from * width;
    for (std::int64_t at = 0; at < kLanes * width; at += kLanes) {
      Vec half[kIn][3];
#pragma GCC unroll 3
      for (int c = 0; c < 3; ++c) {
        const Vec x[3] = {load(taps[c] + at), load(taps[3 + c] + at), load(taps[6 + c] + at)};
        Vec y[kIn];
        transform_weight(y, x);
#pragma GCC unroll 6
        for (int r = 0; r < kIn; ++r) half[r][c] = y[r];
      }
#pragma GCC unroll 6
      for (int r = 0; r < kIn; ++r) {
        Vec y[kIn];
        transform_weight(y, half[r]);
#pragma GCC unroll 6
        for (int c = 0; c < kIn; ++c) store(panel + (r * kIn + c) * plan.depth * width + at, y[c]);
      }
    }
  }
}

struct Place {
  std::int64_t image, row, column;  // of the tile's first pixel
};
Place place_of(const Plan& plan, std::int64_t tile) {
  const std::int64_t in_image = plan.tile_rows * plan.tile_columns, at = tile % in_image;
  return {tile / in_image, at / plan.tile_columns * kOut, at % plan.tile_columns * kOut};
}

// v [position][tile of the block][depth]. Pixels outside the image are read from `zeros` [depth].
void transform_block(float* v, const float* x, const float* zeros, const Plan& plan, Range tiles) {
  for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
    const Place place = place_of(plan, tile);
    const float* pixels[kPositions];
    for (std::int64_t i = 0; i < kIn; ++i) {
      const std::int64_t row = place.row - 1 + i;
      for (std::int64_t j = 0; j < kIn; ++j) {
        const std::int64_t column = place.column - 1 + j;
        const bool inside = row >= 0 && row < plan.height && column >= 0 && column < plan.width;
        pixels[i * kIn + j] = inside ? x + ((place.image * plan.height + row) * plan.width + column) * plan.depth : zeros;
      }
    }
    transform_pixels(v + (tile - tiles.begin) * plan.v_stride, plan.v_position, pixels, plan.depth);
  }
}

// m [position][tile of the block][columns of the panel] = v times the panel of u.
void multiply_block(float* m, const float* v, const float* u, const Plan& plan, std::int64_t rows, std::int64_t columns) {
  const int vectors = panel_vectors(columns);
  const Tiles tiles = cut(rows, kMr[vectors]);
  Segment segment{};
  Tile tile{};
  tile.segments = &segment;
  tile.segment_count = 1;
  tile.columns = columns;
  tile.k = plan.depth;
  tile.a_stride = plan.v_stride;
  tile.b_stride = vectors * kLanes;
  tile.sum_stride = tile.b_stride;
  for (std::int64_t position = 0; position < kPositions; ++position) {
    segment = {v + position * plan.v_position, u + position * plan.depth * tile.b_stride};
    for (std::int64_t t = 0; t < tiles.count; ++t) {
      const Range range = tiles[t];
      tile.sum = m + position * plan.m_position + range.begin * tile.sum_stride;
      tile.a_offset = range.begin * tile.a_stride;
      tile_kernel(AccessA::rows, range.end - range.begin, vectors)(tile);
    }
  }
}

// Pixels inside the image.
std::int64_t pixels_of(const Plan& plan, Range tiles) {
  std::int64_t pixels = 0;
  for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
    const Place place = place_of(plan, tile);
    pixels += min_of(kOut, plan.height - place.row) * min_of(kOut, plan.width - place.column);
  }
  return pixels;
}

void compute_block(float* y, const float* x, const float* u, float* scratch, const Plan& plan, const Epilogue<float>& epilogue,
                   Range tiles, int part) {
  float* const v = scratch;
  float* const m = v + kPositions * plan.v_position;
  const std::int64_t pixels = epilogue.moments != nullptr ? pixels_of(plan, tiles) : 0;
  transform_block(v, x, m + kPositions * plan.m_position, plan, tiles);
  for (std::int64_t column = 0; column < plan.columns; column += kNr) {
    const std::int64_t columns = min_of(kNr, plan.columns - column);
    multiply_block(m, v, u + column * kPositions * plan.depth, plan, tiles.end - tiles.begin, columns);
    const float* const bias = epilogue.bias != nullptr ? epilogue.bias + column : nullptr;
    const auto transform = [&](auto transform_tile, Range part, const Sums& sums) {
      for (std::int64_t tile = part.begin; tile < part.end; ++tile) {
        const Place place = place_of(plan, tile);
        const Target target{y + ((place.image * plan.height + place.row) * plan.width + place.column) * plan.columns + column,
                            plan.height - place.row, plan.width - place.column, plan.width * plan.columns, plan.columns};
        transform_tile(target, m + (tile - tiles.begin) * panel_vectors(columns) * kLanes, plan.m_position, columns, bias,
                       epilogue.relu, sums);
      }
    };
    if (epilogue.moments == nullptr) {
      transform(transform_sums<false>, tiles, {});
      continue;
    }
    const ColumnMoments moments = column_moments(epilogue.moments, plan.columns, part);
    const Range channels{column, column + columns};
    const Sums sums{moments.pivot + column, moments.sum + column, moments.squares + column};
    if (moments.count[column] == 0) {
      start_range(moments, channels);
      transform(transform_sums<true>, {tiles.begin, tiles.begin + 1}, sums);
      take_pivot(moments, pixels_of(plan, {tiles.begin, tiles.begin + 1}), channels);
    }
    transform(transform_sums<true>, tiles, sums);
    merge_rows(moments, pixels, channels);
  }
}

}  // namespace

// A rule from measurements of where Winograd is faster than direct sums: 9 of a tile's 16 pixels must be inside the image to
// justify the transforms, and transforming the weights takes about as long as 80 pixels. Channels in multiples of 16 fill the
// vectors of every instruction set; with fewer than 16, the transforms outweigh the products.
bool conv2d_is_winograd(const Conv2dShape& s) {
  const std::int64_t pixels = s.batch * s.height * s.width;
  const std::int64_t tiles = s.batch * divide_up(s.height, kOut) * divide_up(s.width, kOut);
  return s.winograd && s.kernel_height == 3 && s.kernel_width == 3 && s.stride == 1 && s.padding == 1 && s.channels % 16 == 0 &&
         s.out_channels % 16 == 0 && pixels > 9 * tiles + 80;
}

std::size_t winograd_packed_bytes(const Conv2dShape& shape, int threads) {
  return static_cast<std::size_t>(make_plan(shape, WinogradOf::forward, threads).weights) * sizeof(float);
}

void pack_winograd(float* packed, const float* weight, const Conv2dShape& shape, int threads) {
  const Plan plan = make_plan(shape, WinogradOf::forward, threads);
#pragma omp parallel for num_threads(plan.team) if (plan.team > 1)
  for (int part = 0; part < plan.team; ++part) transform_weights(packed, weight, shape, WinogradOf::forward, plan, part);
}

std::size_t winograd_workspace_bytes(const Conv2dShape& shape, WinogradOf of, int threads) {
  const Plan plan = make_plan(shape, of, threads);
  return static_cast<std::size_t>(plan.team) * sizeof(TakenShares) +
         static_cast<std::size_t>(plan.own_weights + plan.team * plan.scratch) * sizeof(float);
}

void winograd(float* y, const float* x, const float* weight, const Conv2dShape& shape, WinogradOf of,
              const Epilogue<float>& epilogue, void* workspace, int threads) {
  const Plan plan = make_plan(shape, of, threads);
  auto* const taken = static_cast<TakenShares*>(workspace);
  auto* const own = reinterpret_cast<float*>(taken + plan.team);
  const float* const u = plan.own_weights > 0 ? own : weight;
  start_shares(taken, plan.team);
#pragma omp parallel num_threads(plan.team) if (plan.team > 1)
  {
    // The runtime may grant fewer threads than there are parts.
    const int thread = omp_get_thread_num(), granted = omp_get_num_threads();
    if (plan.own_weights > 0) {
      for (int part = thread; part < plan.team; part += granted) transform_weights(own, weight, shape, of, plan, part);
#pragma omp barrier
    }
    float* const scratch = own + plan.own_weights + thread * plan.scratch;
    float* const zeros = scratch + plan.scratch - round_up(plan.depth, 16);
    for (std::int64_t i = 0; i < plan.depth; ++i) zeros[i] = 0;
    take_shares(taken, plan.team, 0, thread, [&](int share) {
      start_moments(epilogue.moments, plan.columns, share, plan.team * kShares);
      const Range tiles = part_of(plan.tiles, share / kShares, plan.team, 1);
      if (tiles.begin == tiles.end) return;
      const Tiles blocks = cut(tiles.end - tiles.begin, plan.block);
      const Range own_blocks = part_of(blocks.count, share % kShares, kShares, 1);
      for (std::int64_t b = own_blocks.begin; b < own_blocks.end; ++b) {
        const Range block = blocks[b];
        compute_block(y, x, u, scratch, plan, epilogue, {tiles.begin + block.begin, tiles.begin + block.end}, share);
      }
    });
  }
}

#endif

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
