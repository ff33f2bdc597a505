// Server cores; numbers as in Linux's arch/arm64/include/asm/cputype.h.
#include "src/base/arm_core.h"

#include <array>
#include <cstdio>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace epochbench {
namespace {

struct Core {
  unsigned implementer, part;
  const char* name;
};
constexpr std::array<Core, 7> kCores = {{
    {0x41, 0xd0c, "Arm Neoverse N1"},
    {0x41, 0xd40, "Arm Neoverse V1"},
    {0x41, 0xd49, "Arm Neoverse N2"},
    {0x41, 0xd4f, "Arm Neoverse V2"},
    {0x41, 0xd84, "Arm Neoverse V3"},
    {0x41, 0xd8e, "Arm Neoverse N3"},
    {0xc0, 0xac3, "Ampere 1"},
}};

}  // namespace

std::string arm_core_name(std::uint64_t midr) {
  const auto implementer = static_cast<unsigned>(midr >> 24 & 0xff), part = static_cast<unsigned>(midr >> 4 & 0xfff);
  for (const Core& core : kCores)
    if (core.implementer == implementer && core.part == part) return core.name;
  char text[32];
  std::snprintf(text, sizeof text, "Arm core 0x%02x:0x%03x", implementer, part);
  return text;
}

std::string this_arm_core() {
#if defined(__aarch64__)
  if ((getauxval(AT_HWCAP) & HWCAP_CPUID) != 0) {
    std::uint64_t midr = 0;
    asm("mrs %0, MIDR_EL1" : "=r"(midr));
    return arm_core_name(midr);
  }
#endif
  return "";
}

}  // namespace epochbench
