// What the benchmarks of the CPU kernels share. Operands are reused, so small ones stay in cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/buffer.h"
#include "bench/problem.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::bench {

struct Options {
  const cpu::Kernels<float>* kernels = nullptr;
  int threads = 1;
};

using Floats = Buffer<float>;

// Times `call` alternately with bursts of the machine's fp32 FMA peak, so that other load affects both equally. Sets the
// counters FLOP/s and peak_fraction if flops is above 0; otherwise bytes/s and bandwidth_fraction, relative to a triad before
// and after.
void time_beside_peak(benchmark::State& state, int threads, double flops, double bytes, const std::function<void()>& call);

// Registers a benchmark that calls time_beside_peak.
void register_timed(const std::string& name, const Options& options, const std::function<void(benchmark::State&)>& run);

// Each function registers the problem's benchmarks if the operation is its own, and returns whether it was.
// Errors: std::runtime_error for sizes that are missing, too small or unknown.
bool register_products(const Problem& problem, const Options& options);
bool register_attention(const Problem& problem, const Options& options);
bool register_memory_bound(const Problem& problem, const Options& options);
std::vector<std::string> memory_bound_operations();

}  // namespace epochbench::bench
