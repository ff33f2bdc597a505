// Which tables this CPU can run. Compiled for the baseline alone.
#include <stdexcept>

#include "kernels/cpu/kernels.h"

namespace epochbench::cpu {

namespace portable {
extern const Kernels table;
}
namespace avx2 {
extern const Kernels table;
}
namespace avx512 {
extern const Kernels table;
}

bool available(Isa isa) {
  switch (isa) {
    case Isa::portable:
      return true;
#if EPOCHBENCH_HAS_AVX2
    case Isa::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
    case Isa::avx2:
      return false;
#endif
#if EPOCHBENCH_HAS_AVX512
    case Isa::avx512:
      return available(Isa::avx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
    case Isa::avx512:
      return false;
#endif
  }
  return false;
}

Isa best_isa() {
  Isa best = Isa::portable;
  for (Isa isa : kIsas)
    if (available(isa)) best = isa;
  return best;
}

const Kernels& kernels(Isa isa) {
  if (!available(isa)) throw std::logic_error("CPU kernels of an instruction set that this CPU lacks");
  switch (isa) {
    case Isa::portable:
      break;
#if EPOCHBENCH_HAS_AVX2
    case Isa::avx2:
      return avx2::table;
#else
    case Isa::avx2:
      break;
#endif
#if EPOCHBENCH_HAS_AVX512
    case Isa::avx512:
      return avx512::table;
#else
    case Isa::avx512:
      break;
#endif
  }
  return portable::table;
}

}  // namespace epochbench::cpu
