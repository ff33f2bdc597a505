#include "bench/interleaved_calls.h"

#include <chrono>
#include <cstddef>
#include <thread>

#include <time.h>

namespace epochbench::bench {
namespace {

constexpr std::int64_t kMaxCalls = 1'000'000;

void pause(const CallSettings& settings) {
  if (settings.sleep)
    settings.sleep(settings.pause_seconds);
  else
    std::this_thread::sleep_for(std::chrono::duration<double>(settings.pause_seconds));
}

}  // namespace

double process_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

CallTimes interleave_calls(const std::vector<std::function<void()>>& calls, const std::vector<std::function<double()>>& bursts,
                           const CallSettings& settings) {
  const auto timed = [&](const std::function<void()>& call, std::int64_t count) {
    const double begin = settings.clock();
    for (std::int64_t i = 0; i < count; ++i) call();
    return settings.clock() - begin;
  };
  CallTimes times{std::vector<std::vector<double>>(calls.size()), std::vector<std::vector<double>>(calls.size()),
                  std::vector<std::vector<double>>(bursts.size())};
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i]();
    const std::int64_t count = calls_per_turn(settings.turn_seconds, timed(calls[i], 1), kMaxCalls);
    turns.emplace_back([&, i, count](bool) {
      pause(settings);
      if (count > 1) calls[i]();
      const double cpu_begin = settings.cpu_clock();
      const double seconds = timed(calls[i], count);
      times.busy_cores[i].push_back((settings.cpu_clock() - cpu_begin) / seconds);
      times.call_seconds[i].push_back(seconds / static_cast<double>(count));
    });
  }
  for (std::size_t i = 0; i < bursts.size(); ++i)
    turns.emplace_back([&, i](bool) {
      pause(settings);
      times.bursts[i].push_back(bursts[i]());
    });
  take_rounds(settings.order, turns, {0, [&](std::int64_t rounds) { return rounds >= settings.rounds; }});
  return times;
}

}  // namespace epochbench::bench
