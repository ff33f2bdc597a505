#include "src/base/cpu_name.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "src/base/text.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#endif

namespace epochbench {
namespace {

// Server cores; numbers as in Linux's arch/arm64/include/asm/cputype.h.
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

// A part with a digit, unless it is a clock or a version ("2.20GHz", "2.5+").
bool has_model_number(const std::string& name) {
  return std::ranges::any_of(split(name, ' '), [](const std::string& part) {
    return part.find_first_of("0123456789") != std::string::npos && part.find('.') == std::string::npos;
  });
}

}  // namespace

std::string x86_cpu_name(const std::string& reported, std::uint32_t signature) {
  const std::string name(trimmed(reported));
  if (name.empty() || has_model_number(name)) return name;
  const auto bits = [&](int first, int count) { return signature >> first & ((1u << count) - 1); };
  const unsigned base = bits(8, 4), family = base == 15 ? base + bits(20, 8) : base;
  const unsigned model = bits(4, 4) + (base == 6 || base == 15 ? bits(16, 4) << 4 : 0);
  return name + " (family " + std::to_string(family) + ", model " + std::to_string(model) + ", stepping " +
         std::to_string(bits(0, 4)) + ")";
}

std::string arm_core_name(std::uint64_t midr) {
  const auto implementer = static_cast<unsigned>(midr >> 24 & 0xff), part = static_cast<unsigned>(midr >> 4 & 0xfff);
  for (const Core& core : kCores)
    if (core.implementer == implementer && core.part == part) return core.name;
  char text[32];
  std::snprintf(text, sizeof text, "Arm core 0x%02x:0x%03x", implementer, part);
  return text;
}

std::string this_cpu_name() {
#if defined(__x86_64__)
  unsigned name[12] = {}, eax = 0, ebx = 0, ecx = 0, edx = 0;
  for (unsigned leaf = 0; leaf < 3; ++leaf)
    if (unsigned* part = name + 4 * leaf; !__get_cpuid(0x80000002 + leaf, part, part + 1, part + 2, part + 3)) return "";
  char text[sizeof name + 1] = {};
  std::memcpy(text, name, sizeof name);
  __get_cpuid(1, &eax, &ebx, &ecx, &edx);
  return x86_cpu_name(text, eax);
#elif defined(__aarch64__)
  if ((getauxval(AT_HWCAP) & HWCAP_CPUID) != 0) {
    std::uint64_t midr = 0;
    asm("mrs %0, MIDR_EL1" : "=r"(midr));
    return arm_core_name(midr);
  }
  return "";
#else
  return "";
#endif
}

}  // namespace epochbench
