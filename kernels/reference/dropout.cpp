// Dropout (Srivastava et al. 2014) of elements, and of whole samples: stochastic depth (Huang et al. 2016).
#include "kernels/reference/dropout_mask.h"
#include "kernels/reference/kernels.h"

namespace epochbench::reference {

void dropout(float* y, const float* x, const std::int32_t* step, const Dropout& dropout, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double factor = dropout_factor(dropout, *step, i);
    y[i] = factor == 0 ? 0 : static_cast<float>(x[i] * factor);  // a dropped element is 0, even if it was a NaN
  }
}

void stochastic_depth(float* y, const float* x, const std::int32_t* step, const Dropout& dropout, std::int64_t batch,
                      std::int64_t n) {
  for (std::int64_t sample = 0; sample < batch; ++sample) {
    const double factor = dropout_factor(dropout, *step, sample);
    for (std::int64_t i = sample * n; i < (sample + 1) * n; ++i) y[i] = factor == 0 ? 0 : static_cast<float>(x[i] * factor);
  }
}

}  // namespace epochbench::reference
