// epochbench_bench [--shapes=FILE,...] [--isa=avx512|avx2|portable] [--precision=fp32|bf16|int8] [--threads=N]
//                  [Google Benchmark's own flags]
// epochbench_bench --peers=[onednn,onednn-plain,openblas,mkl] [--scaling] [--spin] [--precision=fp32|bf16] [--rounds=N]
//                  [--processes=N] [--seed=N] [--pages=small] [--shapes=...] [--isa=...] [--threads=N]
//
// Microbenchmarks of the CPU kernels over files of problems (bench/shapes/). Without flags: resnet20.txt, the best instruction
// set, one thread. The second form interleaves products and convolutions with other libraries' (library_comparison.h), or with
// themselves on one thread (--scaling). --processes: the number of processes that measure, one after the other; from 5 on,
// ratios have an interval instead of a range. --spin: idle threads stay awake for some milliseconds, as in a run, which matters
// for products of less than one. --pages=small: no huge pages, as in most programs' heaps. int8: forward products only, without
// peers. Exits with 2 for a flag, file or problem that it does not understand.
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <sys/prctl.h>

#include "bench/kernel_bench.h"
#include "bench/library_comparison.h"
#include "epochbench/precision.h"
#include "src/base/text.h"

namespace epochbench::bench {
namespace {

constexpr const char* kInt8 = "int8";

struct Arguments {
  std::string shapes = EPOCHBENCH_SHAPES "/resnet20.txt";
  std::string isa;  // empty: the best
  std::string precision = name(Precision::fp32);
  std::string peers;
  bool compare = false;
  bool scaling = false;
  bool spin = false;
  int threads = 1;
  int rounds = 10;
  int seed = 0;
  int processes = 1;
  int process = 0;                  // which of them this is
  bool lines = false;               // it is one of them
  std::vector<std::string> others;  // flags that are not ours
};

template <typename Real>
const cpu::Kernels<Real>& chosen_kernels(const std::string& name) {
  if (name.empty()) return *cpu::best_kernels<Real>();
  for (cpu::Isa isa : cpu::kIsas<Real>)
    if (cpu::available<cpu::Kernels<Real>>(isa) && cpu::kernels<Real>(isa).isa == name) return cpu::kernels<Real>(isa);
  throw std::runtime_error("--isa=" + name + " is unknown or not available here; portable always is");
}

Arguments parse(int argc, char** argv) {
  constexpr int kMax = 1024;
  Arguments arguments;
  CLI::App app;
  app.set_help_flag();  // Google Benchmark has one
  app.allow_extras();
  app.option_defaults()->take_last();  // a process of a comparison gets our flags, and then its own
  app.add_option("--shapes", arguments.shapes);
  app.add_option("--isa", arguments.isa);
  app.add_option("--threads", arguments.threads)->check(CLI::Range(1, kMax));
  const auto* peers = app.add_option("--peers", arguments.peers)->expected(0, 1);
  app.add_flag("--scaling", arguments.scaling);
  app.add_flag("--spin", arguments.spin);
  app.add_option("--precision", arguments.precision)
      ->check(CLI::IsMember({name(Precision::fp32), name(Precision::bf16), kInt8}));
  app.add_option("--rounds", arguments.rounds)->check(CLI::Range(1, kMax));
  app.add_option("--processes", arguments.processes)->check(CLI::Range(1, kMax));
  app.add_option("--process", arguments.process)->check(CLI::Range(0, kMax));
  app.add_flag("--lines", arguments.lines);
  const auto* pages = app.add_option("--pages")->check(CLI::IsMember({"small"}));
  app.add_option("--seed", arguments.seed)->check(CLI::Range(0, kMax));
  app.parse(argc, argv);
  arguments.compare = *peers || arguments.scaling || arguments.spin;
  arguments.others = app.remaining();
  if (*pages && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) throw std::runtime_error("--pages=small: the system refuses it");
  return arguments;
}

template <typename Real>
void register_all(const Arguments& arguments) {
  const Options<Real> options{&chosen_kernels<Real>(arguments.isa), arguments.threads};
  for (const std::string& path : split(arguments.shapes))
    for (const Problem& problem : read_problems(path))
      if (!register_products(problem, options) && !register_attention(problem, options) && !register_lstm(problem, options) &&
          !register_windows(problem, options) && !register_memory_bound(problem, options))
        throw std::runtime_error(problem.where + ": '" + problem.operation +
                                 "' is not one of gemm, conv2d, attention, lstm, depthwise, average_pool, max_pool, " +
                                 joined(memory_bound_operations()));
}

const cpu::Int8Kernels& chosen_int8_kernels(const std::string& name) {
  if (const cpu::Int8Kernels* best = cpu::best_int8_kernels(); name.empty() && best) return *best;
  for (cpu::Isa isa : cpu::kInt8Isas)
    if (cpu::available<cpu::Int8Kernels>(isa) && cpu::int8_kernels(isa).isa == name) return cpu::int8_kernels(isa);
  if (name.empty()) throw std::runtime_error("this CPU has no instruction that multiplies int8");
  throw std::runtime_error("--isa=" + name + " is unknown or not available here for int8");
}

void register_all_int8(const Arguments& arguments) {
  for (const std::string& path : split(arguments.shapes))
    for (const Problem& problem : read_problems(path))
      register_int8(problem, chosen_int8_kernels(arguments.isa), arguments.threads);
}

void compare_all(const Arguments& arguments, const std::vector<std::string>& flags) {
  ComparisonSettings options;
  options.threads = arguments.threads;
  options.scaling = arguments.scaling;
  options.processes = arguments.processes;
  options.lines = arguments.lines;
  options.flags = flags;
  options.calls.rounds = arguments.rounds;
  options.calls.order.seed = static_cast<std::uint64_t>(arguments.seed);
  options.calls.order.group = static_cast<std::uint32_t>(arguments.process);
  for (const std::string& name : split(arguments.peers)) {
    if (name.empty()) continue;
    options.peers.push_back({name, load_peer(name, arguments.threads)});
    if (!arguments.lines) std::cout << "# " << name << ": " << options.peers.back().peer->version() << '\n';
  }
  std::cout.flush();
  for (const std::string& path : split(arguments.shapes)) {
    if (arguments.precision == name(Precision::fp32))
      compare_libraries(path, chosen_kernels<float>(arguments.isa), options);
    else
      compare_libraries(path, chosen_kernels<Bf16>(arguments.isa), options);
  }
}

}  // namespace
}  // namespace epochbench::bench

int main(int argc, char** argv) try {
  namespace bench = epochbench::bench;
  bench::Arguments arguments = bench::parse(argc, argv);
  const bool int8 = arguments.precision == bench::kInt8;
  if (arguments.compare) {
    if (int8) throw std::runtime_error("--precision=int8 does not go with --peers=, --scaling and --spin");
    if (!arguments.others.empty())
      throw std::runtime_error(arguments.others.front() + " does not go with --peers=, --scaling and --spin");
    bench::choose_waiting(argv, arguments.spin);
    bench::compare_all(arguments, {argv + 1, argv + argc});
    return 0;
  }
  if (int8)
    bench::register_all_int8(arguments);
  else if (arguments.precision == epochbench::name(epochbench::Precision::fp32))
    bench::register_all<float>(arguments);
  else
    bench::register_all<epochbench::Bf16>(arguments);
  std::vector<char*> others{argv[0]};
  for (std::string& flag : arguments.others) others.push_back(flag.data());
  int count = static_cast<int>(others.size());
  benchmark::Initialize(&count, others.data());
  if (benchmark::ReportUnrecognizedArguments(count, others.data())) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
} catch (const std::exception& error) {
  std::cerr << "epochbench_bench: " << error.what() << '\n';
  return 2;
}
