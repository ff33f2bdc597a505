// The IDX reader: what it reads, and that it trusts no header.
#include <gtest/gtest.h>

#include "src/data/image_dataset.h"
#include "support/data_files.h"

namespace epochbench {
namespace {

using test::expect_data_error;
using test::idx_file;

constexpr SampleSpec kIdxSample{3, 2, 1, 10};
const char* const kImages = "train-images-idx3-ubyte";
const char* const kLabels = "train-labels-idx1-ubyte";

// Four training and two test images of 3 x 2.
class Idx : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write(kImages, images_);
    folder_.write(kLabels, labels_);
    folder_.write("t10k-images-idx3-ubyte", idx_file({2, 3, 2}, 256));
    folder_.write("t10k-labels-idx1-ubyte", idx_file({2}, 10));
  }
  std::unique_ptr<Dataset> open(const SampleSpec& sample = kIdxSample) const {
    return open_dataset("idx:" + folder_.path().string(), sample, 0, 0);
  }
  void expect_error(const std::vector<std::string>& parts) const {
    expect_data_error([&] { open(); }, parts);
  }

  const std::string images_ = idx_file({4, 3, 2}, 256), labels_ = idx_file({4}, 10);
  const test::TemporaryFolder folder_;
};

ImageSet parse(const std::string& images, const std::string& labels) {
  const auto image_source = open_memory("'images'", images);
  const auto label_source = open_memory("'labels'", labels);
  return read_idx(*image_source, *label_source);
}

TEST_F(Idx, ReadsImagesAndLabels) {
  const ImageSet set = read_idx_split(folder_.path(), Split::train);
  EXPECT_EQ(set.height, 3);
  EXPECT_EQ(set.width, 2);
  EXPECT_EQ(set.channels, 1);
  ASSERT_EQ(set.pixels.size(), 24u);
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(set.pixels[i], i);
  EXPECT_EQ(set.labels, (std::vector<std::uint8_t>{0, 1, 2, 3}));
  const auto data = open();
  EXPECT_EQ(data->samples(Split::train), 4);
  EXPECT_EQ(data->samples(Split::test), 2);
  EXPECT_EQ(data->name(), "idx:" + folder_.path().string());
}

TEST_F(Idx, ReadsGzipWhereThePlainFileIsMissing) {
  const ImageSet plain = read_idx_split(folder_.path(), Split::train);
  for (const auto& [name, bytes] : {std::pair{kImages, images_}, std::pair{kLabels, labels_}}) {
    std::filesystem::remove(folder_.path() / name);
    folder_.write_gzip(std::string(name) + ".gz", bytes);
  }
  const ImageSet compressed = read_idx_split(folder_.path(), Split::train);
  EXPECT_EQ(compressed.pixels, plain.pixels);
  EXPECT_EQ(compressed.labels, plain.labels);
}

// As some unpackers and copies name them, and where the place of a file is taken by a folder of its name.
TEST_F(Idx, ReadsOtherSpellingsAndPlaces) {
  const std::vector<std::uint8_t> pixels = read_idx_split(folder_.path(), Split::train).pixels;
  const auto expect_read = [&] { EXPECT_EQ(read_idx_split(folder_.path(), Split::train).pixels, pixels); };
  const auto images = folder_.path() / kImages;
  std::filesystem::rename(images, folder_.path() / "train-images.idx3-ubyte");
  expect_read();
  std::filesystem::create_directory(images);
  expect_read();
  std::filesystem::rename(folder_.path() / "train-images.idx3-ubyte", images / kImages);
  expect_read();
  std::filesystem::remove(images / kImages);
  folder_.write_gzip(std::string(kImages) + ".gz", images_);
  expect_read();
}

TEST_F(Idx, MissingFileAndFolder) {
  std::filesystem::remove(folder_.path() / kLabels);
  expect_error({kLabels, ".gz", folder_.path().string(), "--data"});
  expect_data_error([] { open_dataset("idx:/no/such/folder", kIdxSample, 0, 0); }, {"'/no/such/folder'", "not a folder"});
  expect_data_error([] { open_dataset("idx:", kIdxSample, 0, 0); }, {"idx:DIR"});
  expect_data_error([&] { open_dataset("idx:" + (folder_.path() / kImages).string(), kIdxSample, 0, 0); },
                    {"is a file: name its folder"});
}

TEST_F(Idx, PackagedImagesAreReadFromTheirFolderOrSayWhatToInstall) {
  const std::string folder = folder_.path().string();
  EXPECT_EQ(folder_of({"set", folder.c_str(), "dataset-set"}), folder_.path());
  expect_data_error(
      [] {
        folder_of({"set", "/no/such/folder", "dataset-set"});
      },
      {"'set'", "/no/such/folder", "apt-get install dataset-set", "idx:DIR"});
}

TEST_F(Idx, FashionMnistIsThatOfThePackage) {
  if (!std::filesystem::exists(kFashionMnist.folder)) GTEST_SKIP() << "the package " << kFashionMnist.package << " is missing";
  const ImageSet test = read_idx_split(folder_of(kFashionMnist), Split::test);
  EXPECT_EQ(test.samples(), 10'000);
  EXPECT_EQ(test.height, 28);
  EXPECT_EQ(test.width, 28);
}

TEST_F(Idx, FileThatIsAFolder) {
  std::filesystem::remove(folder_.path() / kImages);
  std::filesystem::create_directory(folder_.path() / kImages);
  expect_error({kImages, "is a folder: name a file in it, or put the file itself there"});
}

TEST_F(Idx, Truncated) {
  folder_.write(kImages, images_.substr(0, images_.size() - 1));
  expect_error({kImages, "truncated", "4x3x2"});
}

TEST_F(Idx, TrailingBytes) {
  folder_.write(kLabels, labels_ + "x");
  expect_error({kLabels, "goes on"});
}

TEST_F(Idx, WrongMagicAndDimensions) {
  folder_.write(kImages, "PK\3\4" + images_.substr(4));
  expect_error({kImages, "not an IDX file"});
  folder_.write(kImages, idx_file({4, 6}, 256));
  expect_error({kImages, "2 dimensions"});
}

TEST_F(Idx, HeaderLargerThanTheFile) {
  const std::string huge{0,      0,      8,      3,      '\xff', '\xff', '\xff', '\xff',
                         '\xff', '\xff', '\xff', '\xff', '\xff', '\xff', '\xff', '\xff'};
  folder_.write(kImages, huge);
  expect_error({kImages, "4294967295x4294967295x4294967295", "more than it can hold"});
  folder_.write(kImages, std::string{0, 0, 8, 3, 64, 0, 0, 0, 0, 0, 4, 0, 0, 0, 4, 0} + "xyz");
  expect_error({kImages, "1073741824x1024x1024"});
}

TEST_F(Idx, GzipWhoseHeaderStatesMoreThanArrives) {
  std::filesystem::remove(folder_.path() / kImages);
  folder_.write_gzip(std::string(kImages) + ".gz", std::string{0, 0, 8, 3, 64, 0, 0, 0, 0, 0, 4, 0, 0, 0, 4, 0} + "xyz");
  expect_error({kImages, "more than it can hold"});
  // Within what deflate could expand to, so only reading tells.
  folder_.write_gzip(std::string(kImages) + ".gz", std::string{0, 0, 8, 3, 0, 0, 0, 4, 0, 0, 0, 30, 0, 0, 0, 30} + "xyz");
  expect_error({kImages, "truncated", "3 of 3600"});
}

TEST_F(Idx, CountsThatDiffer) {
  folder_.write(kLabels, idx_file({3}, 10));
  expect_error({kImages, "4 images", kLabels, "3 labels"});
}

TEST_F(Idx, LabelThatIsNoClass) {
  expect_data_error([&] { open({3, 2, 1, 3}); }, {"label 3", "sample 3", "0 to 2"});
}

TEST_F(Idx, EmptySetAndImagesOfZeroSize) {
  folder_.write(kImages, idx_file({0, 3, 2}, 256));
  folder_.write(kLabels, idx_file({0}, 10));
  expect_error({kImages, "no sample"});
  folder_.write(kImages, idx_file({4, 3, 0}, 256));
  expect_error({kImages, "zero size"});
}

TEST_F(Idx, SplitsOfTwoSizes) {
  folder_.write("t10k-images-idx3-ubyte", idx_file({2, 2, 3}, 256));
  expect_error({"3x2x1", "2x3x1", "t10k"});
}

TEST_F(Idx, LongAndUnprintableNamesStayOneShortLine) {
  expect_data_error([] { open_dataset("idx:/no/" + std::string(5000, 'x'), kIdxSample, 0, 0); }, {"..."});
  expect_data_error([] { open_dataset("idx:/no/a\nb\x1b[31m", kIdxSample, 0, 0); }, {"/no/a?b?[31m"});
}

// Whatever is cut off or changed, there is an error for the user or a valid set: never a crash, a hang or a huge allocation.
TEST_F(Idx, EveryPrefixIsAnError) {
  for (std::size_t size = 0; size < images_.size(); ++size)
    EXPECT_THROW(parse(images_.substr(0, size), labels_), DataError) << size;
  for (std::size_t size = 0; size < labels_.size(); ++size)
    EXPECT_THROW(parse(images_, labels_.substr(0, size)), DataError) << size;
}

TEST_F(Idx, EveryChangedHeaderByteIsAnErrorOrAValidSet) {
  for (std::size_t i = 0; i < 16; ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string images = images_, labels = labels_;
      images[i] = static_cast<char>(value);
      if (i < 8) labels[i] = static_cast<char>(value);
      if (images != images_) {
        EXPECT_THROW(parse(images, labels_), DataError) << i << " = " << value;
      }
      if (labels != labels_) {
        EXPECT_THROW(parse(images_, labels), DataError) << i << " = " << value;
      }
    }
  }
}

TEST_F(Idx, EveryPrefixAndFlippedBitOfGzipIsAnErrorOrTheSameImages) {
  const std::string name = std::string(kImages) + ".gz";
  std::filesystem::remove(folder_.path() / kImages);
  folder_.write_gzip(name, images_);
  const std::string compressed = folder_.read(name);
  const ImageSet whole = read_idx_split(folder_.path(), Split::train);
  for (std::size_t size = 0; size < compressed.size(); ++size) {
    folder_.write(name, compressed.substr(0, size));
    EXPECT_THROW(read_idx_split(folder_.path(), Split::train), DataError) << size;
  }
  int accepted = 0;
  for (std::size_t bit = 0; bit < 8 * compressed.size(); ++bit) {
    std::string changed = compressed;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    folder_.write(name, changed);
    try {
      EXPECT_EQ(read_idx_split(folder_.path(), Split::train).pixels, whole.pixels) << bit;
      ++accepted;
    } catch (const DataError&) {
    }
  }
  EXPECT_LE(accepted, 8 * 6 + 8);  // time stamp, flags and operating system of the gzip header say nothing of the data
}

}  // namespace
}  // namespace epochbench
