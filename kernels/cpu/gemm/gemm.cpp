// Matrix products by packed blocks: the five loops of Goto and van de Geijn ("Anatomy of high-performance matrix
// multiplication", 2008) around the micro-kernel. Names of block sizes as in BLIS (plan.h).
//
// The threads form a grid, and each owns a rectangle of C. Threads that own the same columns pack their part of a block of B
// together, alternating between two buffers, so that one barrier per block is enough. Each thread then packs rows of A, first
// its own, and multiplies, one block of k after another as far as B is packed, so that the partial sums stay in a near cache.
// The data that will be packed next is prefetched meanwhile. A B that was packed before has the panels of all columns, one
// block of k after another; then threads wait for none of the others, and each multiplies its own rows.
//
// Depths below count words (microkernel.h), except the k of the shape. Partial sums over several blocks of k are stored in C if
// C is float, otherwise in the workspace: the result is rounded once.
#include <omp.h>

#include "kernels/cpu/gemm/column_moments.h"
#include "kernels/cpu/gemm/plan.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

// The choice was measured with floats.
const Blocking& blocking() { return kWordDepth == 1 ? blocking_of(this_cpu_caches(), kLanes) : kSmallL2; }

struct Call {
  Real* c;
  float* sum;      // c, or [team, sum_floats]
  Word* packed_a;  // [team, a_words]
  const Real *a, *b;
  GemmShape shape;
  Epilogue<Real> epilogue;
  GemmPlan plan;
};

struct Block {
  Range k, n;        // k in Reals
  bool first, last;  // block along k
};
std::int64_t depth_of(const Block& block) { return word_count(block.k.end - block.k.begin); }

// Whether the panel at `column` is read directly from B: it must be complete there.
bool in_place(const Call& call, std::int64_t column, std::int64_t columns) {
  return call.plan.b_in_place && column + panel_vectors(columns) * kLanes <= call.shape.n;
}

// Packs the part-th share: columns of `part`, divided among the parts that own other rows of these columns.
void pack_b(const Call& call, const Block& block, Word* packed, int part) {
  const GemmPlan& plan = call.plan;
  const Range columns = columns_of_part(plan, block.n, part);
  const std::int64_t depth = block.k.end - block.k.begin, count = columns.end - columns.begin;
  const Range pieces = part_of(pack_pieces(count, depth), part / plan.grid_n, plan.grid_m, 1);
  packed += part % plan.grid_n * plan.group_words;
  for (std::int64_t i = pieces.begin; i < pieces.end; ++i) {
    const PackPiece piece = pack_piece(count, depth, i);
    const std::int64_t column = columns.begin + piece.column, k = block.k.begin + piece.k;
    if (in_place(call, column, piece.columns)) continue;
    if (call.shape.transpose_b) {
      pack_panel_transposed(packed + piece.offset, call.b + column * call.shape.k + k, call.shape.k, piece.depth,
                            piece.columns);
    } else {
      pack_panel(packed + piece.offset, call.b + k * call.shape.n + column, call.shape.n, piece.depth, piece.columns);
    }
  }
}

// Packs A for AccessA::columns: one tile after another, each [depth, a_stride].
void pack_a_columns(const Call& call, const Block& block, Range rows, Word* packed) {
  const std::int64_t depth = block.k.end - block.k.begin, count = rows.end - rows.begin;
  const GemmShape& shape = call.shape;
  const Tiles tiles = cut(count, call.plan.mr);
  for (std::int64_t t = 0; t < tiles.count; ++t) {
    const Range tile = tiles[t];
    Word* const to = packed + t * word_count(depth) * call.plan.a_stride;
    if (kPackedA == AccessA::rows || shape.transpose_a)
      pack_transposed(to, call.plan.a_stride, call.a + block.k.begin * shape.m + rows.begin + tile.begin, shape.m, depth,
                      tile.end - tile.begin);
    else
      pack_columns(to, call.plan.a_stride, call.a + (rows.begin + tile.begin) * shape.k + block.k.begin, shape.k,
                   tile.end - tile.begin, depth);
  }
}

// A [rows, depth of the block] as the micro-kernel reads it.
struct OperandA {
  const Word* data;
  AccessA access;
  std::int64_t stride;
  std::int64_t tile_offset;  // between tiles by columns; 0: a tile starts at its first row
};

// Packs the rows into `packed` if the plan requires it.
OperandA prepare_a(const Call& call, const Block& block, Range rows, Word* packed) {
  const std::int64_t depth = block.k.end - block.k.begin, stride = call.plan.a_stride;
  if (packs_columns(call.shape) && (call.shape.transpose_a || call.plan.pack_a)) {
    pack_a_columns(call, block, rows, packed);
    return {packed, AccessA::columns, stride, word_count(depth) * stride};
  }
  if (call.shape.transpose_a) {
    pack_transposed(packed, stride, call.a + block.k.begin * call.shape.m + rows.begin, call.shape.m, depth,
                    rows.end - rows.begin);
    return {packed, AccessA::rows, stride, 0};
  }
  const Real* a = call.a + rows.begin * call.shape.k + block.k.begin;
  if (!call.plan.pack_a) return {reinterpret_cast<const Word*>(a), AccessA::rows, call.shape.k / kWordDepth, 0};
  copy_rows(packed, stride, a, call.shape.k, rows.end - rows.begin, depth);
  return {packed, AccessA::rows, stride, 0};
}

PrefetchRows rows_of(const Real* first, std::int64_t rows, std::int64_t length, std::int64_t stride) {
  constexpr std::int64_t kBytes = sizeof(Real);
  return {reinterpret_cast<const char*>(first), rows, length * kBytes, stride * kBytes};
}
// The data that prepare_a packs, or leaves in place.
PrefetchRows source_of_a(const Call& call, const Block& block, Range rows) {
  const std::int64_t depth = block.k.end - block.k.begin, count = rows.end - rows.begin;
  if (!call.plan.prefetch_a) return {};
  if (call.shape.transpose_a) return rows_of(call.a + block.k.begin * call.shape.m + rows.begin, depth, count, call.shape.m);
  return rows_of(call.a + rows.begin * call.shape.k + block.k.begin, count, depth, call.shape.k);
}

// What a part multiplies in one block: some rows and all of its columns.
struct Unit {
  Block block;
  std::int64_t k;  // index of the block along k
  Range rows, columns;
  float* sum;  // at the first row of `rows` and the first of `columns`
  OperandA a;
  const Word* panels;
};

// Computes C[rows, columns] of the unit for a group of columns.
void multiply(const Call& call, const Unit& unit, Range columns, Prefetcher& prefetcher) {
  const Block& block = unit.block;
  const std::int64_t depth = depth_of(block);
  Segment segment{unit.a.data, nullptr};
  Tile tile{};
  tile.sum_stride = call.plan.sum_stride;
  tile.y_stride = call.shape.n;
  tile.segments = &segment;
  tile.segment_count = 1;
  tile.k = depth;
  tile.a_stride = unit.a.stride;
  tile.accumulate = !block.first;
  tile.relu = block.last && call.epilogue.relu;
  tile.prefetcher = &prefetcher;
  const Tiles tiles = cut(unit.rows.end - unit.rows.begin, call.plan.mr);
  for (std::int64_t t = 0; t < tiles.count; ++t) {
    const Range range = tiles[t];
    tile.a_offset = unit.a.tile_offset > 0 ? t * unit.a.tile_offset : range.begin * unit.a.stride;
    for (std::int64_t column = columns.begin; column < columns.end; column += kNr) {
      tile.columns = min_of(kNr, columns.end - column);
      const int vectors = panel_vectors(tile.columns);
      tile.b_stride = vectors * kLanes;
      segment.b = unit.panels + (column - unit.columns.begin) * depth;
      if (in_place(call, column, tile.columns)) {
        tile.b_stride = call.shape.n / kWordDepth;
        segment.b = reinterpret_cast<const Word*>(call.b + block.k.begin * call.shape.n + column);
      }
      tile.bias = block.last && call.epilogue.bias != nullptr ? call.epilogue.bias + column : nullptr;
      tile.sum = unit.sum + range.begin * call.plan.sum_stride + column - unit.columns.begin;
      tile.y = block.last ? call.c + (unit.rows.begin + range.begin) * call.shape.n + column : nullptr;
      tile_kernel(unit.a.access, range.end - range.begin, vectors)(tile);
    }
  }
}

// A block of B: a range of columns, and the blocks of k that are packed together.
struct Stage {
  Range n, k_blocks;
};
Stage stage_of(const Call& call, std::int64_t index) {
  const GemmPlan& plan = call.plan;
  const std::int64_t deep = divide_up(plan.k_blocks, plan.k_blocks_per_stage), n = index / deep, k = index % deep;
  return {{n * plan.nc, min_of((n + 1) * plan.nc, call.shape.n)},
          {k * plan.k_blocks_per_stage, min_of((k + 1) * plan.k_blocks_per_stage, plan.k_blocks)}};
}
std::int64_t stages_of(const GemmPlan& plan) { return plan.n_blocks * divide_up(plan.k_blocks, plan.k_blocks_per_stage); }
Block block_of(const Call& call, const Stage& stage, std::int64_t k) {
  const std::int64_t depth = call.plan.kc * kWordDepth;
  return {{k * depth, min_of((k + 1) * depth, call.shape.k)}, stage.n, k == 0, k == call.plan.k_blocks - 1};
}

void pack_stage(const Call& call, const Stage& stage, Word* packed, int part) {
  for (std::int64_t k = stage.k_blocks.begin; k < stage.k_blocks.end; ++k)
    pack_b(call, block_of(call, stage, k), packed + (k - stage.k_blocks.begin) * call.plan.grid_n * call.plan.group_words,
           part);
}

// The panels from `column` on in a block of a B that was packed before.
const Word* packed_before(const Call& call, const Block& block, std::int64_t column) {
  return reinterpret_cast<const Word*>(call.b) + word_count(block.k.begin) * packed_columns(call.shape.n) +
         column * depth_of(block);
}

// The panels of `columns` in it. If few rows use them, a unit prefetches its panels after the first group, which it multiplies
// now, and the first group of the next stage.
PrefetchRows source_of_panels(const Call& call, const Block& block, Range columns) {
  const std::int64_t bytes = kNr * depth_of(block) * static_cast<std::int64_t>(sizeof(Word));
  return {reinterpret_cast<const char*>(packed_before(call, block, columns.begin)),
          divide_up(max_of(columns.end - columns.begin, 0), kNr), bytes, bytes};
}
void prefetch_panels(const Call& call, const Unit& unit, const Stage* next, int part, Prefetcher& prefetcher) {
  const std::int64_t group = call.plan.group_panels * kNr;
  prefetcher.add(source_of_panels(call, unit.block, {unit.columns.begin + group, unit.columns.end}));
  if (next == nullptr) return;
  const Block block = block_of(call, *next, next->k_blocks.begin);
  const Range columns = columns_of_part(call.plan, block.n, part);
  prefetcher.add(source_of_panels(call, block, {columns.begin, min_of(columns.begin + group, columns.end)}));
}

// The data that pack_stage packs for a part that shares its columns with no other.
PrefetchRows source_of_b(const Call& call, const Stage& stage, int part) {
  const Block first = block_of(call, stage, stage.k_blocks.begin), last = block_of(call, stage, stage.k_blocks.end - 1);
  const Range columns = columns_of_part(call.plan, first.n, part);
  const std::int64_t depth = last.k.end - first.k.begin, count = columns.end - columns.begin;
  if (call.shape.transpose_b) return rows_of(call.b + columns.begin * call.shape.k + first.k.begin, count, depth, call.shape.k);
  return rows_of(call.b + first.k.begin * call.shape.n + columns.begin, depth, count, call.shape.n);
}

// The data needed after a unit: the next rows or depth, else the first of the next stage.
PrefetchRows source_after(const Call& call, const Unit& unit, Range rows, const Stage& stage, const Stage* next) {
  const bool last_k = unit.k + 1 == stage.k_blocks.end, last_row = unit.rows.end == rows.end;
  if (last_k && last_row && next == nullptr) return {};
  const std::int64_t row = !last_k ? unit.rows.begin : last_row ? rows.begin : unit.rows.end;
  const Block block = !last_k    ? block_of(call, stage, unit.k + 1)
                      : last_row ? block_of(call, *next, next->k_blocks.begin)
                                 : block_of(call, stage, stage.k_blocks.begin);
  return source_of_a(call, block, {row, min_of(row + call.plan.mc, rows.end)});
}

// A share, numbered over all parts, and the thread that multiplies it.
struct Share {
  int index, thread;
};

// The partial sums at a row and the first column of the part; `first_row` is the part's first row.
float* sums_of(const Call& call, const Share& share, std::int64_t first_row, std::int64_t row, std::int64_t column) {
  const GemmPlan& plan = call.plan;
  if (!kSumInWorkspace) return call.sum + row * plan.sum_stride + column;
  if (plan.k_blocks_per_stage == plan.k_blocks) return call.sum + share.thread * plan.sum_floats;
  return call.sum + share.index / plan.shares * plan.sum_floats + (row - first_row) * plan.sum_stride;
}

// Multiplies the rectangle of a share within the stage; `next` is the following stage, or null.
void multiply_share(const Call& call, const Stage& stage, const Stage* next, const Word* packed_b, const Share& share) {
  const GemmPlan& plan = call.plan;
  const int part = share.index / plan.shares;
  const std::int64_t mr = plan.mr, group_columns = plan.group_panels * kNr, depths = stage.k_blocks.end - stage.k_blocks.begin;
  const Range rows = rows_of_part(plan, call.shape.m, part), own = rows_of_share(plan, rows, share.index % plan.shares);
  const Range columns = columns_of_part(plan, stage.n, part);
  if (columns.begin == columns.end) return;
  const std::int64_t panels = divide_up(columns.end - columns.begin, kNr);
  // Each unit prefetches some rows of the next block of B.
  const bool packs = plan.grid_m == 1 && next != nullptr && !call.shape.packed_b;
  PrefetchRows rest = packs ? source_of_b(call, *next, part) : PrefetchRows{};
  const std::int64_t units = divide_up(rows.end - rows.begin, plan.mc) * depths;
  const std::int64_t rest_rows = divide_up(rest.rows, max_of(units, 1));
  for (std::int64_t row = own.begin; row < own.end; row += plan.mc) {
    const Range block_rows{row, min_of(row + plan.mc, own.end)};
    for (std::int64_t k = stage.k_blocks.begin; k < stage.k_blocks.end; ++k) {
      Unit unit{};
      unit.block = block_of(call, stage, k);
      unit.k = k;
      unit.rows = block_rows;
      unit.columns = columns;
      unit.sum = sums_of(call, share, rows.begin, row, columns.begin);
      unit.a = prepare_a(call, unit.block, block_rows, call.packed_a + share.thread * plan.a_words);
      unit.panels = call.shape.packed_b
                        ? packed_before(call, unit.block, columns.begin)
                        : packed_b + ((k - stage.k_blocks.begin) * plan.grid_n + part % plan.grid_n) * plan.group_words;

      Prefetcher prefetcher;
      if (call.shape.packed_b && units == 1) {
        prefetch_panels(call, unit, next, part, prefetcher);
      } else {
        prefetcher.add(source_after(call, unit, rows, stage, next));
        PrefetchRows part = rest;
        part.rows = min_of(rest_rows, rest.rows);
        prefetcher.add(part);
        rest.first += part.rows * rest.stride;
        rest.rows -= part.rows;
      }
      const std::int64_t tiles = divide_up(block_rows.end - block_rows.begin, mr) * panels;
      prefetcher.spread(tiles * max_of(depth_of(unit.block) / kPrefetchStep, 1));
      for (std::int64_t column = columns.begin; column < columns.end; column += group_columns) {
        const Range group{column, min_of(column + group_columns, columns.end)};
        multiply(call, unit, group, prefetcher);
        if (call.epilogue.moments == nullptr || !unit.block.last) continue;
        add_block(column_moments(call.epilogue.moments, call.shape.n, share.index), call.c + row * call.shape.n + column,
                  call.shape.n, block_rows.end - block_rows.begin, group);
      }
    }
  }
}

}  // namespace

std::size_t gemm_packed_bytes(const GemmShape& shape, int threads) {
  if (make_gemm_plan(shape, threads, blocking()).b_in_place) return 0;
  return static_cast<std::size_t>(round_up(word_count(shape.k) * packed_columns(shape.n), kLineWords)) * sizeof(Word);
}

void pack_gemm(Real* packed, const Real* b, const GemmShape& shape, int threads) {
  GemmShape with_packed = shape;
  with_packed.packed_b = true;
  const GemmPlan plan = make_gemm_plan(with_packed, threads, blocking());
  const std::int64_t depth = plan.kc * kWordDepth;
#pragma omp parallel for num_threads(plan.team) if (plan.team > 1)
  for (std::int64_t panel = 0; panel < divide_up(shape.n, kNr); ++panel) {
    const std::int64_t column = panel * kNr, columns = min_of(kNr, shape.n - column);
    for (std::int64_t k = 0; k < shape.k; k += depth) {
      const std::int64_t deep = min_of(depth, shape.k - k);
      Word* const to = reinterpret_cast<Word*>(packed) + word_count(k) * packed_columns(shape.n) + column * word_count(deep);
      if (shape.transpose_b)
        pack_panel_transposed(to, b + column * shape.k + k, shape.k, deep, columns);
      else
        pack_panel(to, b + k * shape.n + column, shape.n, deep, columns);
    }
  }
}

std::size_t gemm_workspace_bytes(const GemmShape& shape, int threads) {
  const GemmPlan plan = make_gemm_plan(shape, threads, blocking());
  return static_cast<std::size_t>(plan.team) * sizeof(TakenShares) +
         static_cast<std::size_t>(buffers_of(plan) * plan.b_words + plan.team * plan.a_words) * sizeof(Word) +
         static_cast<std::size_t>(plan.team * plan.sum_floats) * sizeof(float);
}

void gemm(Real* c, const Real* a, const Real* b, const GemmShape& shape, const Epilogue<Real>& epilogue, void* workspace,
          int threads) {
  const GemmPlan plan = make_gemm_plan(shape, threads, blocking());
  auto* const taken = static_cast<TakenShares*>(workspace);
  auto* const blocks_b = reinterpret_cast<Word*>(taken + plan.team);
  Word* const blocks_a = blocks_b + buffers_of(plan) * plan.b_words;
  float* const sum = reinterpret_cast<float*>(kSumInWorkspace ? blocks_a + plan.team * plan.a_words : static_cast<void*>(c));
  const Call call{c, sum, blocks_a, a, b, shape, epilogue, plan};
  start_shares(taken, plan.team);
#pragma omp parallel num_threads(plan.team) if (plan.team > 1)
  {
    const MicrokernelScope scope;
    // The runtime may grant fewer threads than there are parts.
    const int thread = omp_get_thread_num(), granted = omp_get_num_threads();
    const std::int64_t stages = stages_of(plan);
    const int shares = plan.team * plan.shares;
    for (int share = thread; share < shares; share += granted) start_moments(epilogue.moments, shape.n, share, shares);
    for (std::int64_t i = 0; i < stages; ++i) {
      const Stage stage = stage_of(call, i), next = stage_of(call, i + 1);
      Word* const packed_b = blocks_b + i % buffers_of(plan) * plan.b_words;
      if (!shape.packed_b) {
        for (int part = thread; part < plan.team; part += granted) pack_stage(call, stage, packed_b, part);
        if (plan.grid_m > 1) {  // otherwise every thread packed all that it needs
#pragma omp barrier
        }
      }
      const auto multiply = [&](int share) {
        multiply_share(call, stage, i + 1 < stages ? &next : nullptr, packed_b, {share, thread});
      };
      if (plan.shares > 1) {
        take_shares(taken, plan.team, i, thread, multiply);
      } else {
        for (int part = thread; part < plan.team; part += granted) multiply(part);
      }
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
