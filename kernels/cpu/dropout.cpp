// Dropout (Srivastava et al. 2014) by counter: which element is kept follows from seed, step, ordinal and its place alone.
#include <omp.h>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/narrow.h"
#include "kernels/cpu/philox.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

constexpr std::int64_t kChunk = 1024;  // elements whose random words are made at once: 4 KiB of them stay in the L1
static_assert(kChunk % (4 * kPhiloxBlocks) == 0);

void keep(Real* y, const Real* x, const std::uint32_t* words, std::uint32_t threshold, float scale, std::int64_t n) {
  narrow_each(y, n, [=](std::int64_t i) { return words[i] >= threshold ? widen(x[i]) * scale : 0; });
}

}  // namespace

void dropout(Real* y, const Real* x, const std::int32_t* step, const Dropout& dropout, std::int64_t n, int threads) {
#pragma omp parallel num_threads(threads) if (n > kSerialElements / 4)
  {
    alignas(64) std::uint32_t words[kChunk];
    const Range part = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 4 * kPhiloxBlocks);
    for (std::int64_t i = part.begin; i < part.end; i += kChunk) {
      const std::int64_t length = min_of(kChunk, part.end - i);
      philox_words(words, i / 4, (length + 3) / 4, *step, dropout);
      keep(y + i, x + i, words, dropout.threshold, dropout.scale, length);
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
