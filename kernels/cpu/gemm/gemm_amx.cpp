// Matrix products on AMX tiles: tiles of C, 32 x 32, in four tile registers.
//
// The threads form a grid, and each owns a rectangle of C. It packs a whole block of B, half an L2 cache, and multiplies all of
// its tiles of A by it. A tile of A, 32 rows and up to 512 of k, is read from the matrix if its rows suit the L1 cache,
// otherwise from a packed copy that the threads make together; it stays in the L1 cache while the panels of the block stream
// past it. Sums over several tiles along k stay in the L2 cache; those over several blocks of B go through L3. C is rounded
// once, and the rows of a tile are rounded while the next tile is multiplied.
//
// Only sums are prefetched by instructions: each of these takes one of the 16 fill buffers, which tile loads from the L2 cache
// also need. So all loops run along rows, which the CPU prefetches.
#include <omp.h>

#include "kernels/cpu/gemm/column_moments.h"
#include "kernels/cpu/gemm/plan_amx.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

struct Call {
  Real* c;
  const Real *a, *b;
  GemmShape shape;
  Epilogue<Real> epilogue;
  GemmPlan plan;
  Real* packed_a;  // [tiles of a block of rows, steps, 32, 32] or null
};

// A thread's buffers in the workspace.
struct Buffers {
  float* finished;    // [2, 32, 32]: sums that are rounded while the next ones are computed
  float* row_sums;    // [panels of a block, 32, 32]
  float* block_sums;  // [tiles of the part, panels of a block, 32, 32]
  Real* b;
  Real* edge;  // [tile_steps, 32, 32]: a tile of A with fewer rows
};
constexpr std::int64_t kEdgeReals = kTileSteps * kStepReals;

std::int64_t part_floats(const GemmPlan& plan) {
  return 2 * kTileFloats + plan.row_sums + plan.block_sums + (plan.b_reals + kEdgeReals) / 2;
}
Buffers buffers_of(const GemmPlan& plan, float* memory) {
  Buffers buffers{};
  buffers.finished = memory;
  buffers.row_sums = buffers.finished + 2 * kTileFloats;
  buffers.block_sums = buffers.row_sums + plan.row_sums;
  buffers.b = reinterpret_cast<Real*>(buffers.block_sums + plan.block_sums);
  buffers.edge = buffers.b + plan.b_reals;
  return buffers;
}

// A finished tile of C, rounded row by row.
struct Rounding {
  const float* sums;  // [32, 32]
  Real* c;
  std::int64_t stride, rows, columns, row;  // row: the next one
  const Real* bias;                         // of the first column, or null
  bool relu;
};

// Restores the order of columns that alternate between two vectors in blocks of four.
__m512i in_order(Vec low, Vec high) {
  const __m512i blocks = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
  return _mm512_maskz_permutexvar_epi64(0xff, blocks, (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

void round_rows(Rounding& tile, std::int64_t end) {
  end = min_of(end, tile.rows);
  const std::int64_t stride = tile.stride;
  const float* sums = tile.sums + tile.row * kTilePair;
  Real* to = tile.c + tile.row * stride;
  std::int64_t rows = end - tile.row;
  if (rows <= 0) return;
  tile.row = end;
  const auto mask = static_cast<__mmask32>(0xffffffffu >> (kTilePair - min_of(tile.columns, kTilePair)));
  if (mask == 0xffffffffu && tile.bias == nullptr && !tile.relu) {
    for (; rows > 0; --rows, sums += kTilePair, to += stride)
      _mm512_storeu_si512(to, in_order(load(sums), load(sums + kLanes)));
    return;
  }
  Vec low = zero_vector(), high = zero_vector();
  if (tile.bias != nullptr) {
    const __m512i bias = _mm512_maskz_loadu_epi16(mask, tile.bias), zero = _mm512_setzero_si512();
    low = (Vec)_mm512_unpacklo_epi16(zero, bias);
    high = (Vec)_mm512_unpackhi_epi16(zero, bias);
  }
  const Vec floor = tile.relu ? zero_vector() : zero_vector() - __builtin_inff();
  for (; rows > 0; --rows, sums += kTilePair, to += stride)
    _mm512_mask_storeu_epi16(to, mask, in_order(maximum(floor, load(sums) + low), maximum(floor, load(sums + kLanes) + high)));
}

// A tile of A with up to tile_steps steps.
struct TileA {
  const Real* data;
  TileStrides stride;  // of A and of a packed panel of B
};

// The k of a block, in Reals.
Range k_range(const Call& call, std::int64_t k_block) {
  const std::int64_t depth = call.plan.block_steps * kStepDepth;
  return {k_block * depth, min_of((k_block + 1) * depth, call.shape.k)};
}
// A[row.., k] and B[k, column..].
Operand operand_a(const Call& call, std::int64_t row, std::int64_t rows, Range k) {
  const GemmShape& s = call.shape;
  const Real* const data = call.a + (s.transpose_a ? k.begin * s.m + row : row * s.k + k.begin);
  return {data, s.transpose_a ? s.m : s.k, k.end - k.begin, rows, s.transpose_a};
}
Operand operand_b(const Call& call, std::int64_t column, std::int64_t columns, Range k) {
  const GemmShape& s = call.shape;
  const Real* const data = call.b + (s.transpose_b ? column * s.k + k.begin : k.begin * s.n + column);
  return {data, s.transpose_b ? s.k : s.n, k.end - k.begin, columns, s.transpose_b};
}

// Packs the part-th share of A for a block of rows.
void pack_a(const Call& call, Range rows, int part) {
  const Range tiles = part_of(divide_up(rows.end - rows.begin, kTilePair), part, call.plan.team, 1);
  for (std::int64_t t = tiles.begin; t < tiles.end; ++t) {
    const std::int64_t row = rows.begin + t * kTilePair;
    pack_tile_a(call.packed_a + t * steps_of(call.shape.k) * kStepReals,
                operand_a(call, row, min_of(rows.end - row, kTilePair), {0, call.shape.k}));
  }
}

// What a thread multiplies at a time: its rows in a block of rows, a block of columns, a block of k.
struct Unit {
  Range rows, columns;
  std::int64_t k_block;
  std::int64_t first_tile;  // of the part, in the block of rows
};

// The tile of A that starts at `row` of the unit's rows, and at step `from` of the block of k.
TileA tile_of(const Call& call, const Unit& unit, const Buffers& buffers, std::int64_t row, Range steps) {
  const Range k = k_range(call, unit.k_block);
  constexpr std::int64_t kRowBytes = kStepDepth * sizeof(Real), kPairBytes = 2 * kRowBytes;
  const TileStrides packed{kRowBytes, kTileRows * kRowBytes, kStepBytes, kPairBytes, kStepBytes};
  const std::int64_t rows = min_of(unit.rows.end - row, kTilePair);
  if (call.packed_a != nullptr) {
    const std::int64_t tile = unit.first_tile + (row - unit.rows.begin) / kTilePair;
    const std::int64_t step = unit.k_block * call.plan.block_steps + steps.begin;
    return {call.packed_a + (tile * steps_of(call.shape.k) + step) * kStepReals, packed};
  }
  const Operand a = operand_a(call, row, rows, {k.begin + steps.begin * kStepDepth, k.begin + steps.end * kStepDepth});
  if (rows < kTilePair) {
    pack_tile_a(buffers.edge, a);
    return {buffers.edge, packed};
  }
  const std::int64_t stride = a.stride * static_cast<std::int64_t>(sizeof(Real));
  return {a.data, {stride, kTileRows * stride, kRowBytes, kPairBytes, kStepBytes}};
}

// Multiplies `steps` steps, rounds the previous tile and prefetches kLines lines per step meanwhile.
template <int kLines>
void multiply_and_round(const TileA& a, const Real* b, std::int64_t steps, Rounding& previous, PrefetchLines lines) {
  multiply_and_finish<2, kLines, false>(reinterpret_cast<const char*>(a.data), reinterpret_cast<const char*>(b), a.stride,
                                        steps, lines, [&](std::int64_t rows) { round_rows(previous, rows); });
}

// The packed panels of a unit's block of B: the first step of the first one, and the steps from a panel to the next.
struct PanelsB {
  const Real* data;
  std::int64_t panel_steps;
};
PanelsB panels_of(const Call& call, const Unit& unit, const Buffers& buffers) {
  const Range k = k_range(call, unit.k_block);
  if (!call.shape.packed_b) return {buffers.b, steps_of(k.end - k.begin)};
  const std::int64_t steps = steps_of(call.shape.k);
  return {call.b + (unit.columns.begin / kTilePair * steps + unit.k_block * call.plan.block_steps) * kStepReals, steps};
}

// Rows of C, a multiple of a tile's, whose statistics are added together: their columns of a unit stay in the L2 cache.
constexpr std::int64_t kMomentRows = 256;

// The statistics of the finished rows of a unit.
void add_moments(const Call& call, const Unit& unit, Range rows, int part) {
  add_block(column_moments(call.epilogue.moments, call.shape.n, part), call.c + rows.begin * call.shape.n + unit.columns.begin,
            call.shape.n, rows.end - rows.begin, unit.columns);
}

void multiply_unit(const Call& call, const Unit& unit, const Buffers& buffers, Rounding& previous, int part) {
  const GemmPlan& plan = call.plan;
  const Range k = k_range(call, unit.k_block);
  constexpr int kSumLines = kTileFloats * sizeof(float) / 64 / kTileSteps;
  const std::int64_t steps = steps_of(k.end - k.begin), panels = divide_up(unit.columns.end - unit.columns.begin, kTilePair);
  const PanelsB b = panels_of(call, unit, buffers);
  const bool moments = call.epilogue.moments != nullptr && unit.k_block + 1 == plan.k_blocks;
  std::int64_t added = unit.rows.begin;
  for (std::int64_t row = unit.rows.begin; row < unit.rows.end; row += kTilePair) {
    float* const block_sums = buffers.block_sums + (row - unit.rows.begin) / kTilePair * plan.panels * kTileFloats;
    for (std::int64_t step = 0; step == 0 || step < steps; step += plan.tile_steps) {
      const Range range{step, min_of(step + plan.tile_steps, steps)};
      const TileA a = tile_of(call, unit, buffers, row, range);
      const bool first = step == 0, last = range.end == steps;
      const bool finished = last && unit.k_block + 1 == plan.k_blocks;
      for (std::int64_t p = 0; p < panels; ++p) {
        const float* const before = (first ? block_sums : buffers.row_sums) + p * kTileFloats;
        if (first && unit.k_block == 0) {
          zero_sums();
        } else {
          load_sums(before);
        }
        const Real* const panel = b.data + (p * b.panel_steps + step) * kStepReals;
        if (first && unit.k_block > 0) {
          multiply_and_round<kSumLines>(a, panel, range.end - step, previous,
                                        {reinterpret_cast<const char*>(before + kTileFloats), 64, 64});
        } else {
          multiply_and_round<0>(a, panel, range.end - step, previous, {});
        }
        if (!finished) {
          store_sums((last ? block_sums : buffers.row_sums) + p * kTileFloats);
          continue;
        }
        float* const sums = previous.sums == buffers.finished ? buffers.finished + kTileFloats : buffers.finished;
        store_sums(sums);
        const std::int64_t column = unit.columns.begin + p * kTilePair;
        previous = {sums,
                    call.c + row * call.shape.n + column,
                    call.shape.n,
                    min_of(unit.rows.end - row, kTilePair),
                    unit.columns.end - column,
                    0,
                    call.epilogue.bias != nullptr ? call.epilogue.bias + column : nullptr,
                    call.epilogue.relu};
      }
    }
    if (moments && row - added >= kMomentRows) {  // before this row, all tiles are rounded
      add_moments(call, unit, {added, row}, part);
      added = row;
    }
  }
  if (!moments) return;
  round_rows(previous, kTilePair);
  add_moments(call, unit, {added, unit.rows.end}, part);
}

// The part's share of a block of rows.
void multiply_part(const Call& call, Range rows, const Buffers& buffers, int part) {
  const GemmPlan& plan = call.plan;
  Unit unit{};
  const Range own = rows_of_part(plan, rows.end - rows.begin, part);
  unit.rows = {rows.begin + own.begin, rows.begin + own.end};
  unit.first_tile = own.begin / kTilePair;
  if (own.begin == own.end) return;
  const Range columns = columns_of_part(plan, call.shape.n, part);
  Rounding previous{};
  configure_whole_tiles();
  for (std::int64_t column = columns.begin; column < columns.end; column += plan.panels * kTilePair) {
    unit.columns = {column, min_of(column + plan.panels * kTilePair, columns.end)};
    for (unit.k_block = 0; unit.k_block < plan.k_blocks; ++unit.k_block) {
      if (!call.shape.packed_b)
        pack_block_b(buffers.b, operand_b(call, column, unit.columns.end - column, k_range(call, unit.k_block)));
      multiply_unit(call, unit, buffers, previous, part);
    }
  }
  round_rows(previous, kTilePair);
}

}  // namespace

std::size_t gemm_packed_bytes(const GemmShape& shape, int) {
  return static_cast<std::size_t>(divide_up(shape.n, kTilePair) * steps_of(shape.k) * kStepReals) * sizeof(Real);
}

void pack_gemm(Real* packed, const Real* b, const GemmShape& shape, int threads) {
  const GemmPlan plan = make_gemm_plan(shape, threads);
  const Call call{nullptr, nullptr, b, shape, {}, plan, nullptr};
#pragma omp parallel for num_threads(plan.team) if (plan.team > 1)
  for (std::int64_t column = 0; column < shape.n; column += kTilePair)
    pack_block_b(packed + column / kTilePair * steps_of(shape.k) * kStepReals,
                 operand_b(call, column, min_of(shape.n - column, kTilePair), {0, shape.k}));
}

std::size_t gemm_workspace_bytes(const GemmShape& shape, int threads) {
  const GemmPlan plan = make_gemm_plan(shape, threads);
  return static_cast<std::size_t>(plan.a_reals) * sizeof(Real) +
         static_cast<std::size_t>(plan.team * part_floats(plan)) * sizeof(float);
}

void gemm(Real* c, const Real* a, const Real* b, const GemmShape& shape, const Epilogue<Real>& epilogue, void* workspace,
          int threads) {
  const GemmPlan plan = make_gemm_plan(shape, threads);
  float* const parts = static_cast<float*>(workspace) + plan.a_reals / 2;
  const Call call{c, a, b, shape, epilogue, plan, plan.pack_a ? static_cast<Real*>(workspace) : nullptr};
#pragma omp parallel num_threads(plan.team) if (plan.team > 1)
  {
    const MicrokernelScope scope;
    // The runtime may grant fewer threads than there are parts.
    const int thread = omp_get_thread_num(), granted = omp_get_num_threads();
    for (int part = thread; part < plan.team; part += granted) start_moments(epilogue.moments, shape.n, part, plan.team);
    for (std::int64_t row = 0; row < shape.m; row += plan.row_block) {
      const Range rows{row, min_of(row + plan.row_block, shape.m)};
      if (plan.pack_a) {
        for (int part = thread; part < plan.team; part += granted) pack_a(call, rows, part);
#pragma omp barrier
      }
      for (int part = thread; part < plan.team; part += granted)
        multiply_part(call, rows, buffers_of(plan, parts + part * part_floats(plan)), part);
      if (plan.pack_a) {  // before others overwrite it
#pragma omp barrier
      }
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
