#include "src/data/image_dataset.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace epochbench {
namespace {

std::string size_of(const ImageSet& set) {
  return std::to_string(set.height) + "x" + std::to_string(set.width) + "x" + std::to_string(set.channels);
}

void check(const ImageSet& set, const SampleSpec& sample) {
  if (set.samples() == 0) throw DataError("data in " + set.source + " have no samples: use a set with at least one");
  if (set.channels != 1 && set.channels != sample.channels) {
    throw DataError("data in " + set.source + " are images of " + std::to_string(set.channels) + " channels, the model takes " +
                    std::to_string(sample.channels) + ": use a model that takes as many, such as " +
                    (set.channels == 3 ? "resnet20" : "lenet5") + " (--model), or gray images, which are repeated");
  }
  const auto wrong = std::find_if(set.labels.begin(), set.labels.end(), [&](int label) { return label >= sample.classes; });
  if (wrong != set.labels.end()) {
    throw DataError("data in " + set.source + " have label " + std::to_string(*wrong) + " at sample " +
                    std::to_string(wrong - set.labels.begin()) + ", the model's classes are 0 to " +
                    std::to_string(sample.classes - 1) + ": use labels or a model that fit");
  }
}

}  // namespace

ImageDataset::ImageDataset(std::string name, const SampleSpec& sample, ImageSet train, ImageSet test)
    : name_(std::move(name)), sample_(sample), train_(std::move(train)), test_(std::move(test)) {
  check(train_, sample_);
  check(test_, sample_);
  if (train_.height != test_.height || train_.width != test_.width || train_.channels != test_.channels) {
    throw DataError("training images in " + train_.source + " are " + size_of(train_) + ", test images in " + test_.source +
                    " are " + size_of(test_) + ": both splits must have one size");
  }
  standardize();
  if (train_.height != sample_.height || train_.width != sample_.width) {
    rows_ = taps(train_.height, sample_.height);
    columns_ = taps(train_.width, sample_.width);
  }
}

// Counting the pixel values makes the sums exact for any order and number of pixels.
void ImageDataset::standardize() {
  const auto channels = static_cast<std::size_t>(train_.channels);
  std::vector<std::array<std::int64_t, 256>> counts(channels);
  for (std::size_t i = 0; i < train_.pixels.size(); i += channels)
    for (std::size_t c = 0; c < channels; ++c) ++counts[c][train_.pixels[i + c]];
  const double pixels = static_cast<double>(train_.pixels.size() / channels);
  value_of_.resize(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    double sum = 0, squares = 0;
    for (int v = 0; v < 256; ++v) sum += v * static_cast<double>(counts[c][static_cast<std::size_t>(v)]);
    const double mean = sum / pixels;
    for (int v = 0; v < 256; ++v)
      squares += (v - mean) * (v - mean) * static_cast<double>(counts[c][static_cast<std::size_t>(v)]);
    const double deviation = std::sqrt(squares / pixels);
    for (int v = 0; v < 256; ++v)
      value_of_[c][static_cast<std::size_t>(v)] = static_cast<float>((v - mean) / (deviation > 0 ? deviation : 1));
  }
}

std::vector<ImageDataset::Tap> ImageDataset::taps(std::int64_t source, std::int64_t target) {
  std::vector<Tap> taps;
  for (std::int64_t i = 0; i < target; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * static_cast<double>(source) / static_cast<double>(target) - 0.5;
    const double below = std::floor(center);
    const auto first = static_cast<std::int64_t>(below);
    taps.push_back({std::clamp<std::int64_t>(first, 0, source - 1), std::clamp<std::int64_t>(first + 1, 0, source - 1),
                    static_cast<float>(center - below)});
  }
  return taps;
}

void ImageDataset::fill(Split split, std::int64_t index, std::uint64_t, std::int64_t row,
                        std::span<const std::span<std::byte>> inputs) const {
  const std::uint8_t* pixels = pixels_of(split, index);
  float* image = reinterpret_cast<float*>(inputs[0].data()) + row * sample_.height * sample_.width * sample_.channels;
  if (rows_.empty()) {
    copy_image(image, pixels);
  } else {
    resize_image(image, pixels);
  }
  write_label(split, index, row, inputs);
}

std::vector<float> ImageDataset::pixel_values() const {
  if (!rows_.empty()) return {};
  std::vector<float> values;
  for (std::int64_t c = 0; c < sample_.channels; ++c) {
    const auto& of_channel = value_of_[train_.channels == 1 ? 0 : static_cast<std::size_t>(c)];
    values.insert(values.end(), of_channel.begin(), of_channel.end());
  }
  return values;
}

void ImageDataset::fill_bytes(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
                              std::span<const std::span<std::byte>> inputs) const {
  if (!rows_.empty()) return Dataset::fill_bytes(split, index, epoch, row, inputs);
  const std::uint8_t* pixels = pixels_of(split, index);
  const std::int64_t channels = sample_.channels, count = sample_.height * sample_.width;
  auto* image = reinterpret_cast<std::uint8_t*>(inputs[0].data()) + row * count * channels;
  if (channels == train_.channels)
    std::copy_n(pixels, count * channels, image);
  else
    for (std::int64_t i = 0; i < count; ++i) std::fill_n(image + i * channels, channels, pixels[i]);
  write_label(split, index, row, inputs);
}

const std::uint8_t* ImageDataset::pixels_of(Split split, std::int64_t index) const {
  const ImageSet& from = set(split);
  return from.pixels.data() + index * from.height * from.width * from.channels;
}

void ImageDataset::write_label(Split split, std::int64_t index, std::int64_t row,
                               std::span<const std::span<std::byte>> inputs) const {
  if (inputs.size() > 1)
    reinterpret_cast<std::int32_t*>(inputs[1].data())[row] = set(split).labels[static_cast<std::size_t>(index)];
}

void ImageDataset::copy_image(float* image, const std::uint8_t* pixels) const {
  const std::int64_t channels = sample_.channels, count = sample_.height * sample_.width;
  const bool gray = train_.channels == 1;
  for (std::int64_t c = 0; c < channels; ++c) {
    const float* value_of = value_of_[gray ? 0 : static_cast<std::size_t>(c)].data();
    const std::uint8_t* from = pixels + (gray ? 0 : c);
    for (std::int64_t i = 0; i < count; ++i) image[i * channels + c] = value_of[from[i * train_.channels]];
  }
}

// Columns first, into two rows that most of the following target rows share; then rows, over contiguous memory. The rows are on
// the stack, in blocks of columns, so that any size works without an allocation.
void ImageDataset::resize_image(float* image, const std::uint8_t* pixels) const {
  constexpr std::int64_t kBlock = 1024;  // floats: two rows take 8 KiB, a small part of any L1 cache and stack
  const std::int64_t source_channels = train_.channels, channels = sample_.channels, pitch = train_.width * source_channels;
  const std::int64_t width = sample_.width, block = std::max<std::int64_t>(1, kBlock / source_channels);
  std::array<float, kBlock> first, second;
  for (std::int64_t begin = 0; begin < width; begin += block) {
    const std::span<const Tap> columns =
        std::span(columns_).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(std::min(block, width - begin)));
    const std::int64_t count = static_cast<std::int64_t>(columns.size()) * source_channels;
    float *above = first.data(), *below = second.data();
    std::int64_t above_row = -1, below_row = -1;  // the source rows in them
    for (std::size_t y = 0; y < rows_.size(); ++y) {
      const Tap& row = rows_[y];
      if (below_row == row.first) {
        std::swap(above, below);
        std::swap(above_row, below_row);
      }
      if (above_row != row.first) resize_row(above, pixels + row.first * pitch, columns);
      if (below_row != row.second) resize_row(below, pixels + row.second * pitch, columns);
      above_row = row.first;
      below_row = row.second;
      float* target = image + (static_cast<std::int64_t>(y) * width + begin) * channels;
      if (channels == source_channels) {
        for (std::int64_t i = 0; i < count; ++i) target[i] = above[i] + row.weight * (below[i] - above[i]);
      } else {
        for (std::int64_t i = 0; i < count; ++i)
          std::fill_n(target + i * channels, channels, above[i] + row.weight * (below[i] - above[i]));
      }
    }
  }
}

void ImageDataset::resize_row(float* resized, const std::uint8_t* pixels, std::span<const Tap> columns) const {
  const std::int64_t channels = train_.channels;
  for (const Tap& column : columns) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const float* value_of = value_of_[static_cast<std::size_t>(c)].data();
      const float left = value_of[pixels[column.first * channels + c]];
      const float right = value_of[pixels[column.second * channels + c]];
      *resized++ = left + column.weight * (right - left);
    }
  }
}

}  // namespace epochbench
