// Counter-based dropout (Srivastava et al. 2014): whether an element is kept depends only on seed, step, ordinal and its index.
#include <omp.h>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/narrow.h"
#include "kernels/cpu/philox.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

constexpr std::int64_t kChunk = 1024;  // elements whose random words are generated together: 4 KiB stay in the L1 cache
static_assert(kChunk % (4 * kPhiloxBlocks) == 0);

void keep(Real* y, const Real* x, const std::uint32_t* random, std::uint32_t threshold, float scale, std::int64_t n) {
  narrow_each(y, n, [=](std::int64_t i) { return random[i] >= threshold ? widen(x[i]) * scale : 0; });
}

}  // namespace

void dropout(Real* y, const Real* x, const std::int32_t* step, const Dropout& dropout, std::int64_t n, int threads) {
#pragma omp parallel num_threads(threads) if (n > kSerialElements / 4)
  {
    alignas(64) std::uint32_t random[kChunk];
    const Range part = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 4 * kPhiloxBlocks);
    for (std::int64_t i = part.begin; i < part.end; i += kChunk) {
      const std::int64_t length = min_of(kChunk, part.end - i);
      philox_words(random, i / 4, (length + 3) / 4, *step, dropout);
      keep(y + i, x + i, random, dropout.threshold, dropout.scale, length);
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
