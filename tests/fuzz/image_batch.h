// A set of images as a model with another image size reads it.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "fuzz/targets.h"
#include "src/data/image_dataset.h"

namespace epochbench::fuzz {

// Creates a data set of `images` for a model of 5 x 7 pixels, 3 channels and 10 classes, and reads its last sample.
// Errors: DataError for images or labels that the model cannot use.
inline void feed(ImageSet images) {
  constexpr SampleSpec kSample{.height = 5, .width = 7, .channels = 3, .classes = 10};
  const auto samples = static_cast<std::size_t>(images.samples());
  require(images.pixels.size() == samples * static_cast<std::size_t>(images.height * images.width * images.channels),
          "every image has all of its pixels");
  const ImageSet test = images;
  const ImageDataset dataset("fuzzed", kSample, std::move(images), test);
  std::vector<float> pixels(static_cast<std::size_t>(kSample.height * kSample.width * kSample.channels));
  std::vector<std::int32_t> labels(1);
  const std::vector<std::span<std::byte>> inputs{std::as_writable_bytes(std::span(pixels)),
                                                 std::as_writable_bytes(std::span(labels))};
  dataset.fill(Split::train, dataset.samples(Split::train) - 1, 0, 0, inputs);
  require(labels[0] >= 0 && labels[0] < kSample.classes, "a label is a class of the model");
}

}  // namespace epochbench::fuzz
