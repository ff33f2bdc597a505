// The driver's version and the names of instances (MIG), with a fake management library.
#include "src/backend/host/nvidia_management.h"

#include <gtest/gtest.h>

#include "tests/support/fake_nvml_handle.h"

namespace epochbench {
namespace {

constexpr std::array<unsigned char, 16> kUuid{0x8f, 0x2a, 0x7c, 0x11, 0, 1, 2, 3, 0xff, 5, 6, 7, 8, 9, 10, 11};
constexpr const char* kDigits = "-8f2a7c11-0001-0203-ff05-060708090a0b";

TEST(NvidiaManagement, NamesAnInstanceAsNvidiaSmiDoes) {
  test::FakeNvmlHandle fake(FAKE_NVML);
  fake->card_count = 1;
  EXPECT_EQ(NvidiaManagement(FAKE_NVML).uuid_text(kUuid), std::string("GPU") + kDigits);
  const std::string instance = std::string("MIG") + kDigits;
  fake->cards[0].instance_uuid = instance.c_str();
  EXPECT_EQ(NvidiaManagement(FAKE_NVML).uuid_text(kUuid), instance);
  constexpr std::array<unsigned char, 16> kOther{};
  EXPECT_EQ(NvidiaManagement(FAKE_NVML).uuid_text(kOther), "GPU-00000000-0000-0000-0000-000000000000");
}

TEST(NvidiaManagement, KnowsTheDriversVersion) {
  test::FakeNvmlHandle fake(FAKE_NVML);
  {
    const NvidiaManagement management(FAKE_NVML);
    EXPECT_EQ(management.driver_version(), "580.65.06");
    EXPECT_EQ(fake->started, 1);
    EXPECT_EQ(fake->stopped, 0);
  }
  EXPECT_EQ(fake->stopped, 1);
}

TEST(NvidiaManagement, WithoutALibraryOrOneThatStartsThereIsNoVersion) {
  test::FakeNvmlHandle fake(FAKE_NVML);
  fake->init_code = test::kNoPermission;
  for (const char* file : {FAKE_NVML, FAKE_NVML_EMPTY, "/nonexistent/libnvidia-ml.so.1"}) {
    const NvidiaManagement management(file);
    EXPECT_EQ(management.driver_version(), "") << file;
    EXPECT_EQ(management.uuid_text(kUuid), std::string("GPU") + kDigits) << file;
  }
  EXPECT_EQ(fake->stopped, 0);
}

}  // namespace
}  // namespace epochbench
