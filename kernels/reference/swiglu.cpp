// SwiGLU (Shazeer 2020), one element at a time.
#include <cmath>

#include "kernels/reference/kernels.h"

namespace epochbench::reference {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// Calls function(index in y, index in gate and up) for each element.
template <typename Function>
void for_each_element(const SwigluShape& shape, Function function) {
  for (std::int64_t r = 0; r < shape.rows; ++r)
    for (std::int64_t c = 0; c < shape.width; ++c) function(r * shape.width + c, r * input_stride(shape) + c);
}

}  // namespace

void swiglu(float* y, const float* gate, const float* up, const SwigluShape& shape) {
  for_each_element(shape, [&](std::int64_t to, std::int64_t from) {
    y[to] = static_cast<float>(gate[from] * logistic(gate[from]) * up[from]);
  });
}

void swiglu_grad(float* dgate, float* dup, const float* dy, const float* gate, const float* up, const SwigluShape& shape) {
  for_each_element(shape, [&](std::int64_t from, std::int64_t to) {
    const double upstream = dy[from], x = gate[to], factor = up[to], s = logistic(x);  // before outputs overwrite inputs
    if (dgate != nullptr) dgate[to] = static_cast<float>(upstream * factor * s * (1 + x * (1 - s)));
    if (dup != nullptr) dup[to] = static_cast<float>(upstream * x * s);
  });
}

}  // namespace epochbench::reference
