// The device over the CUDA runtime, which is emulated here with the statuses that CUDA documents.
#include "src/backend/cuda/cuda_device.h"

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <unistd.h>

namespace epochbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

class CudaDevice : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string file = ::testing::TempDir() + "cuda_device_test-" + std::to_string(getpid());
    std::ofstream(file) << R"({"cards": [{"name": "H200"}]})";
    setenv("EPOCHBENCH_EMULATED_GPUS", file.c_str(), 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
  }
};

// An algorithm that allocates or waits when it runs concerns no other: the device goes on.
TEST_F(CudaDevice, WhatACaptureForbidsIsNotTakenForAFailureOfTheDevice) {
  const std::unique_ptr<cuda::Device> device = cuda::make_device(0);
  const cuda::Stream stream = device->make_stream();
  const auto refused = ThrowsMessage<cuda::Error>(
      AllOf(HasSubstr("not permitted when stream is capturing"), Not(HasSubstr("the GPU runs nothing more"))));
  for (const bool allocates : {true, false}) {
    device->begin_capture(stream);
    if (allocates)
      EXPECT_THAT([&] { device->allocate(16); }, refused);
    else
      EXPECT_THAT([&] { device->synchronize(stream); }, refused);
    EXPECT_THAT([&] { device->end_capture(stream); },
                ThrowsMessage<cuda::Error>(AllOf(HasSubstr("capturing a step"), Not(HasSubstr("the GPU runs nothing more")))));
    device->synchronize(stream);
  }
  device->begin_capture(stream);
  device->destroy(device->end_capture(stream));
  device->destroy(stream);
}

}  // namespace
}  // namespace epochbench
