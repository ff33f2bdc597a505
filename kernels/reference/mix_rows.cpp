// Samples mixed with their neighbors.
#include "kernels/reference/kernels.h"

namespace epochbench::reference {

void mix_rows(float* y, const float* x, const float* share, std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < n; ++i) {
      const double own = x[r * n + i], other = x[neighbor_of(r, rows) * n + i];
      y[r * n + i] = static_cast<float>(own * share[r] + other * (1 - static_cast<double>(share[r])));
    }
}

}  // namespace epochbench::reference
