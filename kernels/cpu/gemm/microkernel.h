// One register tile of a matrix product: C [rows, columns] = (C +) sum over segments of A_s B_s, then bias and relu.
//
// This is the only multiplying loop of matrix products and convolutions. A segment is a pair of panels that share k; a plain
// product has one, a convolution one a kernel tap, so nothing is rearranged to make taps look like one long k (the
// "batch-reduce GEMM" of Georganas et al., 2020). The rows of A are read by broadcast, in place or from a packed block:
//   AccessA::rows     a[row * a_stride + k]   activations, whose channels are contiguous
//   AccessA::columns  a[k * a_stride + row]   transposed operands
// B is read by vectors: b[k * b_stride + column], from packed panels or in place.
//
// What is multiplied are words: floats, or pairs of Bf16 that follow each other along k, whose two products are added. So
// operands of Bf16 have half as many words along k as numbers, and where two that belong together do not lie side by side,
// packing brings them there (pack.h). Sums are floats.
#pragma once

#include "kernels/cpu/gemm/ahead.h"
#include "kernels/cpu/isa.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
enum class AccessA : std::uint8_t { rows, columns };
}

#if defined(__AVX512F__)
#include "kernels/cpu/gemm/microkernel_avx512.h"
#elif defined(__AVX2__) && defined(__FMA__)
#include "kernels/cpu/gemm/microkernel_avx2.h"
#else
#include "kernels/cpu/gemm/microkernel_portable.h"
#endif
#if EPOCHBENCH_BF16
#include "kernels/cpu/gemm/words_bf16.h"
#else
#include "kernels/cpu/gemm/words_float.h"
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
  float* sum;                         // [rows, columns]: read where `accumulate`, written where y is null
  Real* y;                            // [rows, columns] or null: relu(sum + bias). Of floats it may be the same memory
  std::int64_t sum_stride, y_stride;  // between rows, in floats and in Reals
  std::int64_t columns;               // 1 to vectors * kLanes
  const Segment* segments;
  std::int64_t segment_count;  // 0: the sum is zero
  std::int64_t k;              // words of every segment
  // In words. The offsets are added to the pointers of every segment.
  std::int64_t a_offset, b_offset, a_stride, b_stride;
  const Real* bias;  // [columns] or null: what y adds
  bool accumulate;   // begins with the sum instead of zero
  bool relu;         // of y
  Ahead* ahead;      // fetched along with every kAheadStep words of k; or null
};
#if !EPOCHBENCH_AMX
// A line or two a step is what memory gives while a tile of 14 x 2 vectors multiplies so many words.
constexpr std::int64_t kAheadStep = 8;
// How transposed A of Bf16, which is rearranged in any case, is packed.
constexpr AccessA kPackedTransposedA = AccessA::columns;
#endif

using TileKernel = void (*)(const Tile&);
// The kernel of a tile of `rows` (1 to kMaxRows[vectors]) and `vectors` (1 to kMaxVectors). It reads whole vectors of B, and
// of everything else no more than the tile.
TileKernel tile_kernel(AccessA access, std::int64_t rows, int vectors);

// Lives in a thread for as long as it calls tile kernels: gives registers back that not every CPU has, and that the system
// would otherwise save with each change of threads.
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

// How many vectors the panel of B that begins `columns` before the end has: panels of two, and a last one of one if it
// suffices.
static inline int panel_vectors(std::int64_t columns) { return columns > kLanes ? 2 : 1; }

// n rows cut into as few tiles of at most `most` rows as there can be; they differ by one row at most.
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

// Words of k Reals.
static inline std::int64_t words_of(std::int64_t k) { return divide_up(k, kWordDepth); }

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
