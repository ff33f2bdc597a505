// Counter-based dropout (Srivastava et al. 2014): whether an element is kept depends only on seed, step, ordinal and its index.
#include <omp.h>

#include "kernels/cpu/dropout_rows.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

void dropout(Real* y, const Real* x, const std::int32_t* step, const Dropout& dropout, std::int64_t n, int threads) {
  const PhiloxKeys keys(*step, dropout);
#pragma omp parallel num_threads(threads) if (n > kSerialElements / 4)
  {
    const auto [begin, end] = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 4 * kPhiloxBlocks);
    Real* const to = y + begin;
    const Real* const from = x + begin;
    for_each_drawn(begin, end - begin, dropout, keys,
                   [=](const RowMask& mask, std::int64_t i, std::int64_t count) { keep(to + i, from + i, mask, count); });
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
