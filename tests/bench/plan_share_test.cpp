// How products are divided among many threads.
#include "bench/plan_share.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "bench/problem.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::bench {
namespace {

class PlanShares : public testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::supported(cpu::Isa::avx512)) GTEST_SKIP() << "the planning code is compiled for AVX-512";
  }
};

std::vector<GemmShape> products() {
  std::vector<GemmShape> shapes;
  for (const Problem& problem : read_problems(EPOCHBENCH_SHAPES "/gemm13.txt"))
    shapes.push_back({size_of(problem, "m"), size_of(problem, "n"), size_of(problem, "k")});
  return shapes;
}

double needed(const GemmShape& shape) {
  return static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
}

TEST_F(PlanShares, OneThreadMultipliesTheWholeProduct) {
  for (const GemmShape& shape : products())
    for (const bool large_l2 : {false, true}) {
      const GemmShape whole{shape.m, shape.n / 16 * 16, shape.k};  // whole vectors
      EXPECT_EQ(avx512_share(whole, 1, large_l2).multiplied, needed(whole));
    }
  EXPECT_EQ(amx_share({64, 96, 320}, 1).multiplied, needed({64, 96, 320}));  // whole tiles
}

TEST_F(PlanShares, TheBusiestThreadHasAtLeastItsPart) {
  for (const GemmShape& shape : products())
    for (int threads = 2; threads <= 128; ++threads)
      for (const PlanShare& share :
           {avx512_share(shape, threads, false), avx512_share(shape, threads, true), amx_share(shape, threads)}) {
        EXPECT_EQ(share.grid_m * share.grid_n, threads);
        EXPECT_GE(share.multiplied * 1.000001, needed(shape) / threads) << shape.m << " " << shape.n << " " << threads;
      }
}

// Products of floats, with each number of cores that servers have.
TEST_F(PlanShares, ManyThreadsMultiplyNineTenthsOfTheirTime) {
  for (const int threads : {2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128}) {
    double logs = 0;
    for (const GemmShape& shape : products()) {
      const double part = efficiency(avx512_share(shape, threads, false), shape, threads);
      EXPECT_GE(part, 0.80) << shape.m << " " << shape.n << " " << shape.k << " " << threads;
      EXPECT_LE(part, 1);
      logs += std::log(part);
    }
    EXPECT_GE(std::exp(logs / static_cast<double>(products().size())), 0.91) << threads;
  }
}

TEST_F(PlanShares, ThreadsWaitOnlyForRowsThatTheyShare) {
  EXPECT_EQ(avx512_share({64, 4096, 4096}, 2, false).barriers, 0);     // each packs the columns that it multiplies
  EXPECT_EQ(avx512_share({50176, 64, 256}, 2, false).barriers, 1);     // both pack one block
  EXPECT_EQ(amx_share({1024, 768, 768}, 2).barriers, 0);               // A is read in place
  EXPECT_EQ(amx_share({1024, 768, 768, true, false}, 2).barriers, 2);  // before it is read, and before it is overwritten
}

}  // namespace
}  // namespace epochbench::bench
