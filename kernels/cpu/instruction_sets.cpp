// Compiled for the baseline instruction set only.
#include "kernels/cpu/instruction_sets.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace epochbench::cpu {

const char* name(Isa isa) {
  switch (isa) {
    case Isa::portable:
      return "portable";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::avx512_bf16:
      return "avx512_bf16";
    case Isa::amx_bf16:
      return "amx_bf16";
    case Isa::avx_vnni:
      return "avx_vnni";
    case Isa::avx512_vnni:
      return "avx512_vnni";
    case Isa::amx_int8:
      return "amx_int8";
    case Isa::neon:
      return "neon";
    case Isa::neon_bf16:
      return "neon_bf16";
  }
  return "";
}

#if defined(__x86_64__)

namespace {

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"); }
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

bool has_avx_vnni() {
  constexpr unsigned kAvxVnni = 4;  // bit of eax in cpuid leaf 7, subleaf 1
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return has_avx2() && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax >> kAvxVnni & 1) != 0;
}

// Bits of edx in cpuid leaf 7.
constexpr unsigned kAmxBf16 = 22, kAmxTile = 24, kAmxInt8 = 25;
bool has_amx_instructions(unsigned kind) {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx >> kind & 1) != 0 && (edx >> kAmxTile & 1) != 0;
}

// Linux saves the tile registers of a process only after the process requests it (Documentation/arch/x86/xstate.rst). The
// permission covers threads that start later.
bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool supported(Isa isa) {
  switch (isa) {
    case Isa::portable:
      return true;
    case Isa::avx2:
      return has_avx2();
    case Isa::avx512:
      return has_avx512();
    case Isa::avx512_bf16:
      return has_avx512() && __builtin_cpu_supports("avx512bf16");
    case Isa::amx_bf16: {
      static const bool usable = has_amx_instructions(kAmxBf16) && may_use_tiles();
      return usable && supported(Isa::avx512_bf16);
    }
    case Isa::avx_vnni:
      return has_avx_vnni();
    case Isa::avx512_vnni:
      return has_avx512() && __builtin_cpu_supports("avx512vnni");
    case Isa::amx_int8: {
      static const bool usable = has_amx_instructions(kAmxInt8) && may_use_tiles();
      return usable && supported(Isa::avx512_vnni);
    }
    case Isa::neon:
    case Isa::neon_bf16:
      return false;
  }
  return false;
}

#elif defined(__aarch64__)

bool supported(Isa isa) {
  if (isa == Isa::neon) return (getauxval(AT_HWCAP) & HWCAP_ASIMD) != 0;
  if (isa == Isa::neon_bf16) return supported(Isa::neon) && (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0;
  return isa == Isa::portable;
}

#else

bool supported(Isa isa) { return isa == Isa::portable; }

#endif

}  // namespace epochbench::cpu
