// Samples mixed with their neighbors (Zhang et al., "mixup", 2018).
#include <omp.h>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// Each thread has a part of all rows, so that both rows of a pair are read once.
void mix_rows(Real* y, const Real* x, const float* share, std::int64_t rows, std::int64_t n, int threads) {
#pragma omp parallel num_threads(threads) if (rows * n > kSerialElements)
  {
    const Range part = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 16);
    for (std::int64_t row = 0; row < rows; row += 2) {
      const std::int64_t second = neighbor_of(row, rows);
      const float own_share = second == row ? 1 : share[row], other_share = share[second];
      across_channels(part.end - part.begin,
                      [=, own = x + row * n + part.begin, other = x + second * n + part.begin,
                       to_own = y + row * n + part.begin, to_other = y + second * n + part.begin](auto lanes, std::int64_t i) {
                        const auto a = load(lanes, own + i), b = load(lanes, other + i);
                        store(lanes, to_own + i, b + (a - b) * own_share);
                        if (second != row) store(lanes, to_other + i, a + (b - a) * other_share);
                      });
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
