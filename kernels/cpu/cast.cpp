// Copies of float tensors as Real. One parallel region handles all tensors of a node.
#include <omp.h>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

void cast(const CastTensor<Real>* tensors, int count, int threads) {
  std::int64_t total = 0;
  for (int t = 0; t < count; ++t) total += tensors[t].n;
#pragma omp parallel num_threads(threads) if (total > kSerialElements)
  {
    const Range mine = part_of(total, omp_get_thread_num(), omp_get_num_threads(), kVector);
    std::int64_t first = 0;  // index of this tensor's first element among all elements
    for (int t = 0; t < count; ++t) {
      const std::int64_t begin = max_of(mine.begin - first, 0), end = min_of(mine.end - first, tensors[t].n);
      Real* const y = tensors[t].y;
      const float* const x = tensors[t].x;
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) y[i] = narrow(x[i]);
      first += tensors[t].n;
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
