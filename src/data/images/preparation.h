// Turns the bytes of a file into an image for a model: decoded as small as the target allows, cropped, resized, augmented.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "epochbench/dataset.h"
#include "src/data/images/augmentation.h"
#include "src/data/images/decoder.h"
#include "src/data/images/resampler.h"

namespace epochbench {

// The view if none is drawn at random: the middle of the picture, with the aspect ratio of the target, and this share of what
// fits: 224 of 256 pixels (Krizhevsky et al. 2012).
inline constexpr double kCentralShare = 0.875;
View central_view(ImageSize size, ImageSize target);

// The largest of 8, 4, 2 and 1 by which a picture can shrink so that `view` still has the target's pixels.
int largest_shrink(const View& view, ImageSize target);

// For use by one thread.
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
