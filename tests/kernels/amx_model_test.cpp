// The model of AMX tiles: its arithmetic against values computed by hand, and faults where the hardware faults.
#include "kernels/cpu/gemm/amx_model.h"

#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace epochbench {
namespace {

using Config = std::array<std::uint8_t, 64>;

Config config_of(const std::vector<std::array<int, 2>>& rows_and_bytes) {
  Config config{};
  config[0] = 1;
  for (std::size_t i = 0; i < rows_and_bytes.size(); ++i) {
    config[48 + i] = static_cast<std::uint8_t>(rows_and_bytes[i][0]);
    config[16 + 2 * i] = static_cast<std::uint8_t>(rows_and_bytes[i][1]);
  }
  return config;
}

constexpr std::uint16_t kOne = 0x3f80, kTwo = 0x4000, kThree = 0x4040, kSubnormal = 0x0001;

// Registers: sums of 2 rows by 1 column, a of 2 rows by 2 words, b of 2 words by 1 column.
void configure() { amx_model::load_config(config_of({{2, 4}, {2, 8}, {2, 4}}).data()); }

TEST(AmxModel, AddsProductsOfPairs) {
  configure();
  const std::uint16_t a[2][4] = {{kOne, kTwo, kThree, kOne}, {kTwo, kSubnormal, kOne, kOne}};
  const std::uint16_t b[2][2] = {{kOne, kThree}, {kTwo, kTwo}};
  float sums[2] = {10, 0};
  amx_model::load(0, sums, 4);
  amx_model::load(1, a, 8);
  amx_model::load_t1(2, b, 4);
  amx_model::multiply_add(0, 1, 2);
  float results[2][3] = {};
  amx_model::store(0, results, sizeof results[0]);
  EXPECT_EQ(results[0][0], 10 + 1 * 1 + 2 * 3 + 3 * 2 + 1 * 2);
  EXPECT_EQ(results[1][0], 2 * 1 + 0 * 3 + 1 * 2 + 1 * 2);
  EXPECT_EQ(results[0][1], 0);  // beyond the row
  amx_model::zero(0);
  amx_model::store(0, results, sizeof results[0]);
  EXPECT_EQ(results[0][0], 0);
  amx_model::release();
}

TEST(AmxModel, AddsProductsOfFourBytes) {
  configure();
  const std::uint8_t a[2][8] = {{1, 2, 3, 4, 255, 0, 0, 10}, {255, 255, 255, 255, 0, 0, 0, 1}};
  const std::int8_t b[2][4] = {{1, -1, 2, -128}, {127, 5, 6, -7}};
  const std::int32_t before[2] = {1000, -5};
  amx_model::load(0, before, 4);
  amx_model::load(1, a, 8);
  amx_model::load_t1(2, b, 4);
  amx_model::multiply_add_bytes(0, 1, 2);
  std::int32_t sums[2] = {};
  amx_model::store(0, sums, 4);
  EXPECT_EQ(sums[0], 1000 + 1 - 2 + 6 - 512 + 255 * 127 - 70);
  EXPECT_EQ(sums[1], -5 + 255 * (1 - 1 + 2 - 128) - 7);
  amx_model::release();
}

TEST(AmxModel, FaultsAsTheHardwareDoes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  float sums[2] = {};
  EXPECT_DEATH(amx_model::zero(0), "not configured");
  EXPECT_DEATH(amx_model::load_config(config_of({{17, 4}}).data()), "at most 16 rows");
  EXPECT_DEATH(amx_model::load_config(config_of({{2, 65}}).data()), "at most 64 bytes");
  EXPECT_DEATH(amx_model::load_config(config_of({{2, 0}}).data()), "rows without bytes");
  Config config = config_of({{2, 4}});
  config[3] = 1;
  EXPECT_DEATH(amx_model::load_config(config.data()), "reserved");
  config[0] = 2;
  EXPECT_DEATH(amx_model::load_config(config.data()), "palette");
  configure();
  EXPECT_DEATH(amx_model::load(3, sums, 4), "no rows");
  EXPECT_DEATH(amx_model::load(8, sums, 4), "does not exist");
  EXPECT_DEATH(amx_model::load_t1(3, sums, 4), "TILELOADDT1: the register has no rows");
  EXPECT_DEATH(amx_model::multiply_add(0, 2, 2), "same register");
  EXPECT_DEATH(amx_model::multiply_add(0, 2, 1), "depth");
  EXPECT_DEATH(amx_model::multiply_add_bytes(0, 2, 1), "TDPBUSD: the operands differ in depth");
  amx_model::load_config(config_of({{2, 4}, {1, 8}, {2, 4}, {2, 8}}).data());
  EXPECT_DEATH(amx_model::multiply_add(0, 1, 2), "number of rows");
  EXPECT_DEATH(amx_model::multiply_add(3, 1, 2), "number of rows");
  amx_model::load_config(config_of({{2, 8}, {2, 8}, {2, 4}}).data());
  EXPECT_DEATH(amx_model::multiply_add(0, 1, 2), "number of columns");
  amx_model::load_config(config_of({{2, 4}, {2, 6}, {1, 4}}).data());
  EXPECT_DEATH(amx_model::multiply_add(0, 1, 2), "multiple of 4 bytes");
  amx_model::release();
  EXPECT_DEATH(amx_model::zero(0), "not configured");
}

}  // namespace
}  // namespace epochbench
