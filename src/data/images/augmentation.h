// What training draws for each sample and epoch: the part of the picture, its mirror image, its colors.
//
// The numbers depend only on the seed, the epoch and the sample, so they are the same on every backend and in any thread.
#pragma once

#include <cstdint>

#include "epochbench/dataset.h"
#include "src/data/images/resampler.h"

namespace epochbench {

struct SampleDraw {  // what the numbers of a sample depend on
  std::uint64_t seed = 0, epoch = 0;
  std::int64_t sample = 0;
};

// Random resized crop (Szegedy et al., "Going deeper with convolutions", 2015, as torchvision has it): 8 to 100 % of the area,
// aspect ratios from 3:4 to 4:3; after ten draws that do not fit, the largest central part that does.
View random_crop(ImageSize size, const SampleDraw& draw);

bool random_flip(const SampleDraw& draw);  // one half of the samples

// Factors as torchvision's ColorJitter applies them, each between 0.6 and 1.4 (Krizhevsky's and Inception's recipes).
struct ColorChange {
  float brightness = 1, contrast = 1, saturation = 1;
};
ColorChange random_color(const SampleDraw& draw);
// Brightness, contrast around the image's mean gray, then saturation, rounded and limited once, at the end.
void change_color(std::uint8_t* rgb, std::int64_t pixels, const ColorChange& factors, bool wide_vectors = has_wide_vectors());

}  // namespace epochbench
