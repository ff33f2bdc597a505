// Resizes a part of a picture to a model's image, with a triangle as wide as the distance of the target's pixels, so that
// shrinking does not alias (Pillow's and torchvision's bilinear with antialias). Pixels are summed in integers: the same bytes
// on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "src/data/images/decoder.h"

namespace epochbench {

struct View {  // a rectangle, in pixels of a picture; edges may lie between pixels
  double top = 0, left = 0, height = 0, width = 0;
};

struct Taps {                         // the source pixels of each target row or column
  std::int64_t pairs = 0;             // of weights, as many as the widest needs
  std::vector<std::int32_t> first;    // source pixel of the first weight
  std::vector<std::int16_t> weights;  // [target, 2 * pairs], in units of 2^-14; they sum to 1 per target
};

bool has_wide_vectors();  // of this CPU: AVX2. Other architectures have one code path, whatever `wide_vectors` says

// For use by one thread.
class Resampler {
 public:
  explicit Resampler(ImageSize target, bool wide_vectors = has_wide_vectors()) : target_(target), wide_(wide_vectors) {}

  // Writes `view`, which lies in the picture, as image u8 [target height, target width, 3]; mirrored if `flip`.
  void resample(std::uint8_t* image, const Picture& picture, const View& view, bool flip);

 private:
  void compute(Taps& taps, std::int64_t target, std::int64_t source, double begin, double length);

  ImageSize target_;
  bool wide_;
  Taps rows_, columns_;
  std::vector<double> exact_;
  std::vector<std::uint8_t> row_;  // [source width,3] of one target row, and what the last weights reach beyond it
};

}  // namespace epochbench
