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

// random: of whole registers.
void keep(Real* y, const Real* x, const std::uint32_t* random, std::uint32_t threshold, float scale, std::int64_t n) {
#if EPOCHBENCH_BF16
  const Lanes factor = _mm512_set1_ps(scale);
  const std::int64_t pairs = n / (2 * kWhole) * (2 * kWhole);
  for (std::int64_t i = 0; i < pairs; i += 2 * kWhole) {
    const LanePair pair = load_pair(x + i);
    const __mmask32 mask = _mm512_kunpackw(kept(random + i + kWhole, threshold), kept(random + i, threshold));
    store_pair_where(mask, y + i, {pair.first * factor, pair.second * factor});
  }
  across_registers(n - pairs, [=](auto part, std::int64_t i) {
    store(part, y + pairs + i, where(kept(random + pairs + i, threshold), load(part, x + pairs + i) * factor));
  });
#else
  narrow_each(y, n, [=](std::int64_t i) { return random[i] >= threshold ? widen(x[i]) * scale : 0; });
#endif
}

}  // namespace

void dropout(Real* y, const Real* x, const std::int32_t* step, const Dropout& dropout, std::int64_t n, int threads) {
#pragma omp parallel num_threads(threads) if (n > kSerialElements / 4)
  {
    alignas(64) std::uint32_t random[kChunk];
    const PhiloxKeys keys(*step, dropout);
    const Range part = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 4 * kPhiloxBlocks);
    for (std::int64_t i = part.begin; i < part.end; i += kChunk) {
      const std::int64_t length = min_of(kChunk, part.end - i);
      philox_words(random, i / 4, (length + 3) / 4, keys);
      keep(y + i, x + i, random, dropout.threshold, dropout.scale, length);
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
