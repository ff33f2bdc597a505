// What this machine can achieve at most: multiply-adds per second out of registers, and bytes per second from memory.
//
// These are ceilings for fractions, so the best of several short bursts counts. Each burst starts its threads, places one on
// each core as a case's threads are placed, and times them between two barriers.
#pragma once

#include <cstdint>
#include <optional>

#include "epochbench/precision.h"
#include "src/result/context.h"

namespace epochbench {

MeasuredCpu measure_cpu(int threads);  // in this process

// FLOP/s: in fp32 with the CPU's widest FMA, in bf16 with AMX in preference to AVX512-BF16. Unset if it has neither, and for
// precisions that no CPU multiplies in.
std::optional<double> peak_burst(Precision precision, int threads, double seconds);
// Bytes per second of a[i] = b[i] + s * c[i], three arrays per thread; each pass reads two and writes one; the best of
// `passes`. `array_bytes` is the size of each array, all threads together. Errors: std::bad_alloc.
double triad_burst(int threads, std::int64_t array_bytes, int passes);

}  // namespace epochbench
