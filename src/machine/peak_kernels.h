// Loops of nothing but multiply-adds in registers, for src/machine/peaks.cpp alone.
#pragma once

#include <cstdint>

#include "epochbench/precision.h"

namespace epochbench {

struct PeakKernel {
  double (*run)(std::int64_t rounds) = nullptr;  // so many times through all accumulators; returns the operations done
  const char* instruction = nullptr;             // that does them: "vfmadd (avx512)"
};

PeakKernel fp32_peak_kernel();  // the widest that this CPU has
PeakKernel bf16_peak_kernel();  // empty without bf16 instructions. Asks the kernel for AMX, for this process
PeakKernel int8_peak_kernel();  // likewise
// For tests, whether this CPU has AMX or not. Empty for a precision that AMX does not multiply.
PeakKernel amx_peak_kernel(Precision precision);

}  // namespace epochbench
