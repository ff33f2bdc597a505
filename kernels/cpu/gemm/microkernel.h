// The micro-kernel: one register tile of a matrix product, C [rows, columns] = (C +) sum over segments of A_s B_s, then bias
// and relu.
//
// The only loop that multiplies, apart from tiles_amx.h for AMX. A segment is a pair of panels with the same k; a plain product
// has one, a convolution one per kernel tap, so nothing is rearranged to make the taps look like one long k (the "batch-reduce
// GEMM" of Georganas et al., 2020). The rows of A are broadcast, from the matrix or from a packed block:
//   AccessA::rows     a[row * a_stride + k]   activations, whose channels are contiguous
//   AccessA::columns  a[k * a_stride + row]   transposed operands
// B is read as vectors: b[k * b_stride + column], from packed panels or from the matrix.
//
// The unit of multiplication is a word: a float, or a pair of Bf16 that are adjacent along k, whose two products are added
// (four for NEON). So Bf16 operands have half or a quarter as many words along k as numbers; if the numbers of a word are not
// adjacent in memory, packing brings them together (pack.h). Where no instruction multiplies Bf16, packing widens them, and
// words are floats. Accumulators are floats.
#pragma once

#include "kernels/cpu/gemm/prefetcher.h"
#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
enum class AccessA : std::uint8_t { rows, columns };
}

#if EPOCHBENCH_NEON
#include "kernels/cpu/gemm/microkernel_neon.h"
#elif defined(__AVX512F__)
#include "kernels/cpu/gemm/microkernel_avx512.h"
#elif defined(__AVX2__) && defined(__FMA__)
#include "kernels/cpu/gemm/microkernel_avx2.h"
#else
#include "kernels/cpu/gemm/microkernel_portable.h"
#endif
#if EPOCHBENCH_INT8
#include "kernels/cpu/int8/word.h"
#elif EPOCHBENCH_BFMMLA
#include "kernels/cpu/gemm/word_bf16_neon.h"
#elif EPOCHBENCH_BF16 && !EPOCHBENCH_WIDENED
#include "kernels/cpu/gemm/word_bf16.h"
#else
#include "kernels/cpu/gemm/word_float.h"
#endif
#if EPOCHBENCH_AMX
#include "kernels/cpu/gemm/microkernel_amx.h"
#endif

namespace epochbench::cpu::EPOCHBENCH_ISA {

struct Segment {
  const Word* a;
  const Word* b;
};

struct Tile {
  float* sum;                         // partial sums [rows, columns]: read if `accumulate`, written if y is null
  Real* y;                            // [rows, columns] or null: relu(sum + bias). For floats it may be the same memory as sum
  std::int64_t sum_stride, y_stride;  // between rows, in floats and in Reals
  std::int64_t columns;               // 1 to vectors * kLanes
  const Segment* segments;
  std::int64_t segment_count;  // 0: the product is zero
  std::int64_t k;              // words in every segment
  // In words. The offsets apply to the pointers of every segment.
  std::int64_t a_offset, b_offset, a_stride, b_stride;
  const Real* bias;        // [columns] or null: added to y
  bool accumulate;         // start with `sum` instead of zero
  bool relu;               // applied to y
  Prefetcher* prefetcher;  // advanced once per kPrefetchStep words of k; or null
};
#if !EPOCHBENCH_AMX
// One or two cache lines per step is what memory delivers while a tile of 14 x 2 vectors multiplies this many words. Under the
// address sanitizer a step is short, since its words are unrolled and each of their accesses is instrumented.
#ifdef __SANITIZE_ADDRESS__
constexpr std::int64_t kPrefetchStep = 2;
#else
constexpr std::int64_t kPrefetchStep = 8;
#endif
// How transposed A is packed. Transposed Bf16 must be rearranged in any case.
constexpr AccessA kPackedTransposedA = AccessA::columns;
#endif
// How other A is packed. BFMMLA multiplies two rows at a time, which are adjacent by columns.
constexpr AccessA kPackedA = EPOCHBENCH_BFMMLA ? AccessA::columns : AccessA::rows;

using TileKernel = void (*)(const Tile&);
// The kernel for a tile of `rows` (1 to kMr[vectors]) and `vectors` (1 to kMaxVectors). It reads whole vectors of B, but
// nothing else outside the tile.
TileKernel tile_kernel(AccessA access, std::int64_t rows, int vectors);

// Exists in a thread while it calls tile kernels. Releases registers that not every CPU has and that the system would otherwise
// save at each context switch.
class MicrokernelScope {
 public:
#if EPOCHBENCH_AMX
  MicrokernelScope();
  ~MicrokernelScope();
#else
  MicrokernelScope() {}
  ~MicrokernelScope() {}
#endif
  MicrokernelScope(const MicrokernelScope&) = delete;
  MicrokernelScope& operator=(const MicrokernelScope&) = delete;
};

// Number of vectors in the panel of B that starts `columns` columns before the end: panels have two, and the last one has one
// if that is enough.
static inline int panel_vectors(std::int64_t columns) { return columns > kLanes ? 2 : 1; }

// n rows divided into the smallest number of tiles of at most `most` rows; tiles differ by at most one row.
struct Tiles {
  std::int64_t count, rows, larger;  // the first `larger` tiles have rows + 1
  Range operator[](std::int64_t index) const {
    const std::int64_t begin = index * rows + min_of(index, larger);
    return {begin, begin + rows + (index < larger ? 1 : 0)};
  }
};
static inline Tiles cut_into(std::int64_t n, std::int64_t count) { return {count, n / count, n % count}; }
static inline Tiles cut(std::int64_t n, std::int64_t most) { return cut_into(n, (n + most - 1) / most); }

static inline std::int64_t round_up(std::int64_t n, std::int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }
static inline std::int64_t divide_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

constexpr std::int64_t kWordFloats = sizeof(Word) / sizeof(float);
// Whether words are Reals, so that sums of floats can be stored in their place; and whether words are wider than their Reals,
// so that operands must be packed.
constexpr bool kRealWords = !EPOCHBENCH_BF16, kWidens = EPOCHBENCH_WIDENED;
// Number of words that hold k Reals.
static inline std::int64_t word_count(std::int64_t k) { return divide_up(k, kWordDepth); }

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
