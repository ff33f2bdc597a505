// A software model of AMX tile registers, so that kernels that use its instructions run on any CPU: Intel 64 and IA-32
// Architectures Software Developer's Manual, chapters on LDTILECFG, TILELOADD, TILESTORED, TILEZERO, TILERELEASE, TDPBF16PS and
// TDPBUSD.
// Each thread has its own registers. A hardware fault ends the process with a line that gives the reason.
//
// kernels/cpu/gemm/amx_model.h has the instructions; these are the tables of the kernels built on them. Without the kernels of
// AVX-512 in a build there are none: their addresses are null.
#pragma once

#include "kernels/cpu/int8_kernels.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::amx_model {
std::int64_t products();  // of tiles, since this thread began
}

namespace epochbench::cpu::amx_model {
[[gnu::weak]] extern const Kernels<Bf16> table;  // its vector code needs the features of Isa::avx512_bf16
}

namespace epochbench::cpu::amx_int8_model {
[[gnu::weak]] extern const Int8Kernels table;  // its vector code needs the features of Isa::avx512_vnni
}
