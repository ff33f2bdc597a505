// Ten training steps of small models through the CUDA backend, with our kernels compiled for the CPU, a fake device and fake
// libraries, against the losses that PyTorch has after the same steps.
#include <gtest/gtest.h>

#include "src/backend/cuda/cuda_backend.h"
#include "tests/support/cuda_fake_device.h"
#include "tests/support/cuda_fake_libraries.h"
#include "tests/support/ten_losses.h"
#include "tests/support/trainer.h"

namespace epochbench {
namespace {

class CudaTenLosses : public testing::TestWithParam<const char*> {};

TEST_P(CudaTenLosses, AreThoseOfPyTorch) {
  const test::StoredLosses stored = test::stored_losses(GetParam());
  ASSERT_EQ(stored.losses.size(), 10u);
  const auto device = std::make_shared<test::FakeDevice>(0);
  const auto backend = make_cuda_backend(device, [&] { return std::make_shared<test::FakeLibraries>(*device); });
  test::Trainer trainer(workload_spec(stored.spec), *stored.spec.data, Precision::fp32, *backend);
  for (std::size_t i = 0; i < stored.losses.size(); ++i) {
    // A run has so many batches of synthetic data in memory, one after the other.
    const auto batch = static_cast<std::int64_t>(*stored.spec.data == "synthetic" ? i % kInputSlots : i);
    const double loss = trainer.step(Entry::train, batch * *stored.spec.batch).loss;
    EXPECT_NEAR(loss / stored.losses[i], 1, 1e-4) << "step " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CudaTenLosses, testing::ValuesIn(test::kSmallLosses),
                         [](const auto& info) { return test::letters_of(info.param); });

}  // namespace
}  // namespace epochbench
