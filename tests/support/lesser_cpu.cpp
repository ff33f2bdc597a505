// A CPU with AVX2, or NEON, and no more: no AVX-512, no instructions for bf16, and none of VNNI. A program that links this file
// gets it in place of kernels/cpu/instruction_sets.cpp, the one place that decides which kernels and precisions there are.
#include "kernels/cpu/instruction_sets.h"

#define supported supported_by_this_machine
#include "kernels/cpu/instruction_sets.cpp"
#undef supported

namespace epochbench::cpu {

bool supported(Isa isa) {
  const bool lesser = isa == Isa::portable || isa == Isa::avx2 || isa == Isa::neon;
  return lesser && supported_by_this_machine(isa);
}

}  // namespace epochbench::cpu
