#include "src/base/cpu_name.h"

#include <tuple>

#include <gtest/gtest.h>

namespace epochbench {
namespace {

TEST(CpuName, OfAnArmCoreIsThatOfImplementerAndPart) {
  EXPECT_EQ(arm_core_name(0x411fd401), "Arm Neoverse V1");  // Graviton 3
  EXPECT_EQ(arm_core_name(0x410fd4f0), "Arm Neoverse V2");  // Grace
  EXPECT_EQ(arm_core_name(0x611f0221), "Arm core 0x61:0x022");
}

TEST(CpuName, WithAModelNumberIsAsReported) {
  for (const char* name : {"AMD EPYC 7763 64-Core Processor", "AMD EPYC 9R14", "Intel(R) Xeon(R) CPU E5-2673 v4 @ 2.30GHz",
                           "Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz", "Intel(R) N100"})
    EXPECT_EQ(x86_cpu_name(name, 0x00b00f21), name);
  EXPECT_EQ(x86_cpu_name(" AMD EPYC 7763 64-Core Processor    ", 0x00a00f11), "AMD EPYC 7763 64-Core Processor");
}

TEST(CpuName, ThatSeveralKindsShareSaysWhichOneItIs) {
  EXPECT_EQ(x86_cpu_name("AMD EPYC", 0x00a10f11), "AMD EPYC (family 25, model 17, stepping 1)");
  EXPECT_EQ(x86_cpu_name("AMD EPYC", 0x00b00f21), "AMD EPYC (family 26, model 2, stepping 1)");
  EXPECT_EQ(x86_cpu_name("Intel(R) Xeon(R) CPU @ 2.20GHz", 0x000406f0),
            "Intel(R) Xeon(R) CPU @ 2.20GHz (family 6, model 79, stepping 0)");
  EXPECT_EQ(x86_cpu_name("QEMU Virtual CPU version 2.5+", 0x00000f61),
            "QEMU Virtual CPU version 2.5+ (family 15, model 6, stepping 1)");
}

TEST(CpuName, IsShortInTitlesAndSaysTheGeneration) {
  for (const auto& [name, title] :
       {std::pair("AMD EPYC 9654 96-Core Processor", "AMD EPYC 9654"),
        {"Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", "Intel Xeon Platinum 8375C"},
        {"AMD EPYC (family 25, model 1, stepping 1)", "AMD EPYC, Zen 3 (Milan)"},
        {"AMD EPYC (family 25, model 17, stepping 1)", "AMD EPYC, Zen 4 (Genoa)"},
        {"AMD EPYC (family 26, model 2, stepping 1)", "AMD EPYC, Zen 5 (Turin)"},
        {"Intel(R) Xeon(R) Processor (family 6, model 207, stepping 2)", "Intel Xeon, Emerald Rapids"},
        {"Intel(R) Xeon(R) CPU @ 2.20GHz (family 6, model 79, stepping 0)", "Intel Xeon, Broadwell"},
        {"Intel(R) Xeon(R) CPU @ 2.80GHz (family 6, model 85, stepping 7)", "Intel Xeon, Cascade Lake"},
        {"Intel(R) Xeon(R) Processor (family 6, model 167, stepping 1)",
         "Intel Xeon Processor (family 6, model 167, stepping 1)"},  // a client's number: this one has AMX
        {"AMD EPYC", "AMD EPYC"}})
    EXPECT_EQ(short_cpu_name(name), title);
}

TEST(CpuName, WithoutTheNumbersOfItsKindIsUnknownBesideOthers) {
  const std::string turin = "AMD EPYC (family 26, model 2, stepping 1)", genoa = "AMD EPYC (family 25, model 17, stepping 1)",
                    rated = "AMD EPYC 9R14", xeon = "Intel(R) Xeon(R) Processor";
  for (const auto& [a, b, match] :
       {std::tuple(turin, turin, CpuMatch::same),
        {rated, rated, CpuMatch::same},
        {turin, genoa, CpuMatch::different},
        {"AMD EPYC", "AMD EPYC", CpuMatch::unknown},
        {"AMD EPYC", turin, CpuMatch::unknown},
        {"AMD EPYC", rated, CpuMatch::unknown},
        {turin, rated, CpuMatch::unknown},
        {"", turin, CpuMatch::unknown},
        {"AMD EPYC", xeon, CpuMatch::different},
        {turin, xeon, CpuMatch::different},
        {rated, "AMD EPYC 7763", CpuMatch::different},
        {xeon, "Intel(R) Xeon(R) CPU @ 2.20GHz (family 6, model 79, stepping 0)", CpuMatch::unknown}}) {
    EXPECT_EQ(match_cpus(a, b), match) << a << ", " << b;
    EXPECT_EQ(match_cpus(b, a), match) << b << ", " << a;
  }
}

TEST(CpuName, OfThisCpuHasSpacesInsideOnly) {
  const std::string name = this_cpu_name();
#if defined(__x86_64__) || defined(__aarch64__)
  ASSERT_NE(name, "");
  EXPECT_NE(name.front(), ' ');
  EXPECT_NE(name.back(), ' ');
#else
  EXPECT_EQ(name, "");
#endif
}

}  // namespace
}  // namespace epochbench
