// What the benchmarks of the CPU kernels share. They measure warm: operands are reused, so small ones lie in cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/problem.h"
#include "epochbench/philox.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::bench {

struct Options {
  const cpu::Kernels<float>* kernels = nullptr;
  int threads = 1;
};

// Scratch and operands: 64-byte aligned, every page touched.
class Floats {
 public:
  explicit Floats(std::int64_t n, std::uint64_t seed = 0) : n_(n) {
    data_.reset(static_cast<float*>(::operator new (static_cast<std::size_t>(n) * sizeof(float), std::align_val_t{64})));
    for (std::int64_t i = 0; i < n; i += 4) {
      const PhiloxBlock block = philox(seed, {static_cast<std::uint32_t>(i / 4), 0, 0, 0});
      for (std::int64_t j = i; j < n && j < i + 4; ++j)
        data_.get()[j] = static_cast<float>(2 * uniform01(block[static_cast<std::size_t>(j - i)]) - 1);
    }
  }
  static Floats workspace(std::size_t bytes) { return Floats(static_cast<std::int64_t>(bytes / sizeof(float))); }
  float* data() { return data_.get(); }
  std::int64_t size() const { return n_; }

 private:
  struct Free {
    void operator()(float* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::int64_t n_;
  std::unique_ptr<float, Free> data_;
};

// Times `call` in turns with bursts of the machine's fp32 FMA peak, so that what else the machine does weighs on both. Sets
// the counters FLOP/s and peak_fraction, as far as flops are above 0. Where they are not, bytes/s and bandwidth_fraction, of
// the bandwidth of a triad before and after.
void time_in_turns(benchmark::State& state, int threads, double flops, double bytes, const std::function<void()>& call);

// Each registers the problem's benchmarks if the operation is its own, and says whether it was.
// Errors: std::runtime_error for sizes that are missing, too small or unknown.
bool register_gemm(const Problem& problem, const Options& options);
bool register_conv2d(const Problem& problem, const Options& options);
bool register_attention(const Problem& problem, const Options& options);
bool register_elementwise(const Problem& problem, const Options& options);
bool register_rows(const Problem& problem, const Options& options);

inline std::string name_of(const Problem& problem, const Options& options, const std::string& direction = "") {
  return std::string(options.kernels->isa) + "/" + std::to_string(options.threads) + "/" + problem.text +
         (direction.empty() ? "" : " " + direction);
}

}  // namespace epochbench::bench
