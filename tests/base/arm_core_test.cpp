#include "src/base/arm_core.h"

#include <gtest/gtest.h>

namespace epochbench {
namespace {

TEST(ArmCore, IsNamedByImplementerAndPart) {
  EXPECT_EQ(arm_core_name(0x411fd401), "Arm Neoverse V1");  // Graviton 3
  EXPECT_EQ(arm_core_name(0x410fd4f0), "Arm Neoverse V2");  // Grace
  EXPECT_EQ(arm_core_name(0x611f0221), "Arm core 0x61:0x022");
}

TEST(ArmCore, OfThisCpuIsKnownOnArmOnly) {
#if defined(__aarch64__)
  EXPECT_NE(this_arm_core(), "");
#else
  EXPECT_EQ(this_arm_core(), "");
#endif
}

}  // namespace
}  // namespace epochbench
