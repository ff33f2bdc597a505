// epochbench_bench [--shapes=FILE,...] [--isa=avx512|avx2|portable] [--threads=N] [Google Benchmark's own flags]
// epochbench_bench --peers=[onednn,onednn-plain,openblas,mkl] [--scaling] [--spin] [--precision=fp32|bf16] [--rounds=N]
//                  [--processes=N] [--seed=N] [--pages=small] [--shapes=...] [--isa=...] [--threads=N]
//
// Microbenchmarks of the CPU kernels over files of problems (bench/shapes/). Without flags: resnet20.txt, the best
// instruction set, one thread. The second form interleaves products and convolutions with other libraries'
// (library_comparison.h), or with themselves on one thread (--scaling). --processes: so many processes measure one after the
// other; from 5 on, ratios have an interval instead of a range. --spin: idle threads stay awake for some milliseconds, as in a
// run, which is what counts for products of less than one. --pages=small: no huge pages, as memory of most programs' heaps.
// Exits with 2 for a flag, file or problem that it does not understand.
#include <algorithm>
#include <charconv>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <sys/prctl.h>

#include "bench/kernel_bench.h"
#include "bench/library_comparison.h"
#include "src/base/text.h"

namespace epochbench::bench {
namespace {

struct Arguments {
  std::string shapes = EPOCHBENCH_SHAPES "/resnet20.txt";
  std::string isa;  // empty: the best
  std::string precision = "fp32";
  std::string peers;
  bool compare = false;
  bool scaling = false;
  bool spin = false;
  int threads = 1;
  int rounds = 10;
  int seed = 0;
  int processes = 1;
  int process = 0;     // which of them this is
  bool lines = false;  // it is one of them
};

template <typename Real>
const cpu::Kernels<Real>& kernels_of(const std::string& name) {
  if (const cpu::Kernels<Real>* best = cpu::best_kernels<Real>(); name.empty() && best) return *best;
  for (cpu::Isa isa : cpu::kIsas<Real>)
    if (cpu::available(isa) && cpu::kernels<Real>(isa).isa == name) return cpu::kernels<Real>(isa);
  if (name.empty()) throw std::runtime_error("this CPU has no instruction that multiplies bf16");
  throw std::runtime_error("--isa=" + name + " is unknown or not available here; portable always is, for fp32");
}

int parse_number(std::string_view flag, std::string_view text, int minimum) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < minimum || number > 1024)
    throw std::runtime_error(std::string(flag) + std::string(text) + " must be a number from " + std::to_string(minimum) +
                             " to 1024");
  return number;
}

// Takes our own flags out of argv.
Arguments parse(int& argc, char** argv) {
  Arguments arguments;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto value = [&](std::string_view flag) { return word.substr(flag.size()); };
    if (word.starts_with("--shapes=")) {
      arguments.shapes = value("--shapes=");
    } else if (word.starts_with("--isa=")) {
      arguments.isa = value("--isa=");
    } else if (word.starts_with("--threads=")) {
      arguments.threads = parse_number("--threads=", value("--threads="), 1);
    } else if (word.starts_with("--peers=")) {
      arguments.compare = true;
      arguments.peers = value("--peers=");
    } else if (word == "--scaling") {
      arguments.compare = arguments.scaling = true;
    } else if (word == "--spin") {
      arguments.compare = arguments.spin = true;
    } else if (word.starts_with("--precision=")) {
      arguments.precision = value("--precision=");
    } else if (word.starts_with("--rounds=")) {
      arguments.rounds = parse_number("--rounds=", value("--rounds="), 1);
    } else if (word.starts_with("--processes=")) {
      arguments.processes = parse_number("--processes=", value("--processes="), 1);
    } else if (word.starts_with("--process=")) {
      arguments.process = parse_number("--process=", value("--process="), 0);
    } else if (word == "--lines") {
      arguments.lines = true;
    } else if (word == "--pages=small") {
      if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) throw std::runtime_error("--pages=small: the system refuses it");
    } else if (word.starts_with("--seed=")) {
      arguments.seed = parse_number("--seed=", value("--seed="), 0);
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  return arguments;
}

void register_all(const Arguments& arguments) {
  if (arguments.precision != "fp32")
    throw std::runtime_error("--precision=" + arguments.precision + " goes with --peers= alone");
  const Options options{&kernels_of<float>(arguments.isa), arguments.threads};
  for (const std::string& path : split(arguments.shapes))
    for (const Problem& problem : read_problems(path))
      if (!register_gemm(problem, options) && !register_conv2d(problem, options) && !register_attention(problem, options) &&
          !register_elementwise(problem, options) && !register_rows(problem, options))
        throw std::runtime_error(problem.where + ": '" + problem.operation +
                                 "' is not one of gemm, conv2d, attention, relu, relu_grad, " +
                                 "add, sgd, adamw, bias_add, bias_add_grad, batch_norm, batch_norm_grad");
}

void compare_all(const Arguments& arguments, const std::vector<std::string>& words) {
  ComparisonSettings options;
  options.threads = arguments.threads;
  options.scaling = arguments.scaling;
  options.processes = arguments.processes;
  options.lines = arguments.lines;
  options.words = words;
  options.calls.rounds = arguments.rounds;
  options.calls.order.seed = static_cast<std::uint64_t>(arguments.seed);
  options.calls.order.group = static_cast<std::uint32_t>(arguments.process);
  if (arguments.precision != "fp32" && arguments.precision != "bf16")
    throw std::runtime_error("--precision=" + arguments.precision + " is not one of fp32, bf16");
  for (const std::string& name : split(arguments.peers)) {
    if (name.empty()) continue;
    options.peers.push_back({name, load_peer(name, arguments.threads)});
    if (!arguments.lines) std::cout << "# " << name << ": " << options.peers.back().peer->version() << '\n';
  }
  std::cout.flush();
  for (const std::string& path : split(arguments.shapes)) {
    if (arguments.precision == "fp32")
      compare_libraries(path, kernels_of<float>(arguments.isa), options);
    else
      compare_libraries(path, kernels_of<Bf16>(arguments.isa), options);
  }
}

}  // namespace
}  // namespace epochbench::bench

int main(int argc, char** argv) {
  try {
    std::vector<char*> words(argv, argv + argc + 1);
    const std::vector<std::string> flags(argv + 1, argv + argc);
    const epochbench::bench::Arguments arguments = epochbench::bench::parse(argc, argv);
    if (arguments.compare) {
      if (argc > 1) throw std::runtime_error(std::string(argv[1]) + " does not go with --peers=, --scaling and --spin");
      epochbench::bench::choose_waiting(words.data(), arguments.spin);
      epochbench::bench::compare_all(arguments, flags);
      return 0;
    }
    epochbench::bench::register_all(arguments);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
  } catch (const std::exception& error) {
    std::cerr << "epochbench_bench: " << error.what() << '\n';
    return 2;
  }
  return 0;
}
