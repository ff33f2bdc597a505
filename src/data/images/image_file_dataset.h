// Images in files, decoded on demand, by the calling thread.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "epochbench/dataset.h"
#include "src/data/images/image_files.h"
#include "src/data/images/preparation.h"

namespace epochbench {

class ImageFileDataset final : public Dataset {
 public:
  // Errors: DataError for a model that takes no images of three channels, for more classes than it has, and for what
  // Normalization::measured reads.
  ImageFileDataset(std::string name, const SampleSpec& sample, std::unique_ptr<ImageFiles> files, const ImageOptions& options,
                   std::uint64_t seed);

  const std::string& name() const override { return name_; }
  bool synthetic() const override { return false; }
  std::int64_t samples(Split split) const override { return files_->samples(split); }
  // Errors: DataError that names a file that cannot be decoded, with BadImages::stop; DataError if no file of a split can be.
  void fill(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
            std::span<const std::span<std::byte>> inputs) const override;
  std::vector<float> pixel_values() const override { return values_; }
  void fill_bytes(Split split, std::int64_t index, std::uint64_t epoch, std::int64_t row,
                  std::span<const std::span<std::byte>> inputs) const override;
  std::optional<std::int64_t> classes() const override { return files_->classes(); }
  std::optional<std::int64_t> left_out() const override;
  std::string note() const override { return files_->note(); }

 private:
  static constexpr std::int64_t kChannels = 3;
  using Standard = std::array<std::pair<double, double>, kChannels>;  // mean and deviation of pixel values

  std::int64_t pixels() const { return sample_.height * sample_.width; }
  Standard measured() const;
  void tabulate(const Standard& standard);
  // Decodes the sample or, if that fails, the next one that can be decoded; returns which.
  std::int64_t decode(std::uint8_t* image, Split split, std::int64_t index, std::uint64_t epoch,
                      const Augmentation& augmentation) const;
  Augmentation augmentation(Split split) const { return split == Split::train ? options_.augmentation : Augmentation{}; }
  bool is_known_bad(Split split, std::int64_t index) const;
  void leave_out(Split split, std::int64_t index, const BadImage& reason) const;

  std::string name_;
  SampleSpec sample_;
  std::unique_ptr<ImageFiles> files_;
  ImageOptions options_;
  std::uint64_t seed_;
  std::vector<float> values_;  // [channel,256] standardized value of each pixel value

  mutable std::mutex mutex_;  // guards bad_
  mutable std::set<std::pair<Split, std::int64_t>> bad_;
  mutable std::atomic<bool> any_bad_ = false;
};

}  // namespace epochbench
