// epochbench_plans [--shapes=FILE] [--threads=2,4,..] [--kernels=avx512|avx512-large-l2|amx]
//
// For each product of a file of problems and each number of threads: the percentage of the threads' time in which they multiply
// what the product needs, if memory is fast enough and waiting costs nothing (plan_share.h). The rest is lost to parts of
// unequal size, to partial vectors and tiles, and to packing. Exits with 2 for arguments that it does not understand.
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/plan_share.h"
#include "bench/problem.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::bench {
namespace {

using Share = std::function<PlanShare(const GemmShape&, int threads)>;

const std::map<std::string, Share>& kernels() {
  static const std::map<std::string, Share> all{
      {"avx512", [](const GemmShape& shape, int threads) { return avx512_share(shape, threads, false); }},
      {"avx512-large-l2", [](const GemmShape& shape, int threads) { return avx512_share(shape, threads, true); }},
      {"amx", amx_share}};
  return all;
}

GemmShape shape_of(const Problem& problem) {
  if (problem.operation != "gemm") throw std::runtime_error(problem.where + ": only gemm has such a plan");
  return {size_of(problem, "m"), size_of(problem, "n"), size_of(problem, "k"), size_of(problem, "transpose_a", 0, 0) != 0,
          size_of(problem, "transpose_b", 0, 0) != 0};
}

void print_table(const std::string& path, const std::vector<int>& threads, const Share& share_of) {
  std::printf("| m x n x k |");
  for (const int count : threads) std::printf(" %d |", count);
  std::printf(" grid and barriers with %d |\n|---|", threads.back());
  for (std::size_t i = 0; i <= threads.size(); ++i) std::printf("---|");
  std::printf("\n");
  std::vector<double> logs(threads.size());
  const std::vector<Problem> problems = read_problems(path);
  for (const Problem& problem : problems) {
    const GemmShape shape = shape_of(problem);
    std::printf("| %lld x %lld x %lld |", static_cast<long long>(shape.m), static_cast<long long>(shape.n),
                static_cast<long long>(shape.k));
    PlanShare share;
    for (std::size_t i = 0; i < threads.size(); ++i) {
      share = share_of(shape, threads[i]);
      const double part = efficiency(share, shape, threads[i]);
      logs[i] += std::log(part);
      std::printf(" %.0f |", 100 * part);
    }
    std::printf(" %d x %d, %lld |\n", share.grid_m, share.grid_n, static_cast<long long>(share.barriers));
  }
  std::printf("| geometric mean |");
  for (const double sum : logs) std::printf(" %.0f |", 100 * std::exp(sum / static_cast<double>(problems.size())));
  std::printf(" |\n");
}

}  // namespace
}  // namespace epochbench::bench

int main(int argc, char** argv) try {
  namespace bench = epochbench::bench;
  std::string shapes = EPOCHBENCH_SHAPES "/gemm13.txt", kernels = "avx512";
  std::vector<int> threads{2, 4, 8, 16, 32, 64, 128};
  CLI::App app{"How evenly the kernels divide matrix products among threads, in percent of the threads' time"};
  app.add_option("--shapes", shapes, "file of problems");
  app.add_option("--threads", threads, "numbers of threads")->delimiter(',')->check(CLI::Range(1, 1024));
  app.add_option("--kernels", kernels, "avx512: floats, L2 of 1 MiB; avx512-large-l2: of 2 MiB; amx: bf16")
      ->check(CLI::IsMember(bench::kernels()));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& error) {
    return app.exit(error);
  }
  if (!epochbench::cpu::supported(epochbench::cpu::Isa::avx512))
    throw std::runtime_error("the plans are compiled for AVX-512, which this CPU lacks; run this on one that has it");
  bench::print_table(shapes, threads, bench::kernels().at(kernels));
  return 0;
} catch (const std::exception& error) {
  std::cerr << "epochbench_plans: " << error.what() << '\n';
  return 2;
}
