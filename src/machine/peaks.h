// What this machine can do at most: multiply-adds per second out of registers, and bytes per second from memory.
//
// These are ceilings to state fractions of, so of several short bursts the best one counts. Each burst starts its threads,
// places one on each core as a case's threads are placed, and times them between two barriers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace epochbench {

// The CPU's, measured.
struct Peaks {
  std::optional<double> fp32_flops_per_second, bf16_flops_per_second, memory_bandwidth_bytes_per_second;
  std::optional<std::string> fp32_instruction, bf16_instruction;  // that the two are measured with
  int threads = 0;                                                // all together
};
Peaks measure_peaks(int threads);  // in this process

double fp32_peak_burst(int threads, double seconds);                 // FLOP/s, by the widest FMA that this CPU has
std::optional<double> bf16_peak_burst(int threads, double seconds);  // FLOP/s, AMX before AVX512-BF16; unset without either
// Bytes per second of a[i] = b[i] + s * c[i], three arrays a thread, each pass reading two and writing one; the best of
// `passes`. `array_bytes` is the size of each array, all threads together. Errors: std::bad_alloc.
double triad_burst(int threads, std::int64_t array_bytes, int passes);

}  // namespace epochbench
