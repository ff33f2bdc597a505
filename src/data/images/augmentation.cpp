#include "src/data/images/augmentation.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "epochbench/philox.h"

namespace epochbench {
namespace {

// Counter: (draw, epoch, sample, stream).
constexpr std::uint32_t kCrop = 0, kFlip = 16, kColor = 17;
constexpr int kTries = 10;
constexpr double kLeastArea = 0.08, kNarrowest = 3.0 / 4, kWidest = 4.0 / 3;
constexpr double kLeastFactor = 0.6, kMostFactor = 1.4;
constexpr std::int64_t kBlock = 4096;                            // pixels whose sums fit 32 bits
constexpr float kRed = 0.299f, kGreen = 0.587f, kBlue = 0.114f;  // ITU-R BT.601, as Pillow's gray

PhiloxBlock numbers_of(const SampleDraw& draw, std::uint32_t what) {
  return philox(draw.seed, {what, static_cast<std::uint32_t>(draw.epoch), static_cast<std::uint32_t>(draw.sample),
                            static_cast<std::uint32_t>(RandomStream::augmentation)});
}

double between(double least, double most, std::uint32_t bits) { return least + (most - least) * uniform01(bits); }

View central(ImageSize size) {
  const auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
  const double ratio = std::clamp(width / height, kNarrowest, kWidest);
  View view{0, 0, std::min(height, std::round(width / ratio)), std::min(width, std::round(height * ratio))};
  view.height = std::max(view.height, 1.0);
  view.width = std::max(view.width, 1.0);
  view.top = std::floor((height - view.height) / 2);
  view.left = std::floor((width - view.width) / 2);
  return view;
}

}  // namespace

View random_crop(ImageSize size, const SampleDraw& draw) {
  const auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
  for (int i = 0; i < kTries; ++i) {
    const PhiloxBlock numbers = numbers_of(draw, kCrop + static_cast<std::uint32_t>(i));
    const double area = height * width * between(kLeastArea, 1, numbers[0]);
    const double ratio = std::exp(between(std::log(kNarrowest), std::log(kWidest), numbers[1]));
    const double wide = std::round(std::sqrt(area * ratio)), high = std::round(std::sqrt(area / ratio));
    if (wide < 1 || wide > width || high < 1 || high > height) continue;
    return {std::floor(uniform01(numbers[2]) * (height - high + 1)), std::floor(uniform01(numbers[3]) * (width - wide + 1)),
            high, wide};
  }
  return central(size);
}

bool random_flip(const SampleDraw& draw) { return numbers_of(draw, kFlip)[0] >> 31 != 0; }

ColorChange random_color(const SampleDraw& draw) {
  const PhiloxBlock numbers = numbers_of(draw, kColor);
  const auto factor = [&](std::size_t i) { return static_cast<float>(between(kLeastFactor, kMostFactor, numbers[i])); };
  return {factor(0), factor(1), factor(2)};
}

namespace {

// All three changes are linear: v * own + gray * shared + constant, with the gray of the unchanged pixel. Blocks of planes,
// since neighbors of one channel are what vectors take.
__attribute__((always_inline)) inline void change(std::uint8_t* rgb, std::int64_t pixels, const ColorChange& change) {
  std::int64_t sums[3]{};
  for (std::int64_t begin = 0; begin < pixels; begin += kBlock) {
    std::int32_t red = 0, green = 0, blue = 0;
    const std::uint8_t* block = rgb + 3 * begin;
    for (std::int64_t i = 0; i < std::min(kBlock, pixels - begin); ++i) {
      red += block[3 * i];
      green += block[3 * i + 1];
      blue += block[3 * i + 2];
    }
    sums[0] += red;
    sums[1] += green;
    sums[2] += blue;
  }
  const float mean =
      (kRed * static_cast<float>(sums[0]) + kGreen * static_cast<float>(sums[1]) + kBlue * static_cast<float>(sums[2])) /
      static_cast<float>(pixels);
  const float scale = change.contrast * change.brightness, own = change.saturation * scale, shared = scale - own;
  const float constant = (1 - change.contrast) * change.brightness * mean + 0.5f;
  const auto limited = [](float value) {
    return static_cast<std::uint8_t>(static_cast<std::int32_t>(std::min(std::max(value, 0.0f), 255.0f)));
  };
  for (std::int64_t i = 0; i < pixels; ++i) {
    const float red = rgb[3 * i], green = rgb[3 * i + 1], blue = rgb[3 * i + 2];
    const float rest = shared * (kRed * red + kGreen * green + kBlue * blue) + constant;
    rgb[3 * i] = limited(own * red + rest);
    rgb[3 * i + 1] = limited(own * green + rest);
    rgb[3 * i + 2] = limited(own * blue + rest);
  }
}

// The same code for wider vectors, without fused multiplications, which would round differently.
#if defined(__x86_64__)
__attribute__((target("avx2"))) void change_wide(std::uint8_t* rgb, std::int64_t pixels, const ColorChange& factors) {
  change(rgb, pixels, factors);
}
#endif

}  // namespace

void change_color(std::uint8_t* rgb, std::int64_t pixels, const ColorChange& factors, [[maybe_unused]] bool wide_vectors) {
#if defined(__x86_64__)
  if (wide_vectors) return change_wide(rgb, pixels, factors);
#endif
  change(rgb, pixels, factors);
}

}  // namespace epochbench
