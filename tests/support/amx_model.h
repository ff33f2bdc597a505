// A model of AMX's tile registers in software, so that kernels made of its instructions run on any CPU: Intel 64 and IA-32
// Architectures Software Developer's Manual, chapters on LDTILECFG, TILELOADD, TILESTORED, TILEZERO, TILERELEASE and TDPBF16PS.
// Each thread has registers of its own. What the hardware faults on ends the process with a line that says why.
//
// kernels/cpu/gemm/amx_model.h has the instructions; here is the table of the kernels that are built on them.
#pragma once

#include "kernels/cpu/kernels.h"

namespace epochbench::cpu::amx_model {
extern const Kernels<Bf16> table;  // its vector code needs what Isa::avx512_bf16 does
}
