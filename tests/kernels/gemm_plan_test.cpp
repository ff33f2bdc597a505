// How products of floats are blocked for AVX-512, for CPUs with different caches.
#include <gtest/gtest.h>

#include "kernels/cpu/kernels.h"
#include "tests/support/avx512_plan.h"

namespace epochbench {
namespace {

constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB;

struct Expected {
  GemmShape shape;
  int threads;
  test::Avx512Plan plan;  // k_blocks, kc, n_blocks, nc, k_blocks_per_stage, mc, pack_a, b_in_place
};
const Expected kOfSmallL2[] = {
    {{1024, 768, 768}, 1, {2, 384, 1, 768, 2, 210, true, false}},
    {{1024, 768, 768}, 2, {2, 384, 1, 768, 2, 182, true, false}},
    {{1024, 768, 3072}, 1, {8, 384, 1, 768, 2, 210, true, false}},
    {{1024, 768, 3072}, 2, {8, 384, 1, 768, 2, 182, true, false}},
    {{152, 30522, 768}, 1, {2, 384, 159, 192, 1, 154, true, false}},
    {{152, 30522, 768}, 2, {2, 384, 80, 384, 1, 154, true, false}},
    {{50176, 64, 256}, 1, {1, 256, 1, 64, 1, 224, true, false}},
    {{50176, 64, 256}, 2, {1, 256, 1, 64, 1, 224, true, false}},
    {{784, 512, 4608}, 1, {12, 384, 1, 512, 4, 196, true, false}},
    {{784, 512, 4608}, 2, {12, 384, 1, 512, 4, 196, true, false}},
    {{50176, 256, 64}, 1, {1, 64, 1, 256, 1, 224, true, false}},
    {{50176, 256, 64}, 2, {1, 64, 1, 256, 1, 224, true, false}},
    {{64, 576, 50176}, 1, {131, 384, 3, 192, 1, 70, true, true}},
    {{64, 576, 50176}, 2, {222, 227, 1, 576, 1, 70, true, true}},
    {{512, 4608, 784}, 1, {3, 262, 3, 1536, 1, 182, true, false}},
    {{512, 4608, 784}, 2, {3, 262, 3, 1536, 1, 182, true, false}},
    {{4096, 4096, 4096}, 1, {11, 373, 2, 2048, 1, 224, true, false}},
    {{4096, 4096, 4096}, 2, {11, 373, 2, 2048, 1, 224, true, false}},
    {{64, 2048, 4096}, 1, {11, 373, 11, 192, 1, 70, true, true}},
    {{64, 2048, 4096}, 2, {11, 373, 6, 384, 1, 70, true, true}},
    {{100, 40, 50}, 1, {1, 50, 1, 64, 1, 112, false, false}},
    {{100, 40, 50}, 2, {1, 50, 1, 64, 1, 112, false, false}},
};

class GemmPlan : public testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::supported(cpu::Isa::avx512)) GTEST_SKIP() << "the planning code is compiled for AVX-512";
  }
};

void expect_plans(std::int64_t l1_bytes, std::int64_t l1_ways, std::int64_t l2_bytes) {
  for (const Expected& expected : kOfSmallL2) {
    const GemmShape& s = expected.shape;
    EXPECT_TRUE(test::avx512_plan(s, expected.threads, l1_bytes, l1_ways, l2_bytes) == expected.plan)
        << "m=" << s.m << " n=" << s.n << " k=" << s.k << " threads=" << expected.threads;
  }
}

TEST_F(GemmPlan, ZenFourHasBlocksOfASmallL2) { expect_plans(32 * kKiB, 8, kMiB); }
TEST_F(GemmPlan, ZenFiveHasBlocksOfASmallL2) { expect_plans(48 * kKiB, 12, kMiB); }
TEST_F(GemmPlan, UnknownCachesHaveBlocksOfASmallL2) { expect_plans(0, 0, 0); }
TEST_F(GemmPlan, SmallerL1HasBlocksOfASmallL2) { expect_plans(32 * kKiB, 8, 2 * kMiB); }

test::Avx512Plan plan_of_large_l2(const GemmShape& shape) { return test::avx512_plan(shape, 1, 48 * kKiB, 12, 2 * kMiB); }

TEST_F(GemmPlan, LargeL2ReadsRowsInPlaceUnlessTheyShareASet) {
  EXPECT_FALSE(plan_of_large_l2({1024, 768, 768}).pack_a);
  EXPECT_FALSE(plan_of_large_l2({784, 512, 4608}).pack_a);  // 7 rows per set
  EXPECT_TRUE(plan_of_large_l2({1024, 768, 3072}).pack_a);  // 14 rows per set
  EXPECT_TRUE(plan_of_large_l2({1024, 768, 768, true}).pack_a);
}

TEST_F(GemmPlan, LargeL2StreamsAllColumnsPastFewRows) {
  EXPECT_EQ(plan_of_large_l2({64, 576, 50176}).n_blocks, 1);
  EXPECT_EQ(plan_of_large_l2({64, 2048, 4096}).n_blocks, 1);
  EXPECT_GT(plan_of_large_l2({64, 4096, 4096}).n_blocks, 1);
}

// As the manuals encode the caches of these cores: type and level in eax, ways - 1 and line - 1 in ebx, sets - 1 in ecx.
TEST_F(GemmPlan, RegistersDescribeTheCachesOfZenThreeAndOfSapphireRapids) {
  constexpr unsigned kData = 1, kInstructions = 2, kUnified = 3;
  const auto cache = [](unsigned type, unsigned level, unsigned ways, unsigned sets) {
    return test::CacheRegisters{type | level << 5, (ways - 1) << 22 | 63u, sets - 1};
  };
  EXPECT_EQ(test::described_caches({cache(kData, 1, 8, 64), cache(kInstructions, 1, 8, 64), cache(kUnified, 2, 8, 1024),
                                    cache(kUnified, 3, 16, 32768)}),
            (test::CacheSizes{32 * kKiB, 8, 512 * kKiB}));
  EXPECT_EQ(test::described_caches({cache(kData, 1, 12, 64), cache(kInstructions, 1, 8, 64), cache(kUnified, 2, 16, 2048)}),
            (test::CacheSizes{48 * kKiB, 12, 2 * kMiB}));
  EXPECT_EQ(test::described_caches({}), (test::CacheSizes{0, 0, 0}));
}

}  // namespace
}  // namespace epochbench
