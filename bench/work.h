// Products and convolutions parsed from problem lines:
//
//   gemm m= n= k= [transpose_a=1] [transpose_b=1] [count=1]
//   conv2d n= h= w= c= k= r= s= [stride=1] [pad=0] [count=1]: n images of h x w with c channels, k filters of r x s
//
// count: number of layers of the model with this shape. FLOPs follow from the definition, including taps on padding.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/problem.h"
#include "kernels/libraries/library.h"
#include "kernels/shapes.h"

namespace epochbench::bench {

// All functions here throw std::runtime_error for sizes that are missing, too small or unknown.
GemmShape gemm_shape(const Problem& problem);
Conv2dShape conv2d_shape(const Problem& problem);

// One product, or one pass of a convolution.
struct Work {
  std::string name;
  std::int64_t count = 1;
  std::optional<GemmShape> gemm;  // unset: a convolution
  Conv2dShape conv2d;
  Pass pass = Pass::forward;
  std::array<std::int64_t, 3> elements{};  // c, a, b of a product, or y, x, weight of a convolution
  std::size_t result = 0;                  // index of the one that is written
  double flops = 0;
};

// One for a product, three for a convolution, none for other operations.
std::vector<Work> works_of(const Problem& problem);

std::array<std::int64_t, 3> elements_of(const GemmShape& shape);    // c, a, b
std::array<std::int64_t, 3> elements_of(const Conv2dShape& shape);  // y, x, weight
double flops_of(const GemmShape& shape);
double flops_of(const Conv2dShape& shape);  // of each pass

}  // namespace epochbench::bench
