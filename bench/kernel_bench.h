// Shared by the benchmarks of the CPU kernels. Operands are reused, so small ones stay in cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/buffer.h"
#include "bench/problem.h"
#include "epochbench/precision.h"
#include "kernels/cpu/int8_kernels.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::bench {

template <typename Real>
struct Options {
  const cpu::Kernels<Real>* kernels = nullptr;
  int threads = 1;
};

using Floats = Buffer<float>;

// What products multiply in.
template <typename Real>
Precision product_precision(const cpu::Kernels<Real>& kernels) {
  return std::is_same_v<Real, float> || kernels.widens ? Precision::fp32 : Precision::bf16;
}

// Times `call` interleaved with bursts of the machine's peak in this precision, so that other load affects both equally. Sets
// the counters FLOP/s and peak_fraction if flops is above 0; otherwise bytes/s and bandwidth_fraction, relative to a triad
// before and after.
void time_beside_peak(benchmark::State& state, Precision precision, int threads, double flops, double bytes,
                      const std::function<void()>& call);
using Burst = std::function<double(double seconds)>;  // FLOP/s
void time_beside_peak(benchmark::State& state, const Burst& burst, int threads, double flops, double bytes,
                      const std::function<void()>& call);

// Registers a benchmark that calls time_beside_peak.
void register_timed(const std::string& name, const char* isa, int threads, const std::function<void(benchmark::State&)>& run);

// Each function registers the problem's benchmarks if the operation is its own, and returns whether it was.
// Errors: std::runtime_error for sizes that are missing, too small or unknown.
template <typename Real>
bool register_products(const Problem& problem, const Options<Real>& options);
template <typename Real>
bool register_attention(const Problem& problem, const Options<Real>& options);
template <typename Real>
bool register_windows(const Problem& problem, const Options<Real>& options);
template <typename Real>
bool register_lstm(const Problem& problem, const Options<Real>& options);
template <typename Real>
bool register_memory_bound(const Problem& problem, const Options<Real>& options);
std::vector<std::string> memory_bound_operations();
// Forward products alone; `kernels` outlives the benchmark.
bool register_int8(const Problem& problem, const cpu::Int8Kernels& kernels, int threads);

}  // namespace epochbench::bench
