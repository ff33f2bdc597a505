// The CIFAR-10 reader.
#include <gtest/gtest.h>

#include "src/data/image_dataset.h"
#include "support/data_files.h"

namespace epochbench {
namespace {

using test::expect_data_error;

constexpr SampleSpec kCifarSample{32, 32, 3, 10};
constexpr std::size_t kRecord = 3073;

// Red, green and blue planes of one value each, red's first pixel one more.
std::string record(int label, int red, int green, int blue) {
  std::string bytes(1, static_cast<char>(label));
  for (int value : {red, green, blue}) bytes += std::string(1024, static_cast<char>(value));
  ++bytes[1];
  return bytes;
}

class Cifar10 : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("data_batch_1.bin", record(3, 10, 20, 200) + record(9, 30, 40, 50));
    folder_.write("test_batch.bin", record(1, 1, 2, 3));
  }
  std::unique_ptr<Dataset> open(const SampleSpec& sample = kCifarSample) const {
    return open_dataset("cifar10:" + folder_.path().string(), sample, 0, 0);
  }
  void expect_error(const std::vector<std::string>& parts) const {
    expect_data_error([&] { open(); }, parts);
  }
  const test::TemporaryFolder folder_;
};

TEST_F(Cifar10, ChannelsBecomeTheLastDimension) {
  const ImageSet set = read_cifar10_split(folder_.path(), Split::train);
  EXPECT_EQ(set.height, 32);
  EXPECT_EQ(set.width, 32);
  EXPECT_EQ(set.channels, 3);
  EXPECT_EQ(set.labels, (std::vector<std::uint8_t>{3, 9}));
  ASSERT_EQ(set.pixels.size(), 2 * 3072u);
  EXPECT_EQ((std::vector<std::uint8_t>(set.pixels.begin(), set.pixels.begin() + 6)),
            (std::vector<std::uint8_t>{11, 20, 200, 10, 20, 200}));
  EXPECT_EQ((std::vector<std::uint8_t>(set.pixels.end() - 3, set.pixels.end())), (std::vector<std::uint8_t>{30, 40, 50}));
}

TEST_F(Cifar10, TakesTheFirstBatchesAndRefusesAGap) {
  folder_.write("data_batch_2.bin", record(4, 1, 2, 3));
  const auto data = open();
  EXPECT_EQ(data->samples(Split::train), 3);
  EXPECT_EQ(data->samples(Split::test), 1);
  EXPECT_EQ(data->note(),
            "only 2 of CIFAR-10's 5 training files are there; fetch data_batch_3.bin and the following ones to "
            "train on all of it");
  folder_.write("data_batch_4.bin", record(5, 1, 2, 3));
  expect_error({"has no data_batch_3.bin"});
  for (const char* name : {"data_batch_3.bin", "data_batch_5.bin"}) folder_.write(name, record(6, 1, 2, 3));
  EXPECT_EQ(open()->note(), "");
}

TEST_F(Cifar10, MissingFiles) {
  std::filesystem::remove(folder_.path() / "test_batch.bin");
  expect_error({"test_batch.bin", folder_.path().string(), "--data cifar10:DIR"});
  std::filesystem::remove(folder_.path() / "data_batch_1.bin");
  expect_error({"data_batch_1.bin"});
  expect_data_error([] { open_dataset("cifar10:", kCifarSample, 0, 0); }, {"cifar10:DIR"});
}

TEST_F(Cifar10, SizeThatIsNoWholeRecords) {
  for (const std::string& bytes : {std::string(), std::string(3072, 'x'), record(1, 2, 3, 4) + "x"}) {
    folder_.write("data_batch_1.bin", bytes);
    expect_error({"data_batch_1.bin", std::to_string(bytes.size()) + " bytes", "3073"});
  }
}

TEST_F(Cifar10, MislabeledRecord) {
  folder_.write("data_batch_1.bin", record(9, 1, 2, 3) + record(10, 1, 2, 3));
  expect_error({"data_batch_1.bin", "label 10", "record 1"});
}

TEST_F(Cifar10, CompressedFileIsNoRecords) {
  std::string bytes(kRecord, '\0');
  bytes.replace(0, 4, "\x1f\x8b\x08\x00", 4);
  folder_.write("data_batch_1.bin", bytes);
  expect_error({"data_batch_1.bin"});
}

TEST_F(Cifar10, ColorForAGrayModel) {
  expect_data_error([&] { open({28, 28, 1, 10}); }, {"3 channels", "takes 1"});
}

TEST_F(Cifar10, APrefixIsAnErrorOrWholeRecords) {
  const std::string bytes = record(1, 2, 3, 4) + record(2, 3, 4, 5);
  std::vector<std::size_t> sizes{0, 1, 2, kRecord - 1, kRecord, kRecord + 1, 2 * kRecord - 1};
  for (std::size_t size = 3; size < bytes.size(); size += 97) sizes.push_back(size);
  for (std::size_t size : sizes) {
    folder_.write("test_batch.bin", bytes.substr(0, size));
    if (size == kRecord) {
      EXPECT_EQ(read_cifar10_split(folder_.path(), Split::test).samples(), 1);
    } else {
      EXPECT_THROW(read_cifar10_split(folder_.path(), Split::test), DataError) << size;
    }
  }
}

TEST_F(Cifar10, EveryLabelByteIsAClassOrAnError) {
  for (int label = 0; label < 256; ++label) {
    folder_.write("test_batch.bin", record(label, 1, 2, 3));
    if (label < 10) {
      EXPECT_EQ(read_cifar10_split(folder_.path(), Split::test).labels.front(), label);
    } else {
      EXPECT_THROW(read_cifar10_split(folder_.path(), Split::test), DataError) << label;
    }
  }
}

}  // namespace
}  // namespace epochbench
