// What this machine can do at most: multiply-adds per second out of registers, and bytes per second from memory.
//
// These are ceilings to state fractions of, so of several short bursts the best one counts. Each burst starts its threads,
// places one on each core as a case's threads are placed, and times them between two barriers.
#pragma once

#include <cstdint>
#include <optional>

#include "epochbench/precision.h"
#include "src/result/context.h"

namespace epochbench {

void measure_peaks(CpuInfo& cpu, int threads);  // in this process; fills in what is measured of the CPU

// FLOP/s: in fp32 by the widest FMA that this CPU has, in bf16 by AMX before AVX512-BF16. Unset where it has neither, and in
// the precisions that no CPU multiplies in.
std::optional<double> peak_burst(Precision precision, int threads, double seconds);
// Bytes per second of a[i] = b[i] + s * c[i], three arrays a thread, each pass reading two and writing one; the best of
// `passes`. `array_bytes` is the size of each array, all threads together. Errors: std::bad_alloc.
double triad_burst(int threads, std::int64_t array_bytes, int passes);

}  // namespace epochbench
