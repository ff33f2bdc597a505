// epochbench-mpi: one rank of a case whose batches several processes share. `epochbench run --ranks` starts it through a
// launcher, with the number of ranks, the threads of each, their pinning, and the seconds that a rank may keep the others
// waiting.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <sys/prctl.h>
#include <unistd.h>

#include "epochbench/gpu.h"
#include "src/base/numbers.h"
#include "src/base/process.h"
#include "src/communication/bus_rate.h"
#include "src/communication/mpi_communicator.h"
#include "src/machine/cgroup.h"
#include "src/machine/topology.h"
#include "src/worker/case_process.h"
#include "src/worker/case_server.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

constexpr const char* kPlaced = "EPOCHBENCH_RANK_PLACED";  // set once the environment is that of the rank
constexpr double kSumRateSeconds = 0.1;                    // to time sums alone, after the steps

struct RankCall {
  int ranks = 1, threads = 1;
  Pinning pin = Pinning::automatic;
  double patience_seconds = 0;
};

RankCall call_of(int argc, char** argv) {
  if (argc != 5) throw std::invalid_argument("ranks are started by `epochbench run --ranks`");
  return {whole<int>(1, 1 << 20)(argv[1]), whole<int>(1, 1 << 20)(argv[2]), parse_choice<Pinning>(argv[3]),
          parse_real(argv[4], {0, 1e9, false, true})};
}

// The number under the names that Open MPI, MPICH and Slurm give it; empty if the launcher sets none of them.
std::optional<int> number_of(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* text = std::getenv(name)) return std::atoi(text);
  return std::nullopt;
}

// How many ranks run on this machine, or the number of all ranks if the launcher does not say.
int ranks_here(int ranks) {
  if (const auto count = number_of({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})) return *count;
  if (const char* numbers = std::getenv("SLURM_GTIDS"))  // the ranks on this machine, separated by commas
    return 1 + static_cast<int>(std::ranges::count(std::string_view(numbers), ','));
  return ranks;
}

// OpenMP reads its environment before main, so the program starts again with that of its rank, which has its own CPUs.
void place(const RankCall& call, char** argv) {
  if (std::getenv(kPlaced) != nullptr) return;
  const auto rank = number_of({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"});
  const std::vector<LogicalCpu> cpus = topology(affinity_cpus());
  const auto quota = cgroup_cpu_quota();
  const bool shared = quota && *quota < static_cast<double>(cpus.size());
  const auto own = rank ? cpus_of_rank(cpus, call.threads, *rank, ranks_here(call.ranks)) : std::vector<LogicalCpu>();
  EnvironmentSettings settings =
      openmp_settings(call.threads, own, shared ? std::optional(0.0) : std::nullopt, possible(call.pin));
  settings[kPlaced] = "1";
  std::vector<std::string> environment = environment_with(settings);
  execve(own_program().c_str(), argv, pointers_to(environment).data());
  throw std::runtime_error("cannot begin again with the environment of a rank");
}

int serve(const RankCall& call) {
  MpiCommunicator communicator(call.patience_seconds);
  const auto prepare = [&](CaseSpec spec) {
    if (communicator.rank() > 0) spec.save.clear();  // all ranks have the same weights
    return prepare_case(spec, &communicator);
  };
  const ServedRanks ranks{communicator, [&](const std::string& line) { communicator.send_line(line); },
                          [&] { return communicator.receive_line(); },
                          [&](std::size_t elements) { return all_reduce_rate(communicator, elements, kSumRateSeconds); }};
  const int code = serve_case(STDIN_FILENO, STDOUT_FILENO, {prepare, measure_gpu, ranks});
  if (code != 0) _exit(code);  // the parent is gone, and ranks may be as well
  return code;
}

}  // namespace
}  // namespace epochbench

int main(int argc, char** argv) try {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // no rank outlives its launcher
  const epochbench::RankCall call = epochbench::call_of(argc, argv);
  epochbench::place(call, argv);
  prctl(PR_SET_NAME, "epochbench-mpi");
  return epochbench::serve(call);
} catch (const std::exception& error) {
  std::fprintf(stderr, "epochbench-mpi: %s\n", error.what());
  return 2;
}
