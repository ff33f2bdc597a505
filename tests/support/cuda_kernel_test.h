// The preamble of every test of our CUDA kernels: the reference, the sweep over thread orders, and their names.
#pragma once

#include <string>
#include <vector>

#include "kernels/reference/kernels.h"
#include "tests/support/cuda_kernel_sweep.h"
#include "tests/support/shapes.h"

namespace epochbench {

using test::bit_equal;
using test::describe;
using test::DeviceBuffer;
using test::expect_close;
using test::for_each_element;
using test::for_each_order;
using test::GuardedBuffer;
using test::inputs;
using test::kEps;
using test::kExact;
using test::kNoStream;
using test::Matrix;
using test::max_abs;
using test::on_device;
using test::outputs;
using test::random_device_floats;
using test::random_floats;
using test::random_tensor;
using test::scratch;
using test::stored;
using test::Tensor;
using test::Tolerance;

}  // namespace epochbench
