// What the tests of mutants of CUDA kernels share: namespaces of mutants, and running a kernel in a child. A check,
// try_KERNEL(function, order), prints what is wrong with a function's results. One order of threads is enough: a race is one in
// any order, and others bring no other addresses.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include "kernels/reference/kernels.h"
#include "tests/support/cuda_kernel_sweep.h"
#include "tests/support/shapes.h"

#define EPOCHBENCH_MUTANT(name, function) \
  namespace name {                        \
  decltype(cuda::function) function;      \
  }

namespace epochbench {

using test::DeviceBuffer;
using test::GuardedBuffer;
using test::inputs;
using test::kEps;
using test::kNoStream;
using test::on_device;
using test::outputs;
using test::random_device_floats;
using test::random_floats;
using test::ThreadOrder;

struct Output {
  const DeviceBuffer<float>& actual;
  const GuardedBuffer<float>& expected;
};
// Prints what is wrong, and whether a guard band was touched.
inline void compare(std::initializer_list<Output> outputs) {
  for (const Output& output : outputs) {
    if (!output.actual.guards_intact()) std::fputs("touched band\n", stderr);
    for (std::size_t i = 0; i < output.expected.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      // Sums of a few hundred values around 1 and results derived from them: a fault changes them by whole addends.
      if (std::fabs(output.actual[at] - output.expected[at]) < 1e-3) continue;
      std::fputs("wrong numbers\n", stderr);
      return;
    }
  }
}

// The child prints whatever it finds, then "end" if it reaches its end.
template <typename Try, typename Function>
void try_alone(Try try_it, Function function, ThreadOrder order = ThreadOrder::forward) {
  try_it(function, order);
  std::fputs("end\n", stderr);
  std::_Exit(0);
}
inline bool any_end(int) { return true; }

#define EXPECT_FOUND(try_it, function, means) EXPECT_EXIT(try_alone(try_it, function), any_end, means)
#define EXPECT_NOTHING_FOUND(try_it, function) EXPECT_EXIT(try_alone(try_it, function), testing::ExitedWithCode(0), "^end\n$")

}  // namespace epochbench
