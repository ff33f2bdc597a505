// The preamble of every test of CPU kernels: the reference, the sweep over instruction sets, and their names.
#pragma once

#include <string>
#include <vector>

#include "kernels/reference/kernels.h"
#include "tests/support/kernel_sweep.h"
#include "tests/support/shapes.h"

namespace epochbench {

using test::describe;
using test::expect_close;
using test::floats;
using test::for_each_kernels;
using test::GuardedBuffer;
using test::inputs;
using test::kEps;
using test::Matrix;
using test::max_abs;
using test::outputs;
using test::random_floats;
using test::random_reals;
using test::RealOf;
using test::reals;
using test::rounded;

}  // namespace epochbench
