#include "src/communication/bus_rate.h"

#include <algorithm>
#include <vector>

#include "src/base/clock.h"
#include "src/base/statistics.h"

namespace epochbench {
namespace {

constexpr std::size_t kMinPieces = 9;

double slowest(Communicator& ranks, double own) {
  std::vector<double> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(std::as_writable_bytes(std::span(all)), std::as_bytes(std::span(&own, 1)));
  return *std::ranges::max_element(all);
}

}  // namespace

double bus_rate(Communicator& ranks, const std::function<void()>& exchange, double min_seconds) {
  exchange();  // memory, and connections
  std::vector<double> rates;
  double spent = 0;
  while (spent < min_seconds || rates.size() < kMinPieces) {
    ranks.barrier();
    const double bytes = ranks.traffic().bus_bytes, begin = steady_seconds();
    exchange();
    const double sent = ranks.traffic().bus_bytes - bytes, seconds = slowest(ranks, steady_seconds() - begin);
    rates.push_back(sent / seconds);
    spent += seconds;  // the same on every rank
  }
  return median(rates);
}

double all_reduce_rate(Communicator& ranks, std::size_t elements, double min_seconds) {
  std::vector<float> zeros(std::max<std::size_t>(elements, 1));  // which stay zeros, however often they are added
  return bus_rate(
      ranks, [&] { ranks.all_reduce(zeros); }, min_seconds);
}

}  // namespace epochbench
