// The GPUs in the context of a resumed result, where cards are missing, new or others than before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/errors.h"
#include "src/session/resume.h"

namespace epochbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

GpuInfo gpu(const std::string& name, std::optional<double> bandwidth = std::nullopt) {
  GpuInfo gpu;
  gpu.name = name;
  gpu.memory_bandwidth_bytes_per_second = bandwidth;
  if (bandwidth) gpu.peak_flops_per_second["fp32"] = 5e13;
  return gpu;
}

TEST(ResumedGpus, KeepWhatWasMeasuredOfThem) {
  const auto gpus = with_known_gpus({gpu("A100"), gpu("T4")}, {gpu("A100", 1e12)}, "file.json");
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].memory_bandwidth_bytes_per_second, 1e12);
  EXPECT_EQ(gpus[0].peak_flops_per_second.at("fp32"), 5e13);
  EXPECT_FALSE(gpus[1].memory_bandwidth_bytes_per_second);
}

TEST(ResumedGpus, StayInTheResultWhenTheyDisappear) {
  const auto gpus = with_known_gpus({gpu("A100")}, {gpu("A100", 1e12), gpu("T4", 3e11)}, "file.json");
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[1].name, "T4");
  EXPECT_EQ(gpus[1].memory_bandwidth_bytes_per_second, 3e11);
  EXPECT_EQ(with_known_gpus({}, {gpu("A100", 1e12)}, "file.json").size(), 1u);
}

TEST(ResumedGpus, OfAnotherModelAreRefused) {
  EXPECT_THAT(
      [] {
        with_known_gpus({gpu("T4"), gpu("A100")}, {gpu("A100", 1e12)}, "file.json");
      },
      ThrowsMessage<CallError>(
          AllOf(HasSubstr("file.json cuda:0 is \"A100\", and here it is \"T4\""), HasSubstr("CUDA_VISIBLE_DEVICES"))));
}

}  // namespace
}  // namespace epochbench
