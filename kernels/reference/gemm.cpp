// The matrix product by definition.
#include "kernels/reference/kernels.h"

namespace epochbench::reference {

void gemm(float* c, const float* a, const float* b, const GemmShape& shape, const Epilogue<float>& epilogue) {
  const auto [m, n, k, transpose_a, transpose_b, packed_b] = shape;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        const double left = transpose_a ? a[p * m + i] : a[i * k + p];
        const double right = transpose_b ? b[j * k + p] : b[p * n + j];
        sum += left * right;
      }
      if (epilogue.bias != nullptr) sum += epilogue.bias[j];
      if (epilogue.relu && sum < 0) sum = 0;
      c[i * n + j] = static_cast<float>(sum);
    }
}

}  // namespace epochbench::reference
