// The shares of mixed images: their distribution, and that a batch, its parts and its ranks have the same.
#include "src/data/mixup.h"

#include <cmath>

#include <gtest/gtest.h>

#include "epochbench/dataset.h"
#include "src/data/loader.h"

namespace epochbench {
namespace {

TEST(MixupShare, HasTheMeanAndVarianceOfBeta) {
  constexpr int kDraws = 20000;
  for (double alpha : {0.01, 0.2, 1.0, 8.0}) {
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double share = mixup_share(alpha, {1, 2, i});
      ASSERT_TRUE(share >= 0 && share <= 1) << share;
      sum += share;
      squares += (share - 0.5) * (share - 0.5);
    }
    const double variance = 1 / (4 * (2 * alpha + 1)), deviations = 5 / std::sqrt(kDraws);
    EXPECT_NEAR(sum / kDraws, 0.5, deviations * std::sqrt(variance)) << alpha;
    EXPECT_NEAR(squares / kDraws, variance, deviations * 0.5 * variance + 1e-3) << alpha;
  }
}

TEST(MixupShare, IsThatOfTheSeedTheEpochAndThePair) {
  const float share = mixup_share(0.2, {1, 2, 4});
  EXPECT_EQ(mixup_share(0.2, {1, 2, 4}), share);
  for (const SampleDraw& other : {SampleDraw{2, 2, 4}, SampleDraw{1, 3, 4}, SampleDraw{1, 2, 6}})
    EXPECT_NE(mixup_share(0.2, other), share);
}

// The shares of `steps` batches of digits, as the loader gives them to the parts of this rank.
std::vector<float> shares(const LoaderOptions& options, int steps) {
  const SampleSpec sample{.height = 8, .width = 8, .channels = 1, .classes = 10};
  const auto data = open_dataset("digits", sample, 0, 0);
  const std::int64_t rows = options.batch / options.parts;
  std::vector<std::vector<std::vector<float>>> memory(kInputSlots);
  for (auto& slot : memory)
    for (int part = 0; part < options.parts; ++part)
      for (std::int64_t width : {64, 1, 1}) slot.emplace_back(static_cast<std::size_t>(rows * width));
  Loader loader(*data, options, 3, [&](InputSlot slot, int input, int part) {
    return std::as_writable_bytes(
        std::span(memory[static_cast<std::size_t>(slot)][static_cast<std::size_t>(3 * part + input)]));
  });
  loader.begin_training(0);
  std::vector<float> all;
  for (int step = 0; step < steps; ++step) {
    const BatchSource::Batch batch = loader.next();
    for (int part = 0; part < options.parts; ++part) {
      const auto& of_part = memory[static_cast<std::size_t>(batch.slot)][static_cast<std::size_t>(3 * part + 2)];
      all.insert(all.end(), of_part.begin(), of_part.end());
    }
    loader.release(batch.slot);
  }
  return all;
}

TEST(MixupLoader, PairsKeepTheSameShareInPartsAndRanksToo) {
  const std::vector<float> whole = shares({.batch = 8, .mixup = 0.5, .seed = 3, .threads = 2}, 3);
  ASSERT_EQ(whole.size(), 24u);
  for (std::size_t row = 0; row < whole.size(); row += 2) EXPECT_EQ(whole[row], whole[row + 1]);
  for (std::size_t row = 2; row < whole.size(); row += 2) EXPECT_NE(whole[row], whole[row - 2]);
  EXPECT_EQ(shares({.batch = 8, .parts = 2, .mixup = 0.5, .seed = 3}, 3), whole);
  std::vector<float> of_ranks;
  const std::vector<float> first = shares({.batch = 4, .rank = 0, .ranks = 2, .mixup = 0.5, .seed = 3}, 3),
                           second = shares({.batch = 4, .rank = 1, .ranks = 2, .mixup = 0.5, .seed = 3}, 3);
  for (std::ptrdiff_t step = 0; step < 3; ++step)
    for (const auto* rank : {&first, &second})
      of_ranks.insert(of_ranks.end(), rank->begin() + 4 * step, rank->begin() + 4 * step + 4);
  EXPECT_EQ(of_ranks, whole);
}

}  // namespace
}  // namespace epochbench
