#include "src/data/images/preparation.h"

#include <algorithm>

namespace epochbench {

View central_view(ImageSize size, ImageSize target) {
  const auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
  const auto target_height = static_cast<double>(target.height), target_width = static_cast<double>(target.width);
  const double scale = std::min(height / target_height, width / target_width) * kCentralShare;
  const double high = target_height * scale, wide = target_width * scale;
  return {(height - high) / 2, (width - wide) / 2, high, wide};
}

int largest_shrink(const View& view, ImageSize target) {
  const double times =
      std::min(view.height / static_cast<double>(target.height), view.width / static_cast<double>(target.width));
  return times >= 8 ? 8 : times >= 4 ? 4 : times >= 2 ? 2 : 1;
}

void ImagePreparation::prepare(std::uint8_t* image, std::span<const std::uint8_t> file, const Augmentation& augmentation,
                               const SampleDraw& draw) {
  const ImageSize size = decoder_->open(file);
  View view = augmentation.crop ? random_crop(size, draw) : central_view(size, target_);
  const Picture picture = decoder_->decode(largest_shrink(view, target_));
  const double down = static_cast<double>(picture.size.height) / static_cast<double>(size.height);
  const double across = static_cast<double>(picture.size.width) / static_cast<double>(size.width);
  view = {view.top * down, view.left * across, view.height * down, view.width * across};
  resampler_.resample(image, picture, view, augmentation.flip && random_flip(draw));
  if (augmentation.color) change_color(image, target_.height * target_.width, random_color(draw));
}

}  // namespace epochbench
