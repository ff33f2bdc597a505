#include "src/machine/peaks.h"

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "src/base/clock.h"
#include "src/machine/environment.h"
#include "src/machine/peak_kernels.h"
#include "src/machine/system/system_state.h"
#include "src/machine/topology.h"

namespace epochbench {
namespace {

void place_this_thread(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (cpu >= 0 && cpu < CPU_SETSIZE) {
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);  // a placement that is refused costs accuracy, not correctness
  }
}

// Runs work(thread, barrier) on `threads` threads, each on its own core if there are enough. The barrier counts these threads.
// `work` must not throw.
void on_all_cores(int threads, const std::function<void(int, std::barrier<>&)>& work) {
  if (threads < 1) throw std::invalid_argument("peaks of " + std::to_string(threads) + " threads; at least 1 is needed");
  const std::vector<int> cpus = placement(topology(affinity_cpus()));
  std::barrier<> barrier(threads);
  std::vector<std::thread> workers;
  const auto count = static_cast<std::size_t>(threads);
  workers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    workers.emplace_back([&, i] {
      if (count <= cpus.size()) place_this_thread(cpus[i]);
      work(static_cast<int>(i), barrier);
    });
  }
  for (std::thread& worker : workers) worker.join();
}

// A thread's rate is per CPU time, so that other processes on the core do not lower the ceiling.
double compute_burst(PeakKernel kernel, int threads, double seconds) {
  constexpr std::int64_t kRounds = 20000;  // tens of microseconds between reads of the clock
  std::vector<double> rates(static_cast<std::size_t>(std::max(threads, 0)));
  on_all_cores(threads, [&](int thread, std::barrier<>& barrier) {
    kernel.run(kRounds);  // wakes the wide units
    barrier.arrive_and_wait();
    const double end = steady_seconds() + seconds, begin = thread_cpu_seconds();
    double flops = 0, used = 0;
    while (used == 0 || steady_seconds() < end) {
      flops += kernel.run(kRounds);
      used = thread_cpu_seconds() - begin;
    }
    rates[static_cast<std::size_t>(thread)] = flops / used;
  });
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

// Without sanitizers, whose checks would be measured otherwise.
#define EPOCHBENCH_UNINSTRUMENTED __attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))

EPOCHBENCH_UNINSTRUMENTED void touch(float* x, float* y, float* z, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    x[i] = 0;
    y[i] = 1;
    z[i] = 2;
  }
}

// One pass over this thread's part. Stores that bypass the cache avoid reading lines that are overwritten completely; whether
// they are faster depends on the CPU.
EPOCHBENCH_UNINSTRUMENTED void triad(float* a, const float* b, const float* c, std::int64_t n, bool past_cache) {
#if defined(__x86_64__)
  if (past_cache) {
    const __m128 scale = _mm_set1_ps(3.0f);
    for (std::int64_t i = 0; i < n; i += 4)
      _mm_stream_ps(a + i, _mm_add_ps(_mm_load_ps(b + i), _mm_mul_ps(scale, _mm_load_ps(c + i))));
    _mm_sfence();
    return;
  }
#else
  (void)past_cache;
#endif
  for (std::int64_t i = 0; i < n; ++i) a[i] = b[i] + 3.0f * c[i];
}

struct FreeArray {
  void operator()(float* array) const { std::free(array); }
};
using Array = std::unique_ptr<float, FreeArray>;

Array allocate(std::int64_t elements) {
  Array array(static_cast<float*>(std::aligned_alloc(64, static_cast<std::size_t>(elements) * sizeof(float))));
  if (!array) throw std::bad_alloc();
  return array;
}

PeakKernel peak_kernel(Precision precision) {
  if (precision == Precision::fp32) return fp32_peak_kernel();
  if (precision == Precision::bf16) return bf16_peak_kernel();
  return precision == Precision::int8 ? int8_peak_kernel() : PeakKernel{};
}

}  // namespace

std::optional<double> peak_burst(Precision precision, int threads, double seconds) {
  const PeakKernel kernel = peak_kernel(precision);
  return kernel.run ? std::optional(compute_burst(kernel, threads, seconds)) : std::nullopt;
}

double triad_burst(int threads, std::int64_t array_bytes, int passes) {
  constexpr std::int64_t kGrain = 1024;  // whole pages per thread
  const std::int64_t part = std::max<std::int64_t>(array_bytes / 4 / std::max(threads, 1) / kGrain, 1) * kGrain;
  const Array a = allocate(part * threads), b = allocate(part * threads), c = allocate(part * threads);
  std::vector<double> pass_seconds(static_cast<std::size_t>(2 * passes));
  on_all_cores(threads, [&](int thread, std::barrier<>& barrier) {
    float *x = a.get() + thread * part, *y = b.get() + thread * part, *z = c.get() + thread * part;
    touch(x, y, z, part);  // first touch: the pages come from this core's memory
    for (std::size_t pass = 0; pass < pass_seconds.size(); ++pass) {
      barrier.arrive_and_wait();
      const double begin = steady_seconds();
      triad(x, y, z, part, pass % 2 == 1);
      barrier.arrive_and_wait();
      if (thread == 0) pass_seconds[pass] = steady_seconds() - begin;
    }
  });
  const double best = *std::min_element(pass_seconds.begin(), pass_seconds.end());
  return 3.0 * 4 * static_cast<double>(part) * threads / best;
}

MeasuredCpu measure_cpu(int threads) {
  constexpr double kBurstSeconds = 0.05;
  constexpr int kBursts = 5, kPasses = 6;
  MeasuredCpu cpu;
  cpu.peak_threads = threads;
  for (const Precision precision : kCpuPeaks)
    if (const char* instruction = peak_kernel(precision).instruction) cpu.peak_instruction[name(precision)] = instruction;
  cpu.peak_foreign_cpu_cores = foreign_cores_during([&] {
    for (int burst = 0; burst < kBursts; ++burst)
      for (const Precision precision : kCpuPeaks)
        if (const auto peak = peak_burst(precision, threads, kBurstSeconds))
          cpu.peak_bursts_flops_per_second[name(precision)].push_back(*peak);
  });
  for (const auto& [precision, bursts] : cpu.peak_bursts_flops_per_second)
    cpu.peak_flops_per_second[precision] = *std::ranges::max_element(bursts);
  // Four times the L3 does not fit into it; the cap bounds the time of the first touch, and a small machine gives only a little
  // memory.
  const std::int64_t wanted = std::clamp<std::int64_t>(4 * cache_sizes().l3_bytes.value_or(32 << 20), 64 << 20, 256 << 20);
  const std::int64_t array_bytes = std::min(wanted, available_memory_bytes() / 8);
  if (array_bytes >= wanted / 4) cpu.memory_bandwidth_bytes_per_second = triad_burst(threads, array_bytes, kPasses);
  return cpu;
}

}  // namespace epochbench
