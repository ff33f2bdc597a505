// Prints the instruction sets that this CPU can run, as a list of CMake's: "portable;avx2". For EPOCHBENCH_KERNELS=native.
#include <cstdio>

#include "kernels/cpu/instruction_sets.h"

int main() {
  using epochbench::cpu::Isa;
  for (int isa = 0; isa <= static_cast<int>(Isa::neon_bf16); ++isa)
    if (epochbench::cpu::supported(Isa{static_cast<std::uint8_t>(isa)}))
      std::printf("%s%s", isa > 0 ? ";" : "", epochbench::cpu::name(Isa{static_cast<std::uint8_t>(isa)}));
}
