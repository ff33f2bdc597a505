// A file's bytes to a model's image: decoded as small as the target allows, cut out, resized, changed as training asks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "epochbench/dataset.h"
#include "src/data/images/augmentation.h"
#include "src/data/images/decoder.h"
#include "src/data/images/resampler.h"

namespace epochbench {

// What is read where nothing is drawn: the middle of the picture, with the ratio of the target's sides, and this share of what
// fits: 224 of 256 pixels (Krizhevsky et al. 2012).
inline constexpr double kCentralShare = 0.875;
View central_view(ImageSize size, ImageSize target);

// The largest of 8, 4, 2 and 1 by which a picture can shrink so that `view` still has the target's pixels.
int largest_shrink(const View& view, ImageSize target);

// Of one thread.
class ImagePreparation {
 public:
  ImagePreparation(ImageSize target, std::unique_ptr<ImageDecoder> decoder)
      : target_(target), decoder_(std::move(decoder)), resampler_(target) {}

  // Writes image u8 [target height, target width, 3]. Errors: BadImage.
  void prepare(std::uint8_t* image, std::span<const std::uint8_t> file, const Augmentation& augmentation,
               const SampleDraw& draw);

 private:
  ImageSize target_;
  std::unique_ptr<ImageDecoder> decoder_;
  Resampler resampler_;
};

}  // namespace epochbench
