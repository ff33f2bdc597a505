// Resizing against its definition, and what training draws.
#include "src/data/images/augmentation.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "epochbench/philox.h"
#include "src/data/images/preparation.h"

namespace epochbench {
namespace {

struct Source {  // random pixels
  Source(std::int64_t height, std::int64_t width) : size{height, width} {
    for (std::int64_t i = 0; i < height * width * 3; ++i)
      bytes.push_back(static_cast<std::uint8_t>(philox(1, {static_cast<std::uint32_t>(i), 0, 0, 0})[0] >> 24));
    bytes.resize(bytes.size() + kPictureSlack);
  }
  Picture picture() const { return {size, bytes.data()}; }
  ImageSize size;
  std::vector<std::uint8_t> bytes;
};

std::vector<std::uint8_t> resampled(const Source& source, ImageSize target, const View& view, bool flip = false) {
  std::vector<std::uint8_t> image(static_cast<std::size_t>(target.height * target.width * 3 + 1), 77), narrow = image;
  Resampler(target).resample(image.data(), source.picture(), view, flip);
  EXPECT_EQ(image.back(), 77);  // of the next image
  Resampler(target, false).resample(narrow.data(), source.picture(), view, flip);
  EXPECT_EQ(narrow, image);  // whatever vectors a CPU has
  image.pop_back();
  return image;
}

// Weights of the triangle around the center of a target pixel.
std::vector<double> weights(std::int64_t source, double begin, double length, std::int64_t target, std::int64_t i) {
  const double scale = length / static_cast<double>(target), reach = std::max(scale, 1.0);
  const double center = begin + (static_cast<double>(i) + 0.5) * scale;
  std::vector<double> all;
  double sum = 0;
  for (std::int64_t k = 0; k < source; ++k) {
    all.push_back(std::max(0.0, 1 - std::abs(static_cast<double>(k) + 0.5 - center) / reach));
    sum += all.back();
  }
  for (double& weight : all) weight /= sum;
  return all;
}

TEST(Resampler, MatchesTheDefinition) {
  struct Case {
    std::int64_t height, width;
    ImageSize target;
    View view;
  };
  for (const Case& c :
       {Case{9, 13, {9, 13}, {0, 0, 9, 13}}, Case{8, 8, {4, 4}, {0, 0, 8, 8}}, Case{31, 45, {7, 11}, {3.5, 2.25, 20, 37}},
        Case{5, 4, {17, 9}, {1, 1, 3, 2}}, Case{40, 3, {3, 5}, {0, 0, 40, 3}}, Case{1, 1, {4, 4}, {0, 0, 1, 1}}}) {
    const Source source(c.height, c.width);
    const auto image = resampled(source, c.target, c.view);
    for (std::int64_t y = 0; y < c.target.height; ++y)
      for (std::int64_t x = 0; x < c.target.width; ++x) {
        const auto down = weights(c.height, c.view.top, c.view.height, c.target.height, y);
        const auto across = weights(c.width, c.view.left, c.view.width, c.target.width, x);
        for (std::int64_t channel = 0; channel < 3; ++channel) {
          double sum = 0;
          for (std::int64_t i = 0; i < c.height; ++i)
            for (std::int64_t j = 0; j < c.width; ++j)
              sum += down[static_cast<std::size_t>(i)] * across[static_cast<std::size_t>(j)] *
                     source.bytes[static_cast<std::size_t>((i * c.width + j) * 3 + channel)];
          // Both passes round to a byte, weights to 2^-14.
          ASSERT_NEAR(image[static_cast<std::size_t>((y * c.target.width + x) * 3 + channel)], sum, 1.1) << y << ", " << x;
        }
      }
  }
}

TEST(Resampler, FlipsToTheMirrorImage) {
  const Source source(12, 17);
  const ImageSize target{5, 6};
  const auto plain = resampled(source, target, {1, 2, 10, 13}), mirrored = resampled(source, target, {1, 2, 10, 13}, true);
  for (std::int64_t y = 0; y < 5; ++y)
    for (std::int64_t x = 0; x < 6; ++x)
      for (std::int64_t c = 0; c < 3; ++c)
        ASSERT_EQ(mirrored[static_cast<std::size_t>((y * 6 + x) * 3 + c)],
                  plain[static_cast<std::size_t>((y * 6 + 5 - x) * 3 + c)]);
}

TEST(Preparation, ReadsTheMiddleAndShrinksNoFurtherThanTheTarget) {
  const View view = central_view({400, 500}, {224, 224});
  EXPECT_DOUBLE_EQ(view.height, 350);
  EXPECT_DOUBLE_EQ(view.width, 350);
  EXPECT_DOUBLE_EQ(view.top, 25);
  EXPECT_DOUBLE_EQ(view.left, 75);
  EXPECT_EQ(largest_shrink(view, {224, 224}), 1);
  EXPECT_EQ(largest_shrink(view, {175, 100}), 2);
  EXPECT_EQ(largest_shrink({0, 0, 1800, 4000}, {224, 224}), 8);
  EXPECT_EQ(largest_shrink({0, 0, 10, 10}, {224, 224}), 1);
}

TEST(Augmentation, CropsLieInThePictureWithAreaAndRatioOfTheRecipe) {
  double areas = 0;
  int fitting = 0;
  for (std::int64_t sample = 0; sample < 2000; ++sample) {
    const View view = random_crop({375, 500}, {7, 3, sample});
    ASSERT_GE(view.top, 0);
    ASSERT_GE(view.left, 0);
    ASSERT_LE(view.top + view.height, 375);
    ASSERT_LE(view.left + view.width, 500);
    const double area = view.height * view.width / (375.0 * 500), ratio = view.width / view.height;
    ASSERT_GT(area, 0.079);
    ASSERT_NEAR(std::log(ratio), 0, std::log(4.0 / 3) + 0.02);
    areas += area;
    ++fitting;
  }
  // Uniform in 0.08 to 1, less those that do not fit, which are large ones.
  EXPECT_GT(areas / fitting, 0.42);
  EXPECT_LT(areas / fitting, 0.54);
  const View narrow = random_crop({1000, 3}, {7, 3, 1});  // whatever is drawn is wider or too high
  EXPECT_LE(narrow.left + narrow.width, 3);
}

TEST(Augmentation, DependsOnSeedEpochAndSampleAlone) {
  const auto same = [](const SampleDraw& a, const SampleDraw& b) {
    const View first = random_crop({375, 500}, a), second = random_crop({375, 500}, b);
    return first.top == second.top && first.left == second.left && first.height == second.height &&
           random_color(a).contrast == random_color(b).contrast;
  };
  EXPECT_TRUE(same({1, 2, 3}, {1, 2, 3}));
  EXPECT_FALSE(same({1, 2, 3}, {1, 2, 4}));
  EXPECT_FALSE(same({1, 2, 3}, {1, 3, 3}));
  EXPECT_FALSE(same({1, 2, 3}, {2, 2, 3}));
  int flipped = 0;
  for (std::int64_t sample = 0; sample < 1000; ++sample) flipped += random_flip({1, 2, sample}) ? 1 : 0;
  EXPECT_NEAR(flipped, 500, 5 * std::sqrt(250.0));
}

TEST(Augmentation, WideVectorsChangeColorsToTheSameBytes) {
  for (std::int64_t pixels = 1; pixels < 110; ++pixels)
    for (const ColorChange& by :
         {ColorChange{1.4f, 0.6f, 1.4f}, ColorChange{0.6f, 1.4f, 0.7f}, ColorChange{1.3f, 1.2f, 1.1f}}) {
      const std::vector<std::uint8_t> before = Source(1, pixels + 1).bytes;  // the last pixel is not to be changed
      std::vector<std::uint8_t> wide = before, narrow = before;
      change_color(wide.data(), pixels, by, has_wide_vectors());
      change_color(narrow.data(), pixels, by, false);
      ASSERT_EQ(wide, narrow) << pixels << " pixels";
      ASSERT_TRUE(std::equal(before.end() - 3, before.end(), wide.end() - 3)) << pixels << " pixels";
    }
}

TEST(Augmentation, ColorsFollowTheirDefinition) {
  Source source(9, 11);
  const std::vector<std::uint8_t> before = source.bytes;
  change_color(source.bytes.data(), 99, {1, 1, 1});
  EXPECT_EQ(source.bytes, before);
  const ColorChange change{1.2f, 0.7f, 1.3f};
  std::vector<std::uint8_t> narrow = before;
  change_color(source.bytes.data(), 99, change);
  change_color(narrow.data(), 99, change, false);
  EXPECT_EQ(narrow, source.bytes);
  const auto gray = [](double r, double g, double b) { return 0.299 * r + 0.587 * g + 0.114 * b; };
  double mean = 0;
  for (std::size_t i = 0; i < 99; ++i) mean += gray(before[3 * i], before[3 * i + 1], before[3 * i + 2]) * 1.2 / 99;
  for (std::size_t i = 0; i < 99; ++i) {
    double v[3];
    for (std::size_t c = 0; c < 3; ++c) v[c] = 0.7 * 1.2 * before[3 * i + c] + 0.3 * mean;
    const double own = gray(v[0], v[1], v[2]);
    for (std::size_t c = 0; c < 3; ++c)
      ASSERT_NEAR(source.bytes[3 * i + c], std::clamp(1.3 * v[c] - 0.3 * own, 0.0, 255.0), 0.51) << i;
  }
}

}  // namespace
}  // namespace epochbench
