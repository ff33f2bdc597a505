#include "src/data/images/augmentation.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "epochbench/philox.h"
#include "src/data/images/wide.h"

namespace epochbench {
namespace {

// Counter: (draw, epoch, sample, stream).
constexpr std::uint32_t kCrop = 0, kFlip = 16, kColor = 17;
constexpr int kTries = 10;
constexpr double kMinArea = 0.08, kNarrowest = 3.0 / 4, kWidest = 4.0 / 3;
constexpr double kMinFactor = 0.6, kMaxFactor = 1.4;
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
    const double area = height * width * between(kMinArea, 1, numbers[0]);
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
  const auto factor = [&](std::size_t i) { return static_cast<float>(between(kMinFactor, kMaxFactor, numbers[i])); };
  return {factor(0), factor(1), factor(2)};
}

namespace {

using Sums = std::array<std::int64_t, 3>;  // of red, green and blue

// All three changes are linear: v * own + shared * gray + constant, with the gray of the unchanged pixel.
struct LinearChange {
  float own, shared, constant;  // the constant includes the half that rounds
};

LinearChange linear(const ColorChange& change, const Sums& sums, std::int64_t pixels) {
  const float mean =
      (kRed * static_cast<float>(sums[0]) + kGreen * static_cast<float>(sums[1]) + kBlue * static_cast<float>(sums[2])) /
      static_cast<float>(pixels);
  const float scale = change.contrast * change.brightness, own = change.saturation * scale;
  return {own, scale - own, (1 - change.contrast) * change.brightness * mean + 0.5f};
}

void add_sums(Sums& sums, const std::uint8_t* rgb, std::int64_t pixels) {
  for (std::int64_t i = 0; i < pixels; ++i)
    for (std::size_t c = 0; c < 3; ++c) sums[c] += rgb[3 * i + static_cast<std::int64_t>(c)];
}

void change(std::uint8_t* rgb, std::int64_t pixels, const LinearChange& by) {
  const auto limited = [](float value) {
    return static_cast<std::uint8_t>(static_cast<std::int32_t>(std::min(std::max(value, 0.0f), 255.0f)));
  };
  for (std::int64_t i = 0; i < pixels; ++i) {
    const float red = rgb[3 * i], green = rgb[3 * i + 1], blue = rgb[3 * i + 2];
    const float rest = by.shared * (kRed * red + kGreen * green + kBlue * blue) + by.constant;
    rgb[3 * i] = limited(by.own * red + rest);
    rgb[3 * i + 1] = limited(by.own * green + rest);
    rgb[3 * i + 2] = limited(by.own * blue + rest);
  }
}

#if defined(__x86_64__)
// Takes 32 pixels at a time, in three vectors; each channel has its own bytes in each of them. Returns the pixels done.
EPOCHBENCH_WIDE std::int64_t add_sums_wide(Sums& sums, const std::uint8_t* rgb, std::int64_t pixels) {
  constexpr std::int64_t kPixels = 32, kVector = 32;
  std::array<std::uint8_t, kVector + 2> every_third{};
  for (std::size_t i = 0; i < every_third.size(); i += 3) every_third[i] = 0xff;
  __m256i totals[3]{}, masks[3][3];  // [channel], [channel][vector]
  for (std::int64_t c = 0; c < 3; ++c)
    for (std::int64_t v = 0; v < 3; ++v) masks[c][v] = load_wide(every_third.data() + (kVector * v + 3 - c) % 3);
  std::int64_t done = 0;
  for (; done + kPixels <= pixels; done += kPixels)
    for (std::int64_t v = 0; v < 3; ++v) {
      const __m256i values = load_wide(rgb + 3 * done + v * kVector);
      for (int c = 0; c < 3; ++c)
        totals[c] = _mm256_add_epi64(totals[c], _mm256_sad_epu8(_mm256_and_si256(values, masks[c][v]), _mm256_setzero_si256()));
    }
  for (std::size_t c = 0; c < 3; ++c) {
    std::array<std::int64_t, 4> parts{};
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(parts.data()), totals[c]);
    for (std::int64_t part : parts) sums[c] += part;
  }
  return done;
}

EPOCHBENCH_WIDE __m256 channel_of(__m256i pixels, __m256i where) {
  return _mm256_cvtepi32_ps(_mm256_shuffle_epi8(pixels, where));
}

EPOCHBENCH_WIDE __m256i changed(__m256 own, __m256 channel, __m256 rest) {
  const __m256 value = _mm256_add_ps(_mm256_mul_ps(own, channel), rest);
  return _mm256_cvttps_epi32(_mm256_min_ps(_mm256_max_ps(value, _mm256_setzero_ps()), _mm256_set1_ps(255)));
}

// Takes 8 pixels at a time, four in each half of a vector. Stores do not overlap later loads, which would wait for them.
// Returns the pixels done.
EPOCHBENCH_WIDE std::int64_t change_wide(std::uint8_t* rgb, std::int64_t pixels, const LinearChange& by) {
  constexpr std::int64_t kPixels = 8, kRead = 10;  // pixels whose bytes are read
  const __m256i first = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, -1, -1, -1, 3, -1, -1, -1, 6, -1, -1, -1, 9, -1, -1, -1));
  const __m256i second = _mm256_add_epi8(first, _mm256_set1_epi32(1)), third = _mm256_add_epi8(first, _mm256_set1_epi32(2));
  const __m256i packed = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
  const __m256i without_gap = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7);
  const __m256 own = _mm256_set1_ps(by.own), shared = _mm256_set1_ps(by.shared), constant = _mm256_set1_ps(by.constant);
  const __m256 red_share = _mm256_set1_ps(kRed), green_share = _mm256_set1_ps(kGreen), blue_share = _mm256_set1_ps(kBlue);
  std::int64_t done = 0;
  for (; done + kRead <= pixels; done += kPixels) {
    std::uint8_t* eight = rgb + 3 * done;
    const auto load_half = [](const std::uint8_t* bytes) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)); };
    const __m256i before = _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(eight)), load_half(eight + 12), 1);
    const __m256 red = channel_of(before, first), green = channel_of(before, second), blue = channel_of(before, third);
    const __m256 gray = _mm256_add_ps(_mm256_add_ps(_mm256_mul_ps(red_share, red), _mm256_mul_ps(green_share, green)),
                                      _mm256_mul_ps(blue_share, blue));
    const __m256 rest = _mm256_add_ps(_mm256_mul_ps(shared, gray), constant);
    const __m256i after = _mm256_or_si256(
        changed(own, red, rest),
        _mm256_or_si256(_mm256_slli_epi32(changed(own, green, rest), 8), _mm256_slli_epi32(changed(own, blue, rest), 16)));
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(after, packed), without_gap);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(eight), _mm256_castsi256_si128(bytes));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(eight + 16), _mm256_extracti128_si256(bytes, 1));
  }
  return done;
}
#endif

}  // namespace

void change_color(std::uint8_t* rgb, std::int64_t pixels, const ColorChange& factors, [[maybe_unused]] bool wide_vectors) {
  Sums sums{};
  std::int64_t done = 0;
#if defined(__x86_64__)
  if (wide_vectors) done = add_sums_wide(sums, rgb, pixels);
#endif
  add_sums(sums, rgb + 3 * done, pixels - done);
  const LinearChange by = linear(factors, sums, pixels);
  done = 0;
#if defined(__x86_64__)
  if (wide_vectors) done = change_wide(rgb, pixels, by);
#endif
  change(rgb + 3 * done, pixels - done, by);
}

}  // namespace epochbench
