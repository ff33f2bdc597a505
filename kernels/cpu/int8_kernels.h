// The CPU kernels of inference in bytes, one table per instruction set that multiplies them. As in kernels.h: `threads` is the
// size of the OpenMP team, `workspace` 64-byte aligned scratch memory; results are the same for every number of threads.
#pragma once

#include "kernels/cpu/kernels.h"
#include "kernels/int8.h"

namespace epochbench::cpu {

struct Int8Kernels {
  const char* isa;  // name of its Isa

#define CPU_KERNEL(result, name, arguments) result(*name) arguments;
#include "kernels/int8_kernels.inc"
};

// The instruction sets that have a table, slowest first. AVX2 multiplies numbers of 16 bits.
inline constexpr Isa kInt8Isas[] = {Isa::avx2, Isa::avx_vnni, Isa::avx512_vnni, Isa::amx_int8};

const Int8Kernels& int8_kernels(Isa isa);  // precondition: available<Int8Kernels>(isa)

// The best available table; null if there is none.
inline const Int8Kernels* best_int8_kernels() {
  const Int8Kernels* best = nullptr;
  for (Isa isa : kInt8Isas)
    if (available<Int8Kernels>(isa)) best = &int8_kernels(isa);
  return best;
}

}  // namespace epochbench::cpu
