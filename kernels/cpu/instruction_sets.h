// The instruction sets that CPU kernels are compiled for, and which of them this CPU can run. Needs no kernel, so that CMake
// can ask it what to build (EPOCHBENCH_KERNELS=native).
#pragma once

#include <cstdint>

namespace epochbench::cpu {

enum class Isa : std::uint8_t {
  portable,
  avx2,
  avx512,
  avx512_bf16,
  amx_bf16,
  avx_vnni,
  avx512_vnni,
  amx_int8,
  neon,
  neon_bf16
};

const char* name(Isa isa);  // that of its namespace and its CMake target: "avx512_bf16"

// Whether this CPU has the instructions and the system lets this process use them. For AMX this requests the permission.
bool supported(Isa isa);

}  // namespace epochbench::cpu
