// Which GPUs a build has code for, and how that is said.
#include "src/base/gpu_code.h"

#include <gtest/gtest.h>

namespace epochbench {
namespace {

TEST(GpuCode, MachineCodeRunsOnLaterMinorVersions) {
  EXPECT_TRUE(has_gpu_code({"80-real"}, 80));
  EXPECT_TRUE(has_gpu_code({"80-real"}, 89));
  EXPECT_FALSE(has_gpu_code({"80-real"}, 75));
  EXPECT_FALSE(has_gpu_code({"80-real"}, 90));
  EXPECT_FALSE(has_gpu_code({"86-real"}, 80));
}

TEST(GpuCode, PtxRunsOnAllLaterOnes) {
  EXPECT_TRUE(has_gpu_code({"80-virtual"}, 120));
  EXPECT_TRUE(has_gpu_code({"80"}, 120)) << "without a suffix it is both";
  EXPECT_FALSE(has_gpu_code({"90-virtual"}, 80));
}

TEST(GpuCode, CodeForOneGpuRunsOnNoOther) {
  EXPECT_TRUE(has_gpu_code({"90a-real"}, 90));
  EXPECT_FALSE(has_gpu_code({"90a"}, 100));
}

TEST(GpuCode, AnyOfSeveralIsEnough) {
  EXPECT_TRUE(has_gpu_code({"75-real", "90-real"}, 75));
  EXPECT_FALSE(has_gpu_code({"75-real", "90-real"}, 80));
  EXPECT_FALSE(has_gpu_code({}, 90));
  EXPECT_TRUE(has_gpu_code({"all-major"}, 90)) << "what CMake chooses fits";
}

TEST(GpuCode, IsSaidInAPhrase) {
  EXPECT_EQ(gpu_code_text({}), "none, since it has no CUDA backend");
  EXPECT_EQ(gpu_code_text({"90-real"}), "compute capability 9.0");
  EXPECT_EQ(gpu_code_text({"75-real", "120-real", "120-virtual"}), "compute capability 7.5, 12.0 and later");
  EXPECT_EQ(gpu_code_text({"native"}), "compute capability native");
}

}  // namespace
}  // namespace epochbench
