#include "src/base/cpu_name.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

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

// Servers by family, models and steppings, as in Linux's arch/x86/include/asm/intel-family.h and arch/x86/kernel/cpu/amd.c.
struct Generation {
  std::string_view line;
  unsigned family, first_model, last_model, first_stepping, last_stepping;
  const char* name;
};
constexpr std::array<Generation, 17> kGenerations = {{
    {"EPYC", 23, 1, 1, 0, 15, "Zen (Naples)"},
    {"EPYC", 23, 0x31, 0x31, 0, 15, "Zen 2 (Rome)"},
    {"EPYC", 25, 0, 0x0f, 0, 15, "Zen 3 (Milan)"},
    {"EPYC", 25, 0x10, 0x1f, 0, 15, "Zen 4 (Genoa)"},
    {"EPYC", 25, 0xa0, 0xaf, 0, 15, "Zen 4c (Bergamo)"},
    {"EPYC", 26, 0, 0x0f, 0, 15, "Zen 5 (Turin)"},
    {"EPYC", 26, 0x10, 0x1f, 0, 15, "Zen 5c (Turin Dense)"},
    {"Xeon", 6, 0x3f, 0x3f, 0, 15, "Haswell"},
    {"Xeon", 6, 0x4f, 0x4f, 0, 15, "Broadwell"},
    {"Xeon", 6, 0x55, 0x55, 0, 4, "Skylake"},
    {"Xeon", 6, 0x55, 0x55, 5, 7, "Cascade Lake"},
    {"Xeon", 6, 0x55, 0x55, 10, 11, "Cooper Lake"},
    {"Xeon", 6, 0x6a, 0x6a, 0, 15, "Ice Lake"},
    {"Xeon", 6, 0x6c, 0x6c, 0, 15, "Ice Lake"},
    {"Xeon", 6, 0x8f, 0x8f, 0, 15, "Sapphire Rapids"},
    {"Xeon", 6, 0xcf, 0xcf, 0, 15, "Emerald Rapids"},
    {"Xeon", 6, 0xad, 0xae, 0, 15, "Granite Rapids"},
}};

// nullptr: not in the table.
const char* find_generation(const std::string& name, unsigned family, unsigned model, unsigned stepping) {
  const auto found = std::ranges::find_if(kGenerations, [&](const Generation& one) {
    return name.find(one.line) != std::string::npos && one.family == family && one.first_model <= model &&
           model <= one.last_model && one.first_stepping <= stepping && stepping <= one.last_stepping;
  });
  return found == kGenerations.end() ? nullptr : found->name;
}

// A part with a digit, unless it is a clock or a version ("2.20GHz", "2.5+").
bool has_model_number(const std::string& name) {
  return std::ranges::any_of(split(name, ' '), [](const std::string& part) {
    return part.find_first_of("0123456789") != std::string::npos && part.find('.') == std::string::npos;
  });
}

std::string without_numbers(const std::string& name) { return name.substr(0, name.find(" (family ")); }

// Without a clock and words that any name may have.
std::vector<std::string> name_parts(const std::string& name) {
  std::vector<std::string> parts = split(name, ' ');
  std::erase_if(parts, [](const std::string& part) {
    return part.empty() || part == "@" || part == "CPU" || part == "Processor" || part.find('.') != std::string::npos;
  });
  return parts;
}

// Whether it says less than the other name, and nothing else.
bool is_more_general(const std::string& name, const std::string& other) {
  const std::vector<std::string> parts = name_parts(other);
  return !has_model_number(name) && std::ranges::all_of(name_parts(name), [&](const std::string& part) {
    return std::ranges::find(parts, part) != parts.end();
  });
}

}  // namespace

CpuMatch match_cpus(const std::string& a, const std::string& b) {
  if (a == b) return has_model_number(a) ? CpuMatch::same : CpuMatch::unknown;
  const std::string x = without_numbers(a), y = without_numbers(b);
  const bool both_have_numbers = x != a && y != b;
  return !both_have_numbers && (is_more_general(x, y) || is_more_general(y, x)) ? CpuMatch::unknown : CpuMatch::different;
}

std::string x86_cpu_name(const std::string& reported, std::uint32_t signature) {
  const std::string name(trimmed(reported));
  if (name.empty() || has_model_number(name)) return name;
  const auto bits = [&](int first, int count) { return signature >> first & ((1u << count) - 1); };
  const unsigned base = bits(8, 4), family = base == 15 ? base + bits(20, 8) : base;
  const unsigned model = bits(4, 4) + (base == 6 || base == 15 ? bits(16, 4) << 4 : 0);
  return name + " (family " + std::to_string(family) + ", model " + std::to_string(model) + ", stepping " +
         std::to_string(bits(0, 4)) + ")";
}

std::string short_cpu_name(std::string name) {
  for (const char* mark : {"(R)", "(TM)", "(r)", "(tm)"}) replace_all(name, mark, "");
  if (const std::size_t clock = name.find(" CPU @"); clock != std::string::npos)
    name.erase(clock, std::min(name.find(" (", clock), name.size()) - clock);
  if (const std::size_t cores = name.find("-Core Processor"); cores != std::string::npos)
    name = name.substr(0, name.rfind(' ', cores));
  const std::size_t numbers = name.find(" (family ");
  unsigned family = 0, model = 0, stepping = 0;
  if (numbers != std::string::npos &&
      std::sscanf(name.c_str() + numbers, " (family %u, model %u, stepping %u)", &family, &model, &stepping) == 3)
    if (const char* generation = find_generation(name, family, model, stepping)) {
      name.resize(numbers);
      if (name.ends_with(" Processor")) name.resize(name.size() - std::string_view(" Processor").size());
      return std::string(trimmed(name)) + ", " + generation;
    }
  return std::string(trimmed(name));
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
