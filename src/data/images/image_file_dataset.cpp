#include "src/data/images/image_file_dataset.h"

#include <algorithm>
#include <cmath>

#include "src/base/errors.h"
#include "src/data/byte_source.h"

namespace epochbench {
namespace {

// For ImageNet's training images, as torchvision, timm and MLPerf use them.
constexpr std::array<std::pair<double, double>, 3> kImageNet{
    {{0.485 * 255, 0.229 * 255}, {0.456 * 255, 0.224 * 255}, {0.406 * 255, 0.225 * 255}}};

// What a thread keeps from one image to the next, as the memory of a decoder and a resampler is worth more than an image.
class Workplace {
 public:
  std::vector<std::uint8_t> file, image;
  ImagePreparation& preparation(ImageSize target) {
    if (!preparation_ || target.height != target_.height || target.width != target_.width) {
      preparation_ = std::make_unique<ImagePreparation>(target, ImageDecoder::make());
      target_ = target;
    }
    return *preparation_;
  }

 private:
  ImageSize target_;
  std::unique_ptr<ImagePreparation> preparation_;
};

Workplace& workplace() {
  thread_local Workplace place;
  return place;
}

}  // namespace

ImageFileDataset::ImageFileDataset(std::string name, const SampleSpec& sample, std::unique_ptr<ImageFiles> files,
                                   const ImageOptions& options, std::uint64_t seed)
    : name_(std::move(name)), sample_(sample), files_(std::move(files)), options_(options), seed_(seed) {
  if (sample_.channels != kChannels)
    throw DataError("data " + in_quotes(name_) + " are images of 3 channels, the model takes " +
                    std::to_string(sample_.channels) + ": use a model of colored images, such as resnet20 (--model)");
  if (files_->classes() > sample_.classes)
    throw DataError("data " + in_quotes(name_) + " has " + std::to_string(files_->classes()) + " classes, the model takes " +
                    std::to_string(sample_.classes) +
                    ": give the model's option classes, as in --model resnet20:classes=" + std::to_string(files_->classes()));
  tabulate(options_.normalization == Normalization::measured ? measured() : kImageNet);
}

// From a few training images, evenly spread, as the model sees them. All images of ImageNet would take an hour, and would
// change the third digit.
ImageFileDataset::Standard ImageFileDataset::measured() const {
  constexpr std::int64_t kMax = 256;
  const std::int64_t samples = files_->samples(Split::train), count = std::min(samples, kMax);
  std::array<std::int64_t, kChannels> sums{}, squares{};
  std::vector<std::uint8_t> image(static_cast<std::size_t>(pixels() * kChannels));
  for (std::int64_t i = 0; i < count; ++i) {
    decode(image.data(), Split::train, i * samples / count, 0, {});
    for (std::size_t at = 0; at < image.size(); ++at) {
      sums[at % kChannels] += image[at];
      squares[at % kChannels] += image[at] * image[at];
    }
  }
  Standard standard;
  for (std::size_t c = 0; c < kChannels; ++c) {
    const auto total = static_cast<double>(count * pixels());
    const double mean = static_cast<double>(sums[c]) / total;
    const double variance = static_cast<double>(squares[c]) / total - mean * mean;
    standard[c] = {mean, variance > 0 ? std::sqrt(variance) : 1};
  }
  return standard;
}

void ImageFileDataset::tabulate(const Standard& standard) {
  for (const auto& [mean, deviation] : standard)
    for (int value = 0; value < 256; ++value) values_.push_back(static_cast<float>((value - mean) / deviation));
}

void ImageFileDataset::fill(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
                            std::span<const std::span<std::byte>> inputs) const {
  std::vector<std::uint8_t>& bytes = workplace().image;
  bytes.resize(static_cast<std::size_t>(pixels() * kChannels));
  const std::int64_t used = decode(bytes.data(), split, index, epoch, augmentation(split));
  float* image = reinterpret_cast<float*>(inputs[0].data()) + row * pixels() * kChannels;
  for (std::int64_t i = 0; i < pixels(); ++i)
    for (std::int64_t c = 0; c < kChannels; ++c)
      image[i * kChannels + c] =
          values_[static_cast<std::size_t>(256 * c) + bytes[static_cast<std::size_t>(i * kChannels + c)]];
  if (inputs.size() > 1) reinterpret_cast<std::int32_t*>(inputs[1].data())[row] = files_->label(split, used);
}

void ImageFileDataset::fill_bytes(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
                                  std::span<const std::span<std::byte>> inputs) const {
  auto* image = reinterpret_cast<std::uint8_t*>(inputs[0].data()) + row * pixels() * kChannels;
  const std::int64_t used = decode(image, split, index, epoch, augmentation(split));
  if (inputs.size() > 1) reinterpret_cast<std::int32_t*>(inputs[1].data())[row] = files_->label(split, used);
}

std::int64_t ImageFileDataset::decode(std::uint8_t* image, Split split, std::int64_t index, std::uint64_t epoch,
                                      const Augmentation& augmentation) const {
  const std::int64_t samples = files_->samples(split);
  Workplace& place = workplace();
  ImagePreparation& preparation = place.preparation({sample_.height, sample_.width});
  for (std::int64_t tried = 0; tried < samples; ++tried) {
    const std::int64_t candidate = (index + tried) % samples;
    if (is_known_bad(split, candidate)) continue;
    try {
      files_->read(place.file, split, candidate);
      preparation.prepare(image, place.file, augmentation, {seed_, epoch, candidate});
      return candidate;
    } catch (const BadImage& reason) {
      leave_out(split, candidate, reason);
    }
  }
  throw DataError("data " + in_quotes(name_) + ": no image of " + (split == Split::train ? "train" : "val") +
                  " can be decoded: use another set");
}

bool ImageFileDataset::is_known_bad(Split split, std::int64_t index) const {
  if (!any_bad_) return false;
  const std::lock_guard lock(mutex_);
  return bad_.contains({split, index});
}

void ImageFileDataset::leave_out(Split split, std::int64_t index, const BadImage& reason) const {
  constexpr std::size_t kMaxNamed = 100;
  const std::string what = "image " + in_quotes(files_->name(split, index)) + " of " + in_quotes(name_) + " " + reason.what();
  if (options_.bad_images == BadImages::stop)
    throw DataError(what + ": replace or remove it, or leave out such images (--on-bad-image skip)");
  const std::lock_guard lock(mutex_);
  any_bad_ = true;
  if (!bad_.insert({split, index}).second || bad_.size() > kMaxNamed) return;
  print_error("left out: " + what + (bad_.size() == kMaxNamed ? "; further ones are counted, and not named" : ""));
}

std::optional<std::int64_t> ImageFileDataset::left_out() const {
  if (options_.bad_images == BadImages::stop) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(bad_.size());
}

}  // namespace epochbench
