// Averages of the weights through the CUDA backend, with our kernels compiled for the CPU, a fake device and fake libraries.
#include "src/backend/cuda/cuda_backend.h"
#include "tests/support/averages_of_weights.h"
#include "tests/support/cuda_fake_device.h"
#include "tests/support/cuda_fake_libraries.h"

namespace epochbench {
namespace {

TEST(CudaAverages, FollowTheWeightsAndAreEvaluated) {
  const auto device = std::make_shared<test::FakeDevice>();
  const auto cuda = make_cuda_backend(device, [&] { return std::make_shared<test::FakeLibraries>(*device); });
  test::expect_averages("lenet5", Precision::fp32, *cuda);
  test::expect_averages("mlp:width=40", Precision::tf32, *cuda, 2);
  for (const Precision precision : {Precision::bf16, Precision::fp16}) {
    SCOPED_TRACE(name(precision));
    test::expect_averages(test::kSmallGpt2, precision, *cuda);
  }
}

}  // namespace
}  // namespace epochbench
