// Loops of nothing but multiply-adds in registers, for src/machine/peaks.cpp only.
#pragma once

#include <cstdint>

#include "epochbench/precision.h"

namespace epochbench {

struct PeakKernel {
  double (*run)(std::int64_t rounds) = nullptr;  // `rounds` passes over all accumulators; returns the operations done
  const char* instruction = nullptr;             // the one used: "vfmadd (avx512)"
};

PeakKernel fp32_peak_kernel();  // the widest that this CPU has
PeakKernel bf16_peak_kernel();  // empty without bf16 instructions. Asks the kernel for AMX, for this process
PeakKernel int8_peak_kernel();  // likewise
// Precision: bf16 or int8. Does not check that this CPU has AMX; empty on another architecture.
PeakKernel amx_peak_kernel(Precision precision);

}  // namespace epochbench
