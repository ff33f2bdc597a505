// The preamble of every test of a kernel that the CPU and CUDA both have: the reference, the devices, and their names.
#pragma once

#include <string>
#include <vector>

#include "kernels/reference/kernels.h"
#include "tests/support/op_device.h"
#include "tests/support/shapes.h"

namespace epochbench {

using test::bit_equal;
using test::describe;
using test::DeviceBuffer;
using test::expect_close;
using test::for_each_device;
using test::for_each_op_element;
using test::GuardedBuffer;
using test::inputs;
using test::kEps;
using test::kExact;
using test::Matrix;
using test::max_abs;
using test::on_device;
using test::OpDevice;
using test::outputs;
using test::pool;
using test::random_device_floats;
using test::random_floats;
using test::random_tensor;
using test::SameBits;
using test::stored;
using test::Tensor;
using test::Tolerance;

}  // namespace epochbench
