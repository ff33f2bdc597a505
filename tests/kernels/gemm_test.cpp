// Matrix products for every instruction set of this CPU, against the reference.
#include "kernels/cpu/kernels.h"
#include "tests/support/kernel_test.h"
#include "tests/support/products.h"

namespace epochbench {
namespace {

struct Case {
  GemmShape shape;
  bool bias = false, relu = false;
  int threads = 1;
};

std::string describe(const Case& test) {
  const GemmShape& s = test.shape;
  return "gemm m=" + std::to_string(s.m) + " n=" + std::to_string(s.n) + " k=" + std::to_string(s.k) +
         (s.transpose_a ? " transpose_a" : "") + (s.transpose_b ? " transpose_b" : "") + (test.bias ? " bias" : "") +
         (test.relu ? " relu" : "") + " threads=" + std::to_string(test.threads);
}

// Runs the kernel with outputs and workspace full of NaN and checks that it writes nothing else. `pack`: packs b before, unless
// the kernel reads it in place.
template <typename Real>
GuardedBuffer<Real> run(const cpu::Kernels<Real>& kernels, const Case& test, const GuardedBuffer<Real>& a,
                        const GuardedBuffer<Real>& b, const GuardedBuffer<Real>& bias, bool pack = false) {
  GuardedBuffer<Real> c(test.shape.m * test.shape.n);
  GemmShape shape = test.shape;
  const std::size_t packed_bytes = pack ? kernels.gemm_packed_bytes(shape, test.threads) : 0;
  GuardedBuffer<Real> packed(static_cast<std::int64_t>(packed_bytes / sizeof(Real)));
  if (packed_bytes > 0) {
    kernels.pack_gemm(packed.data(), b.data(), shape, test.threads);
    shape.packed_b = true;
  }
  const std::size_t bytes = kernels.gemm_workspace_bytes(shape, test.threads);
  GuardedBuffer<float> workspace(static_cast<std::int64_t>(bytes / sizeof(float)));
  kernels.gemm(c.data(), a.data(), shape.packed_b ? packed.data() : b.data(), shape,
               {test.bias ? bias.data() : nullptr, test.relu}, workspace.data(), test.threads);
  EXPECT_TRUE(c.guards_intact());
  EXPECT_TRUE(packed.guards_intact());
  EXPECT_TRUE(workspace.guards_intact());
  return c;
}

template <typename Real>
void check_of(const Case& test) {
  const GemmShape& s = test.shape;
  const GuardedBuffer<Real> a = random_reals<Real>(s.m * s.k, 1), b = random_reals<Real>(s.k * s.n, 2),
                            bias = random_reals<Real>(s.n, 3);
  const GuardedBuffer<float> wide_bias = floats(bias);
  GuardedBuffer<float> expected(s.m * s.n);
  reference::gemm(expected.data(), floats(a).data(), floats(b).data(), s, {test.bias ? wide_bias.data() : nullptr, test.relu});
  const test::Tolerance tolerance = rounded<Real>(test::product_tolerance(s.k + 1));
  test::for_each_isa_of<Real>(describe(test), [&](const cpu::Kernels<Real>& kernels) {
    expect_close(floats(run(kernels, test, a, b, bias)), expected, tolerance);
    expect_close(floats(run(kernels, test, a, b, bias, true)), expected, tolerance);
  });
}

void check(const Case& test) {
  check_of<float>(test);
  check_of<Bf16>(test);
}

void check_transposes(Case test) {
  for (bool transpose_a : {false, true})
    for (bool transpose_b : {false, true}) {
      test.shape.transpose_a = transpose_a;
      test.shape.transpose_b = transpose_b;
      check(test);
    }
}

// Around the edges of tiles: 4, 8 and 16 lanes; 5, 6, 10, 12, 14 and 16 rows.
TEST(Gemm, SmallAndOddSizesMatchReference) {
  for (std::int64_t m : {1, 2, 5, 7, 13, 15, 17, 29})
    for (std::int64_t n : {1, 3, 4, 9, 16, 17, 31, 33, 47, 65})
      for (std::int64_t k : {1, 2, 15, 33}) check_transposes({{m, n, k}});
}

TEST(Gemm, BlockBoundariesMatchReference) {
  for (std::int64_t k : {383, 384, 385, 767, 769, 1537}) check_transposes({{15, 40, k}});
  for (std::int64_t m : {223, 225, 449}) check_transposes({{m, 100, 20}});
  for (std::int64_t n : {63, 65, 127, 129, 255, 257}) check_transposes({{30, n, 20}});
  for (std::int64_t n : {2047, 2049, 4100}) check_transposes({{9, n, 400}});
}

// Blocks of AMX tiles: several along columns and k, with few rows and many; and packed A in several blocks of rows.
TEST(Gemm, BlocksOfTilesMatchReference) {
  check_of<Bf16>({{33, 700, 1300}});
  check_of<Bf16>({{40, 290, 2433, true, true}, true, true});
  check_of<Bf16>({{260, 270, 2400}});
  check_of<Bf16>({{520, 3, 65600, true, false}});
}

// Row strides that are a large power of two, which the kernel handles separately.
TEST(Gemm, CacheHostileStridesMatchReference) {
  check_transposes({{33, 20, 1024}});
  check_transposes({{64, 16, 512}});
  check_transposes({{65, 16, 1088}});
}

TEST(Gemm, EpilogueMatchesReference) {
  for (std::int64_t n : {1, 10, 32, 50, 130})
    for (std::int64_t k : {3, 300})
      for (bool relu : {false, true}) check({{21, n, k, false, true}, true, relu});
  check({{30, 70, 600}, false, true});
}

// Large enough for a team, in shapes that it divides by rows, by columns, and by neither.
TEST(Gemm, EveryTeamMatchesReference) {
  for (int threads : {1, 2, 3, 4, 5, 7}) {
    check_transposes({{130, 110, 70}, true, true, threads});
    check_transposes({{2, 3000, 300}, false, false, threads});
    check_transposes({{3000, 5, 300}, false, false, threads});
    check_transposes({{40, 40, 1000}, true, false, threads});
  }
}

TEST(Gemm, RepeatsBitForBit) {
  for (int threads : {1, 2, 3}) {
    const Case test{{150, 200, 1040, false, true}, true, false, threads};
    test::for_each_isa(describe(test), [&](const auto& kernels) {
      using Real = RealOf<decltype(kernels)>;
      const GuardedBuffer<Real> a = random_reals<Real>(150 * 1040, 4), b = random_reals<Real>(200 * 1040, 5),
                                bias = random_reals<Real>(200, 6);
      const GuardedBuffer<Real> first = run(kernels, test, a, b, bias);
      for (int repetition = 0; repetition < 5; ++repetition)
        EXPECT_TRUE(test::bit_equal(run(kernels, test, a, b, bias), first));
      const GuardedBuffer<Real> packed = run(kernels, test, a, b, bias, true);
      EXPECT_TRUE(test::bit_equal(run(kernels, test, a, b, bias, true), packed));
    });
  }
}

// Several blocks of columns, the last of them narrower, and of k: threads that wait for none of the others are in different
// blocks at the same time.
TEST(Gemm, ThreadsInDifferentBlocksShareNothing) {
  for (int repetition = 0; repetition < 20; ++repetition) check_of<Bf16>({{2, 3000, 300}, false, false, 7});
}

// A product of few rows reads b in place if it can; otherwise b is packed for every number of threads, and then takes no room
// in the workspace.
TEST(Gemm, PacksWhatItDoesNotReadInPlace) {
  test::for_each_isa_of<float>("packed b", [](const cpu::Kernels<float>& kernels) {
    EXPECT_EQ(kernels.gemm_packed_bytes({8, 320, 70}, 2), 0u);
    for (int threads : {1, 2, 5}) {
      GemmShape shape{128, 3072, 768, false, true};
      EXPECT_GE(kernels.gemm_packed_bytes(shape, threads), 768u * 3072 * sizeof(float));
      EXPECT_LE(kernels.gemm_packed_bytes(shape, threads), 768u * 3104 * sizeof(float));
      const std::size_t bytes = kernels.gemm_workspace_bytes(shape, threads);
      shape.packed_b = true;
      EXPECT_LE(kernels.gemm_workspace_bytes(shape, threads), bytes);
    }
  });
}

// Inside a parallel region the runtime grants a team of one, whatever the kernel requests.
TEST(Gemm, FewerThreadsThanRequestedGiveTheSameResult) {
  const Case test{{150, 200, 1040, true, true}, false, true, 6};
  test::for_each_isa(describe(test), [&](const auto& kernels) {
    using Real = RealOf<decltype(kernels)>;
    const GuardedBuffer<Real> a = random_reals<Real>(150 * 1040, 4), b = random_reals<Real>(200 * 1040, 5), bias(0);
    const GuardedBuffer<Real> expected = run(kernels, test, a, b, bias);
#pragma omp parallel num_threads(2)
#pragma omp single
    EXPECT_TRUE(test::bit_equal(run(kernels, test, a, b, bias), expected));
    const GuardedBuffer<Real> expected_packed = run(kernels, test, a, b, bias, true);
#pragma omp parallel num_threads(2)
#pragma omp single
    EXPECT_TRUE(test::bit_equal(run(kernels, test, a, b, bias, true), expected_packed));
  });
}

TEST(Gemm, PropagatesNan) {
  test::for_each_isa("gemm", [](const auto& kernels) {
    using Real = RealOf<decltype(kernels)>;
    GuardedBuffer<float> values = random_floats(20 * 30, 7);
    values[11 * 30 + 4] = std::numeric_limits<float>::quiet_NaN();
    const GuardedBuffer<Real> a = reals<Real>(values), b = random_reals<Real>(30 * 40, 8), bias = random_reals<Real>(40, 9);
    const GuardedBuffer<float> c = floats(run(kernels, {{20, 40, 30}, true, true}, a, b, bias));
    for (std::int64_t row = 0; row < 20; ++row)
      for (std::int64_t column = 0; column < 40; ++column)
        ASSERT_EQ(std::isnan(c[row * 40 + column]), row == 11) << row << ", " << column;
  });
}

}  // namespace
}  // namespace epochbench
