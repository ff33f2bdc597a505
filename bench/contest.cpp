#include "bench/contest.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <thread>

#include <time.h>

#include "epochbench/philox.h"

namespace epochbench::bench {
namespace {

// Fisher and Yates, by Philox: the order of a round depends on seed and round alone.
void shuffle(std::vector<std::size_t>& order, std::uint64_t seed, int round) {
  for (std::size_t left = order.size(); left > 1; --left) {
    const PhiloxBlock block = philox(seed, {static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(round), 0, 0});
    std::swap(order[left - 1], order[static_cast<std::size_t>(uniform01(block[0]) * static_cast<double>(left))]);
  }
}

void pause(const ContestOptions& options) {
  if (options.sleep)
    options.sleep(options.calm_seconds);
  else
    std::this_thread::sleep_for(std::chrono::duration<double>(options.calm_seconds));
}

}  // namespace

double process_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Turns take_turns(const std::vector<std::function<void()>>& calls, const std::vector<std::function<double()>>& bursts,
                 const ContestOptions& options) {
  const auto timed = [&](const std::function<void()>& call, int count) {
    const double begin = options.clock();
    for (int i = 0; i < count; ++i) call();
    return options.clock() - begin;
  };

  std::vector<int> counts;
  for (const auto& call : calls) {
    call();
    const double seconds = timed(call, 1);
    counts.push_back(
        seconds >= options.turn_seconds ? 1 : static_cast<int>(std::ceil(options.turn_seconds / std::max(seconds, 1e-6))));
  }

  Turns turns;
  turns.call_seconds.resize(calls.size());
  turns.busy_cores.resize(calls.size());
  turns.bursts.resize(bursts.size());
  std::vector<std::size_t> order(calls.size() + bursts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int round = 0; round < options.rounds; ++round) {
    shuffle(order, options.seed, round);
    for (const std::size_t turn : order) {
      pause(options);
      if (turn >= calls.size()) {
        turns.bursts[turn - calls.size()].push_back(bursts[turn - calls.size()]());
        continue;
      }
      if (counts[turn] > 1) calls[turn]();
      const double cpu_begin = options.cpu_clock();
      const double seconds = timed(calls[turn], counts[turn]);
      turns.busy_cores[turn].push_back((options.cpu_clock() - cpu_begin) / seconds);
      turns.call_seconds[turn].push_back(seconds / counts[turn]);
    }
  }
  return turns;
}

}  // namespace epochbench::bench
