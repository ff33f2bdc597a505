// Loops of nothing but multiply-adds in registers, for src/measure/peaks.cpp alone.
#pragma once

#include <cstdint>

namespace epochbench {

// Runs about `rounds` times through all accumulators; returns the FLOPs done.
using PeakKernel = double (*)(std::int64_t rounds);

PeakKernel fp32_peak_kernel();  // the widest that this CPU has
PeakKernel bf16_peak_kernel();  // null without bf16 instructions. Asks the kernel for AMX, for this process

}  // namespace epochbench
