// Times a kernel between bursts of the machine's peak.
#include "bench/kernel_bench.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "src/base/clock.h"
#include "src/machine/peaks.h"

namespace epochbench::bench {
namespace {

// Equally long, so that the scheduler treats them alike on a shared machine.
constexpr double kTurnSeconds = 0.03;  // of the kernel between two bursts
constexpr double kBurstSeconds = 0.03;
// Idle OpenMP threads spin for some milliseconds; a burst beside them would measure half a machine.
constexpr std::chrono::milliseconds kCalm{10};
constexpr std::int64_t kTriadBytes = 128 << 20;  // per array, larger than the caches
constexpr int kTriadPasses = 4;

}  // namespace

void register_timed(const std::string& name, const char* isa, int threads, const std::function<void(benchmark::State&)>& run) {
  const std::string full_name = std::string(isa) + "/" + std::to_string(threads) + "/" + name;
  benchmark::RegisterBenchmark(full_name.c_str(), run)->UseManualTime();
}

void time_beside_peak(benchmark::State& state, Precision precision, int threads, double flops, double bytes,
                      const std::function<void()>& call) {
  const auto burst = [=](double seconds) { return peak_burst(precision, threads, seconds).value(); };
  time_beside_peak(state, burst, threads, flops, bytes, call);
}

void time_beside_peak(benchmark::State& state, const Burst& burst, int threads, double flops, double bytes,
                      const std::function<void()>& call) {
  const bool memory_bound = flops <= 0 && bytes > 0;
  double seconds = 0, turn = kTurnSeconds, calls = 0, peaks = 0, bursts = 0;
  double bandwidth = memory_bound ? triad_burst(threads, kTriadBytes, kTriadPasses) : 0;
  std::this_thread::sleep_for(kCalm);
  for (auto _ : state) {
    if (turn >= kTurnSeconds) {
      turn = 0;
      if (flops > 0) {
        std::this_thread::sleep_for(kCalm);
        peaks += burst(kBurstSeconds);
        bursts += 1;
      }
      call();  // brings operands and threads back
    }
    const double begin = steady_seconds();
    call();
    const double lasted = steady_seconds() - begin;
    state.SetIterationTime(lasted);
    seconds += lasted;
    turn += lasted;
    calls += 1;
  }
  if (flops > 0) {
    state.counters["FLOP/s"] = flops * calls / seconds;
    state.counters["peak_fraction"] = flops * calls / seconds / (peaks / bursts);
  }
  if (bytes > 0) state.counters["bytes/s"] = bytes * calls / seconds;
  if (memory_bound) {
    std::this_thread::sleep_for(kCalm);
    bandwidth = std::max(bandwidth, triad_burst(threads, kTriadBytes, kTriadPasses));
    state.counters["bandwidth_fraction"] = bytes * calls / seconds / bandwidth;
  }
}

}  // namespace epochbench::bench
