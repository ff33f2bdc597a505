// Labeled images with 8 bits per channel: the files that hold them, and the data set that resizes them for a model.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "epochbench/dataset.h"
#include "src/data/byte_source.h"

namespace epochbench {

struct ImageSet {
  std::string source;  // the file or folder, in quotes, for messages
  std::int64_t height = 0, width = 0, channels = 1;
  std::vector<std::uint8_t> pixels;  // [samples, height, width, channels]
  std::vector<std::uint8_t> labels;  // [samples]
  std::string note{};                // on what the set lacks, or empty
  std::int64_t samples() const { return static_cast<std::int64_t>(labels.size()); }
};

// The IDX format of MNIST (http://yann.lecun.com/exdb/mnist/), a big-endian header, then unsigned bytes: gray images (three
// dimensions: samples, rows, columns) with their labels (one dimension).
// Errors: DataError for a wrong magic number or number of dimensions, sizes that the source cannot hold, empty or missing
// images, trailing bytes, and different numbers of images and labels.
ImageSet read_idx(ByteSource& images, ByteSource& labels);
// train-images-idx3-ubyte, train-labels-idx1-ubyte (or t10k-...) of a folder, each plain, with .gz or in a folder of
// its name, which some unpackers write as train-images.idx3-ubyte.
ImageSet read_idx_split(const std::filesystem::path& folder, Split split);
bool has_idx_files(const std::filesystem::path& folder);

// Images in IDX files from a system package.
struct PackagedImages {
  const char *name, *folder, *package;
};
// Xiao et al., "Fashion-MNIST", 2017 (MIT license).
inline constexpr PackagedImages kFashionMnist{"fashion-mnist", "/usr/share/datasets/fashion-mnist", "dataset-fashion-mnist"};
// Errors: DataError that says how to install the package.
std::filesystem::path folder_of(const PackagedImages& images);

// CIFAR-10's binary version (https://www.cs.toronto.edu/~kriz/cifar.html): data_batch_1.bin and the following ones without a
// gap, up to 5, with a note on the missing ones; or test_batch.bin. A record is a label byte and 3 planes (red, green, blue) of
// 32 x 32 bytes; the channels become the last dimension. Errors: DataError for missing files, incomplete records and labels
// above 9.
ImageSet read_cifar10_split(const std::filesystem::path& folder, Split split);

// Two splits in memory. An image is standardized by the mean and the deviation of the training split's raw pixels, one pair
// per channel, and resized to the model's input: bilinear, half-pixel centers, edges clamped, no low-pass filter before
// shrinking. A channel with deviation 0 is only shifted. A gray image is repeated for each of the model's channels.
class ImageDataset final : public Dataset {
 public:
  // Errors: DataError for an empty split, splits with different image sizes, labels outside the model's classes, and a
  // different number of channels.
  ImageDataset(std::string name, const SampleSpec& sample, ImageSet train, ImageSet test);

  const std::string& name() const override { return name_; }
  std::string note() const override { return train_.note; }
  bool synthetic() const override { return false; }
  std::int64_t samples(Split split) const override { return set(split).samples(); }
  void fill(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
            std::span<const std::span<std::byte>> inputs) const override;
  std::vector<float> pixel_values() const override;  // empty for images that are resized, which requires floats
  void fill_bytes(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
                  std::span<const std::span<std::byte>> inputs) const override;

 private:
  struct Tap {  // the two source rows or columns of a target row or column, and the weight of the second
    std::int64_t first, second;
    float weight;
  };
  static std::vector<Tap> taps(std::int64_t source, std::int64_t target);
  const ImageSet& set(Split split) const { return split == Split::train ? train_ : test_; }
  void standardize();
  const std::uint8_t* pixels_of(Split split, std::int64_t index) const;
  void write_label(Split split, std::int64_t index, std::int64_t row, std::span<const std::span<std::byte>> inputs) const;
  void copy_image(float* image, const std::uint8_t* pixels) const;
  void resize_image(float* image, const std::uint8_t* pixels) const;
  void resize_row(float* resized, const std::uint8_t* pixels, std::span<const Tap> columns) const;

  std::string name_;
  SampleSpec sample_;
  ImageSet train_, test_;
  std::vector<std::array<float, 256>> value_of_;  // [channel of the images] standardized value of each pixel value
  std::vector<Tap> rows_, columns_;               // empty if nothing is resized
};

}  // namespace epochbench
