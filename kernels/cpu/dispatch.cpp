// Which tables this CPU can run. Compiled for the baseline instruction set only.
#include <stdexcept>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif EPOCHBENCH_ARM64
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "kernels/cpu/int8_kernels.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::cpu {

namespace portable {
extern const Kernels<float> table;
}
#if EPOCHBENCH_ARM64
namespace neon {
extern const Kernels<float> table;
}
namespace neon_bf16 {
extern const Kernels<Bf16> table;
}
#endif
#if EPOCHBENCH_X86
namespace avx2 {
extern const Kernels<float> table;
}
namespace avx512 {
extern const Kernels<float> table;
}
namespace avx512_bf16 {
extern const Kernels<Bf16> table;
}
namespace amx_bf16 {
extern const Kernels<Bf16> table;
}
namespace avx512_vnni {
extern const Int8Kernels table;
}
namespace amx_int8 {
extern const Int8Kernels table;
}

namespace {

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"); }
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
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

bool available(Isa isa) {
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
      return usable && available(Isa::avx512_bf16);
    }
    case Isa::avx512_vnni:
      return has_avx512() && __builtin_cpu_supports("avx512vnni");
    case Isa::amx_int8: {
      static const bool usable = has_amx_instructions(kAmxInt8) && may_use_tiles();
      return usable && available(Isa::avx512_vnni);
    }
    case Isa::neon:
    case Isa::neon_bf16:
      return false;
  }
  return false;
}

template <>
const Kernels<float>& kernels<float>(Isa isa) {
  if (available(isa)) {
    if (isa == Isa::portable) return portable::table;
    if (isa == Isa::avx2) return avx2::table;
    if (isa == Isa::avx512) return avx512::table;
  }
  throw std::logic_error("no float kernels for this instruction set on this CPU");
}

template <>
const Kernels<Bf16>& kernels<Bf16>(Isa isa) {
  if (available(isa)) {
    if (isa == Isa::avx512_bf16) return avx512_bf16::table;
    if (isa == Isa::amx_bf16) return amx_bf16::table;
  }
  throw std::logic_error("no Bf16 kernels for this instruction set on this CPU");
}

const Int8Kernels& int8_kernels(Isa isa) {
  if (available(isa)) {
    if (isa == Isa::avx512_vnni) return avx512_vnni::table;
    if (isa == Isa::amx_int8) return amx_int8::table;
  }
  throw std::logic_error("no int8 kernels for this instruction set on this CPU");
}

#else

bool available(Isa isa) {
  if (isa == Isa::portable) return true;
#if EPOCHBENCH_ARM64
  if (isa == Isa::neon) return (getauxval(AT_HWCAP) & HWCAP_ASIMD) != 0;
  if (isa == Isa::neon_bf16) return available(Isa::neon) && (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0;
#endif
  return false;
}

template <>
const Kernels<float>& kernels<float>(Isa isa) {
  if (isa == Isa::portable) return portable::table;
#if EPOCHBENCH_ARM64
  if (isa == Isa::neon && available(isa)) return neon::table;
#endif
  throw std::logic_error("no float kernels for this instruction set on this CPU");
}

template <>
const Kernels<Bf16>& kernels<Bf16>([[maybe_unused]] Isa isa) {
#if EPOCHBENCH_ARM64
  if (isa == Isa::neon_bf16 && available(isa)) return neon_bf16::table;
#endif
  throw std::logic_error("no Bf16 kernels for this instruction set on this CPU");
}

const Int8Kernels& int8_kernels(Isa) { throw std::logic_error("no int8 kernels for this instruction set on this CPU"); }

#endif

}  // namespace epochbench::cpu
