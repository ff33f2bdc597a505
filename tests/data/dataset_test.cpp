// Data sets as a model sees them: resized, standardized, the same on every machine.
#include "epochbench/dataset.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "epochbench/embedded.h"
#include "epochbench/philox.h"
#include "src/data/dataset_sizes.h"
#include "src/data/image_dataset.h"
#include "support/data_files.h"

namespace epochbench {
namespace {

using test::BatchMemory;
using test::expect_data_error;

ImageSet images(std::int64_t height, std::int64_t width, std::int64_t channels, std::vector<std::uint8_t> pixels) {
  const std::size_t samples = pixels.size() / static_cast<std::size_t>(height * width * channels);
  return {"'test'", height, width, channels, std::move(pixels), std::vector<std::uint8_t>(samples, 0)};
}

// The first training image as the model gets it, turned back into pixel values.
std::vector<float> shown(const ImageSet& set, const SampleSpec& sample) {
  double sum = 0, squares = 0;
  for (double pixel : set.pixels) sum += pixel;
  const double count = static_cast<double>(set.pixels.size()), mean = sum / count;
  for (double pixel : set.pixels) squares += (pixel - mean) * (pixel - mean);
  const double deviation = std::sqrt(squares / count);
  const ImageDataset data("test", sample, set, set);
  BatchMemory memory(1, sample.height * sample.width * sample.channels);
  data.fill(Split::train, 0, 0, 0, memory.inputs);
  for (float& value : memory.images) value = static_cast<float>(value * deviation + mean);
  return memory.images;
}

void expect_near(const std::vector<float>& values, const std::vector<float>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-4) << i;
}

TEST(Resize, DoublesWithHalfPixelCenters) {
  // A row a, b of two becomes a, 3/4 a + 1/4 b, 1/4 a + 3/4 b, b; columns alike.
  expect_near(shown(images(2, 2, 1, {0, 100, 200, 40}), {4, 4, 1, 10}),
              {0, 25, 75, 100, 50, 58.75, 76.25, 85, 150, 126.25, 78.75, 55, 200, 160, 80, 40});
}

TEST(Resize, HalvesByTheMeanOfTheTwoInTheMiddle) {
  expect_near(shown(images(4, 4, 1, {0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60}), {2, 2, 1, 10}),
              {10, 18, 42, 50});
}

TEST(Resize, ThreeToTwoAndOneToThree) {
  expect_near(shown(images(1, 3, 1, {10, 20, 40}), {1, 2, 1, 10}), {12.5, 35});  // centers 0.25 and 1.75
  expect_near(shown(images(2, 1, 1, {7, 9}), {2, 3, 1, 10}), {7, 7, 7, 9, 9, 9});
}

// Color images, gray ones, and gray ones repeated for three channels: each value by the table is that of fill(), to the bit.
TEST(Bytes, StandForTheFloatsOfTheSameSample) {
  struct Case {
    std::int64_t channels, of_model;
  };
  for (const Case& c : {Case{3, 3}, Case{1, 1}, Case{1, 3}}) {
    const std::int64_t size = 5 * 7 * c.of_model;
    std::vector<std::uint8_t> pixels;
    for (std::int64_t i = 0; i < 3 * 5 * 7 * c.channels; ++i) pixels.push_back(static_cast<std::uint8_t>(i * 37 % 256));
    ImageSet set = images(5, 7, c.channels, std::move(pixels));
    set.labels = {4, 0, 9};
    const ImageDataset data("test", {5, 7, c.of_model, 10}, set, set);
    const std::vector<float> table = data.pixel_values();
    ASSERT_EQ(table.size(), static_cast<std::size_t>(256 * c.of_model));
    for (Split split : {Split::train, Split::test})
      for (std::int64_t index : {2, 0}) {
        BatchMemory floats(2, size);
        std::vector<std::uint8_t> bytes(static_cast<std::size_t>(2 * size), 77);
        std::vector<std::int32_t> labels(2, -99);
        data.fill(split, index, 0, 1, floats.inputs);
        data.fill_bytes(split, index, 0, 1,
                        std::vector{std::as_writable_bytes(std::span(bytes)), std::as_writable_bytes(std::span(labels))});
        for (std::int64_t i = 0; i < size; ++i) {
          const auto at = static_cast<std::size_t>(size + i);
          EXPECT_EQ(table[static_cast<std::size_t>(i % c.of_model * 256 + bytes[at])], floats.images[at]) << i;
          EXPECT_EQ(bytes[static_cast<std::size_t>(i)], 77);  // the other row
        }
        EXPECT_EQ(labels, floats.labels);
      }
  }
}

TEST(Bytes, AreNotThoseOfResizedImagesTextsAndSyntheticData) {
  const ImageSet set = images(2, 2, 1, {1, 2, 3, 4});
  const ImageDataset resized("test", {2, 3, 1, 10}, set, set);
  EXPECT_TRUE(resized.pixel_values().empty());
  std::vector<std::uint8_t> bytes(6);
  EXPECT_THROW(resized.fill_bytes(Split::train, 0, 0, 0, std::vector{std::as_writable_bytes(std::span(bytes))}),
               std::logic_error);
  EXPECT_TRUE(open_dataset("synthetic", {28, 28, 1, 10}, 100, 0)->pixel_values().empty());
  EXPECT_TRUE(open_dataset("founding-documents", {0, 0, 0, 30522, 128, 20}, 0, 0)->pixel_values().empty());
  DatasetSizes sizes;
  EXPECT_TRUE(sizes.of("digits", {28, 28, 1, 10}, 0).pixel_values.empty());
  EXPECT_EQ(sizes.of("digits", {8, 8, 1, 10}, 0).pixel_values.size(), 256u);
}

// The definition, one pixel at a time.
double bilinear(const ImageSet& set, double y, double x, std::int64_t channel) {
  const auto at = [&](double row, double column) -> double {
    const auto r = std::clamp<std::int64_t>(static_cast<std::int64_t>(row), 0, set.height - 1);
    const auto c = std::clamp<std::int64_t>(static_cast<std::int64_t>(column), 0, set.width - 1);
    return set.pixels[static_cast<std::size_t>((r * set.width + c) * set.channels + channel)];
  };
  const double top = std::floor(y), left = std::floor(x), down = y - top, right = x - left;
  return (1 - down) * ((1 - right) * at(top, left) + right * at(top, left + 1)) +
         down * ((1 - right) * at(top + 1, left) + right * at(top + 1, left + 1));
}

TEST(Resize, MatchesTheDefinitionAtOddSizes) {
  struct Case {
    std::int64_t height, width, channels;
    SampleSpec sample;
  };
  for (const Case& c : {Case{5, 7, 1, {11, 3, 1, 10}}, Case{8, 8, 1, {28, 28, 1, 10}}, Case{9, 4, 1, {2, 2500, 3, 10}},
                        Case{3, 700, 3, {7, 1100, 3, 10}}, Case{1, 1, 3, {3, 5, 3, 10}}, Case{32, 32, 3, {7, 32, 3, 10}}}) {
    std::vector<std::uint8_t> pixels;
    const std::int64_t count = 2 * c.height * c.width * c.channels;
    for (std::int64_t i = 0; i < count; ++i)
      pixels.push_back(static_cast<std::uint8_t>(philox(1, {static_cast<std::uint32_t>(i), 0, 0, 0})[0] >> 24));
    const ImageSet set = images(c.height, c.width, c.channels, std::move(pixels));
    const ImageDataset data("test", c.sample, set, set);
    BatchMemory memory(1, c.sample.height * c.sample.width * c.sample.channels);
    data.fill(Split::train, 0, 0, 0, memory.inputs);
    for (std::int64_t channel = 0; channel < c.sample.channels; ++channel) {
      const std::int64_t from = c.channels == 1 ? 0 : channel;
      double sum = 0, squares = 0;
      for (std::int64_t i = from; i < count; i += c.channels) sum += set.pixels[static_cast<std::size_t>(i)];
      const double mean = sum / static_cast<double>(count / c.channels);
      for (std::int64_t i = from; i < count; i += c.channels)
        squares += std::pow(set.pixels[static_cast<std::size_t>(i)] - mean, 2);
      const double deviation = std::sqrt(squares / static_cast<double>(count / c.channels));
      for (std::int64_t y = 0; y < c.sample.height; ++y) {
        for (std::int64_t x = 0; x < c.sample.width; ++x) {
          const double source_y =
              (static_cast<double>(y) + 0.5) * static_cast<double>(c.height) / static_cast<double>(c.sample.height) - 0.5;
          const double source_x =
              (static_cast<double>(x) + 0.5) * static_cast<double>(c.width) / static_cast<double>(c.sample.width) - 0.5;
          const std::size_t i = static_cast<std::size_t>((y * c.sample.width + x) * c.sample.channels + channel);
          ASSERT_NEAR(memory.images[i], (bilinear(set, source_y, source_x, from) - mean) / deviation, 1e-5)
              << c.width << " to " << c.sample.width << " at " << y << ", " << x << ", " << channel;
        }
      }
    }
  }
}

TEST(Resize, KeepsChannelsApart) {
  const ImageSet set = images(1, 2, 3, {0, 100, 7, 200, 40, 7});
  const ImageDataset data("test", {1, 4, 3, 10}, set, set);
  BatchMemory memory(1, 12);
  data.fill(Split::train, 0, 0, 0, memory.inputs);
  // The mean of two values is the middle and the deviation half the distance: +-1. Channel 2 is constant.
  expect_near(memory.images, {-1, 1, 0, -0.5, 0.5, 0, 0.5, -0.5, 0, 1, -1, 0});
}

TEST(ImageDataset, RepeatsGrayOverTheChannels) {
  expect_near(shown(images(1, 2, 1, {3, 5}), {1, 2, 3, 10}), {3, 3, 3, 5, 5, 5});
  expect_near(shown(images(1, 1, 1, {3, 5}), {1, 2, 2, 10}), {3, 3, 3, 3});
}

TEST(ImageDataset, TestSplitIsStandardizedByTheTrainingSplit) {
  const ImageDataset data("test", {1, 1, 1, 10}, images(1, 1, 1, {10, 20}), images(1, 1, 1, {25}));
  BatchMemory memory(1, 1);
  data.fill(Split::test, 0, 0, 0, memory.inputs);
  EXPECT_FLOAT_EQ(memory.images[0], 2);  // (25 - 15) / 5
}

TEST(ImageDataset, ConstantImagesGiveZeros) {
  const ImageDataset data("test", {3, 3, 1, 10}, images(2, 2, 1, {9, 9, 9, 9}), images(2, 2, 1, {9, 9, 9, 11}));
  BatchMemory memory(1, 9);
  data.fill(Split::train, 0, 0, 0, memory.inputs);
  for (float value : memory.images) EXPECT_EQ(value, 0);
  data.fill(Split::test, 0, 0, 0, memory.inputs);
  for (float value : memory.images) EXPECT_TRUE(std::isfinite(value));
}

TEST(ImageDataset, WritesItsRowOnly) {
  const ImageDataset data("test", {1, 2, 1, 10}, images(1, 2, 1, {1, 2, 3, 4}), images(1, 2, 1, {1, 2}));
  BatchMemory memory(3, 2);
  data.fill(Split::train, 1, 0, 1, memory.inputs);
  for (std::size_t i : {0, 1, 4, 5}) EXPECT_EQ(memory.images[i], -99);
  EXPECT_EQ(memory.labels, (std::vector<std::int32_t>{-99, 0, -99}));
  EXPECT_LT(memory.images[2], memory.images[3]);
}

TEST(ImageDataset, FillsImagesAloneForAGraphWithoutLabels) {
  const ImageDataset data("test", {1, 2, 1, 10}, images(1, 2, 1, {1, 2}), images(1, 2, 1, {1, 2}));
  BatchMemory memory(1, 2);
  data.fill(Split::train, 0, 0, 0, std::span(memory.inputs).first(1));
  expect_near(memory.images, {-1, 1});
  EXPECT_EQ(memory.labels[0], -99);
}

TEST(Digits, SplitsEveryFifthSampleOff) {
  const auto data = open_dataset("digits", {8, 8, 1, 10}, 0, 0);
  EXPECT_EQ(data->name(), "digits");
  EXPECT_FALSE(data->synthetic());
  EXPECT_EQ(data->samples(Split::train), 1438);
  EXPECT_EQ(data->samples(Split::test), 359);
  const std::string_view labels = *embedded_file("bench/data/digits-labels.idx1-ubyte");
  BatchMemory memory(1, 64);
  for (std::int64_t i = 0, train = 0, test = 0; i < 1797; ++i) {
    const Split split = i % 5 == 4 ? Split::test : Split::train;
    data->fill(split, split == Split::test ? test++ : train++, 0, 0, memory.inputs);
    ASSERT_EQ(memory.labels[0], labels[static_cast<std::size_t>(8 + i)]) << i;
  }
}

TEST(Digits, TrainingSplitHasMeanZeroAndDeviationOne) {
  const auto data = open_dataset("digits", {8, 8, 1, 10}, 0, 0);
  BatchMemory memory(1438, 64);
  for (std::int64_t i = 0; i < 1438; ++i) data->fill(Split::train, i, 0, i, memory.inputs);
  double sum = 0, squares = 0;
  for (double value : memory.images) {
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / (1438 * 64), 0, 1e-6);
  EXPECT_NEAR(squares / (1438 * 64), 1, 1e-6);
}

TEST(Synthetic, ImagesAreTheNumbersOfTheirCounter) {
  const auto data = open_dataset("synthetic", {3, 3, 1, 10}, 60000, 42);
  EXPECT_TRUE(data->synthetic());
  EXPECT_EQ(data->samples(Split::train), 60000);
  EXPECT_EQ(data->samples(Split::test), 0);
  BatchMemory memory(2, 9);
  data->fill(Split::train, 5, 0, 1, memory.inputs);
  for (std::uint32_t i = 0; i < 9; ++i) {
    const PhiloxBlock numbers = philox(42, {i / 4, 5, 0, 3});
    const auto pair = i % 4 < 2 ? normal_pair(numbers[0], numbers[1]) : normal_pair(numbers[2], numbers[3]);
    EXPECT_EQ(memory.images[9 + i], static_cast<float>(pair[i % 2])) << i;
  }
  EXPECT_EQ(memory.images[8], -99);
}

TEST(Synthetic, DependsOnSeedAndSampleOnly) {
  const SampleSpec sample{4, 4, 2, 7};
  const auto sample_of = [&](std::uint64_t seed, std::int64_t index, std::uint64_t epoch) {
    BatchMemory memory(1, 32);
    open_dataset("synthetic", sample, 100, seed)->fill(Split::train, index, epoch, 0, memory.inputs);
    return memory.images;
  };
  EXPECT_EQ(sample_of(1, 2, 0), sample_of(1, 2, 9));
  EXPECT_NE(sample_of(1, 2, 0), sample_of(1, 3, 0));
  EXPECT_NE(sample_of(1, 2, 0), sample_of(2, 2, 0));
}

TEST(Synthetic, LabelsAreUniformOverTheClasses) {
  constexpr int kSamples = 7000, kClasses = 7;
  const auto data = open_dataset("synthetic", {1, 1, 1, kClasses}, kSamples, 3);
  BatchMemory memory(1, 1);
  int counts[kClasses] = {};
  for (int i = 0; i < kSamples; ++i) {
    data->fill(Split::train, i, 0, 0, memory.inputs);
    ASSERT_GE(memory.labels[0], 0);
    ASSERT_LT(memory.labels[0], kClasses);
    ++counts[memory.labels[0]];
  }
  for (int count : counts) EXPECT_NEAR(count, 1000, 5 * std::sqrt(1000.0));
}

// A text of 3 rows, its labels 2 classes or the tokens after each: of any batch and thread the same.
TEST(Synthetic, TextsHaveTheNextTokensOrAClassAsLabels) {
  constexpr std::int64_t kSequence = 7, kRows = 3, kVocabulary = 11;
  SampleSpec next{.classes = kVocabulary, .sequence = kSequence, .predictions = kSequence, .next_token = true};
  SampleSpec classified{.classes = kVocabulary, .sequence = kSequence, .text_classes = 2};
  std::vector<std::int32_t> ids(kRows * kSequence), again(ids), labels(ids), one_each(kRows);
  const auto fill = [&](const SampleSpec& sample, std::vector<std::int32_t>& to, std::vector<std::int32_t>& label) {
    const auto data = open_dataset("synthetic", sample, 100, 5);
    const std::span<std::byte> inputs[] = {std::as_writable_bytes(std::span(to)), std::as_writable_bytes(std::span(label))};
    for (std::int64_t row = 0; row < kRows; ++row) data->fill(Split::train, 10 + row, 0, row, inputs);
  };
  fill(next, ids, labels);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_TRUE(labels[i] >= 0 && labels[i] < kVocabulary);
    EXPECT_TRUE(i % kSequence + 1 == kSequence || labels[i] == ids[i + 1]) << i;
  }
  fill(classified, again, one_each);
  EXPECT_EQ(again, ids);
  std::int64_t ones = 0;
  for (std::int64_t first = 0; first < 1000; first += kRows) {
    const auto data = open_dataset("synthetic", classified, 2000, 5);
    const std::span<std::byte> inputs[] = {std::as_writable_bytes(std::span(again)),
                                           std::as_writable_bytes(std::span(one_each))};
    for (std::int64_t row = 0; row < kRows; ++row) data->fill(Split::train, first + row, 0, row, inputs);
    for (std::int32_t label : one_each) {
      ASSERT_TRUE(label == 0 || label == 1);
      ones += label;
    }
  }
  EXPECT_NEAR(static_cast<double>(ones), 501, 5 * std::sqrt(250.0));
}

TEST(DatasetSizes, OpensADataSetOnce) {
  test::TemporaryFolder folder;
  folder.write("text", std::string(10 * 126, 'x'));
  const std::string spec = "text:" + (folder.path() / "text").string();
  SampleSpec sample{0, 0, 0, 260};
  sample.sequence = 128;
  sample.predictions = 19;
  DatasetSizes sizes;
  EXPECT_EQ(sizes.of(spec, sample, 0).train, 9);
  std::filesystem::remove(folder.path() / "text");
  EXPECT_EQ(sizes.of(spec, sample, 0).test, 1);
  sample.sequence = 65;  // another number of windows: opened again
  expect_data_error([&] { sizes.of(spec, sample, 0); }, {"cannot be found"});
}

TEST(DatasetSizes, SyntheticDataHaveTheNominalNumber) {
  DatasetSizes sizes;
  EXPECT_EQ(sizes.of("synthetic", {8, 8, 1, 10}, 1000).train, 1000);
  EXPECT_EQ(sizes.of("synthetic", {8, 8, 1, 10}, 2000).train, 2000);
  EXPECT_TRUE(sizes.of("synthetic", {8, 8, 1, 10}, 2000).synthetic);
  EXPECT_EQ(sizes.of("digits", {8, 8, 1, 10}, 0).test, 359);
  EXPECT_FALSE(sizes.of("digits", {8, 8, 1, 10}, 0).synthetic);
}

TEST(OpenDataset, UnknownSpecNamesThoseThatTheModelTakes) {
  const SampleSpec gray{8, 8, 1, 10}, colored{8, 8, 3, 10}, text{.classes = 256, .sequence = 16, .predictions = 2},
      labeled_text{.classes = 256, .sequence = 16, .text_classes = 2};
  for (const auto& [sample, known] : {std::pair(&gray, "synthetic, digits, fashion-mnist, idx:DIR (--data)"),
                                      {&colored, "synthetic, digits, fashion-mnist, idx:DIR, cifar10:DIR"},
                                      {&text, "synthetic, founding-documents, text:FILE (--data)"},
                                      {&labeled_text, "synthetic (--data)"}})
    for (const char* spec : {"", "text", "founding", "Digits", "digits:", "synthetic ", "idx"})
      expect_data_error([&, sample = sample] { open_dataset(spec, *sample, 0, 0); },
                        {"unknown data '" + std::string(spec) + "': use one of " + known});
  expect_data_error([] { open_dataset(std::string(100000, 'x') + "\n", {8, 8, 1, 10}, 0, 0); }, {"unknown data"});
  for (const auto& [sample, spec, said] :
       {std::tuple(&gray, "mnist", "name where its files are, --data idx:DIR"),
        {&colored, "CIFAR-10", "name where its files are, --data cifar10:DIR"},
        {&gray, "cifar10", "its files are cifar10:DIR, which the model does not take; use one of synthetic, digits"},
        {&labeled_text, "mnist", "its files are idx:DIR, which the model does not take; use one of synthetic (--data)"}})
    expect_data_error([&, sample = sample, spec = spec] { open_dataset(spec, *sample, 0, 0); },
                      {"unknown data '" + std::string(spec) + "': " + said});
}

}  // namespace
}  // namespace epochbench
