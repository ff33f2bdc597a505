// epochbench_bench [--shapes=FILE,...] [--isa=avx512|avx2|portable] [--threads=N] [Google Benchmark's own flags]
//
// Microbenchmarks of the CPU kernels over files of problems (bench/shapes/). Without flags: resnet20.txt, the best
// instruction set, one thread. Exits with 2 for a flag, file or problem that it does not understand.
#include <algorithm>
#include <charconv>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/kernel_bench.h"

namespace epochbench::bench {
namespace {

struct Arguments {
  std::string shapes = EPOCHBENCH_SHAPES "/resnet20.txt";
  const cpu::Kernels<float>* kernels = cpu::best_kernels<float>();
  int threads = 1;
};

const cpu::Kernels<float>* parse_isa(std::string_view text) {
  for (cpu::Isa isa : cpu::kIsas<float>) {
    if (!cpu::available(isa)) continue;
    if (cpu::kernels<float>(isa).isa == text) return &cpu::kernels<float>(isa);
  }
  throw std::runtime_error("--isa=" + std::string(text) + " is unknown or not available here; portable always is");
}

int parse_threads(std::string_view text) {
  int threads = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (error != std::errc() || end != text.data() + text.size() || threads < 1 || threads > 1024)
    throw std::runtime_error("--threads=" + std::string(text) + " must be a number from 1 to 1024");
  return threads;
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
      arguments.kernels = parse_isa(value("--isa="));
    } else if (word.starts_with("--threads=")) {
      arguments.threads = parse_threads(value("--threads="));
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  return arguments;
}

void register_all(const Arguments& arguments) {
  const Options options{arguments.kernels, arguments.threads};
  for (std::size_t begin = 0; begin <= arguments.shapes.size();) {
    const std::size_t end = std::min(arguments.shapes.find(',', begin), arguments.shapes.size());
    for (const Problem& problem : read_problems(arguments.shapes.substr(begin, end - begin)))
      if (!register_gemm(problem, options) && !register_conv2d(problem, options) && !register_attention(problem, options) &&
          !register_elementwise(problem, options) && !register_rows(problem, options))
        throw std::runtime_error(problem.where + ": '" + problem.operation +
                                 "' is not one of gemm, conv2d, attention, relu, relu_grad, " +
                                 "add, sgd, adamw, bias_add, bias_add_grad, batch_norm, batch_norm_grad");
    begin = end + 1;
  }
}

}  // namespace
}  // namespace epochbench::bench

int main(int argc, char** argv) {
  try {
    epochbench::bench::register_all(epochbench::bench::parse(argc, argv));
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
