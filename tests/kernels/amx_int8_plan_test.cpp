// How products of bytes are blocked for AMX: what stays in which cache, and how often weights come from the next one.
#include "tests/support/amx_int8_plan.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "kernels/cpu/kernels.h"
#include "tests/support/shapes.h"

namespace epochbench {
namespace {

constexpr std::int64_t kKiB = 1024, kTile = 32;

class AmxInt8Plan : public testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::supported(cpu::Isa::avx512)) GTEST_SKIP() << "the planning code is compiled for AVX-512";
  }
};

Conv2dShape linear(std::int64_t rows, std::int64_t k, std::int64_t columns) {
  return {rows, 1, 1, k, 1, 1, columns, 1, 1, 1, 0};
}
// Shapes of ResNet-50 at batch 16 and of BERT-base at 1,024 tokens.
const Conv2dShape kShapes[] = {test::convolution_shape(16, 224, 224, 3, 64, 7, 7, 2, 3),
                               test::convolution_shape(16, 56, 56, 64, 64, 3, 3, 1, 1),
                               test::convolution_shape(16, 28, 28, 128, 128, 3, 3, 1, 1),
                               test::convolution_shape(16, 14, 14, 256, 256, 3, 3, 1, 1),
                               test::convolution_shape(16, 7, 7, 512, 512, 3, 3, 1, 1),
                               test::convolution_shape(16, 56, 56, 256, 512, 1, 1, 2, 0),
                               test::convolution_shape(16, 14, 14, 1024, 256, 1, 1, 1, 0),
                               test::convolution_shape(16, 7, 7, 2048, 512, 1, 1, 1, 0),
                               test::convolution_shape(16, 7, 7, 512, 2048, 1, 1, 1, 0),
                               linear(1024, 768, 768),
                               linear(1024, 768, 3072),
                               linear(1024, 3072, 768),
                               linear(160, 768, 30522)};

TEST_F(AmxInt8Plan, BlocksStayInTheCachesOfACore) {
  for (const Conv2dShape& s : kShapes)
    for (int threads : {1, 2, 8}) {
      SCOPED_TRACE(test::describe(s));
      const test::AmxInt8Plan plan = test::amx_int8_plan(s, threads);
      EXPECT_LE(plan.piece_bytes, 32 * kKiB);                          // of an L1 cache of 48 KiB
      EXPECT_LE(plan.group_bytes + plan.row_sums_bytes, 1280 * kKiB);  // of an L2 cache of 2 MiB
    }
}

// A group of weights that does not stay in the L2 cache comes from L3 at a third of the rate at which tiles multiply it, so at
// least twelve tiles of rows, or all that there are, use it.
TEST_F(AmxInt8Plan, WeightsFromL3MeetManyTiles) {
  for (const Conv2dShape& s : kShapes)
    for (int threads : {1, 2, 8}) {
      SCOPED_TRACE(test::describe(s));
      const test::AmxInt8Plan plan = test::amx_int8_plan(s, threads);
      const std::int64_t rows = s.batch * s.out_height * s.out_width / plan.grid_m;
      const bool one_group = plan.group_columns * plan.grid_n >= s.out_channels;
      EXPECT_TRUE(one_group || plan.block_rows >= std::min(rows, 12 * kTile)) << plan.block_rows << " of " << rows;
    }
}

TEST_F(AmxInt8Plan, RowsAreReadInPlaceUnlessTheyShareSetsOfTheCache) {
  EXPECT_TRUE(test::amx_int8_plan(linear(1024, 768, 768), 1).in_place);
  EXPECT_TRUE(test::amx_int8_plan(linear(1024, 1024, 768), 1).in_place);
  EXPECT_TRUE(test::amx_int8_plan(linear(1024, 3072, 768), 1).in_place);
  EXPECT_FALSE(test::amx_int8_plan(linear(1024, 2048, 768), 1).in_place);  // 16 rows in the same sets of 12 ways
  EXPECT_FALSE(test::amx_int8_plan(linear(1024, 100, 768), 1).in_place);   // no whole cache lines
  EXPECT_FALSE(test::amx_int8_plan(kShapes[5], 1).in_place);               // stride 2
}

}  // namespace
}  // namespace epochbench
