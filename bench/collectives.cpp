// The exchanges of epochbench-mpi's ranks by themselves: bus bandwidth by size, the peak to compare that of a step with.
//
//   mpirun --bind-to none -n 2 build/bench/epochbench_collectives [MIB...]
//
// Each size is exchanged for at least half a second, as src/communication/bus_rate.h says. Bus bytes as in nccl-tests: 2 n
// (ranks - 1) / ranks for a sum of n bytes.
#include <algorithm>
#include <cstdio>
#include <span>
#include <vector>

#include "src/base/numbers.h"
#include "src/communication/bus_rate.h"
#include "src/communication/mpi_communicator.h"

namespace epochbench {
namespace {

constexpr double kPatienceSeconds = 60, kMinSeconds = 0.5;

void measure(Communicator& ranks, double mib) {
  std::vector<float> zeros(std::max<std::size_t>(1, static_cast<std::size_t>(mib * (1 << 20) / sizeof(float))));
  const std::vector<std::span<float>> pieces{zeros};
  const double sums = all_reduce_rate(ranks, zeros.size(), kMinSeconds);
  const double shares = bus_rate(
      ranks, [&] { ranks.reduce_scatter(pieces); }, kMinSeconds);
  const double gathered = bus_rate(
      ranks, [&] { ranks.all_gather(pieces); }, kMinSeconds);
  if (ranks.rank() == 0)
    std::printf("%10s  %10s  %14s  %10s\n", (short_number(mib) + " MiB").c_str(), format_si(sums, "B/s").c_str(),
                format_si(shares, "B/s").c_str(), format_si(gathered, "B/s").c_str());
}

int run(std::vector<double> sizes) {
  if (sizes.empty()) sizes = {0.0625, 0.25, 1, 4, 16, 64, 256};
  MpiCommunicator ranks(kPatienceSeconds);
  if (ranks.rank() == 0)
    std::printf("%d ranks\n%10s  %10s  %14s  %10s\n", ranks.size(), "size", "all_reduce", "reduce_scatter", "all_gather");
  for (const double mib : sizes) measure(ranks, mib);
  return 0;
}

}  // namespace
}  // namespace epochbench

int main(int argc, char** argv) try {
  std::vector<double> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(epochbench::parse_real(argv[i], {0, 1 << 14, false, true}));
  return epochbench::run(sizes);
} catch (const std::exception& error) {
  std::fprintf(stderr, "epochbench_collectives: %s\n", error.what());
  return 2;
}
