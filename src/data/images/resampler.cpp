#include "src/data/images/resampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include "src/data/images/wide.h"

namespace epochbench {
namespace {

constexpr int kBits = 14;  // a weight of 1 still fits 16 bits, and its product with a byte the 32 of a sum
constexpr std::int32_t kOne = 1 << kBits;

// One target row, blended byte by byte from `count` source rows, the first at `rows`.
struct RowBlend {
  const std::uint8_t* rows;     // [count,pitch]
  std::int64_t count, pitch;    // source rows that there are
  const std::int16_t* weights;  // [2 * pairs]
  std::int64_t pairs;
};

void blend_rows(std::uint8_t* row, const RowBlend& blend, std::int64_t first_byte, std::int64_t last_byte) {
  const std::int64_t count = std::min(2 * blend.pairs, blend.count);
  for (std::int64_t at = first_byte; at < last_byte; ++at) {
    std::int32_t sum = kOne / 2;
    for (std::int64_t k = 0; k < count; ++k) sum += blend.weights[k] * blend.rows[k * blend.pitch + at];
    row[at] = static_cast<std::uint8_t>(sum >> kBits);
  }
}

#if defined(__x86_64__)
std::int32_t two_weights(const std::int16_t* weights) {
  std::int32_t both = 0;
  std::memcpy(&both, weights, sizeof both);
  return both;
}

// Two rows at a time with interleaved bytes, as one instruction multiplies both and adds.
EPOCHBENCH_WIDE void blend_rows_wide(std::uint8_t* row, const RowBlend& blend, std::int64_t first_byte,
                                     std::int64_t last_byte) {
  constexpr std::int64_t kVector = 32;  // bytes
  const __m256i zero = _mm256_setzero_si256(), half = _mm256_set1_epi32(kOne / 2);
  for (std::int64_t at = first_byte; at < last_byte; at += kVector) {
    __m256i sum0 = half, sum1 = half, sum2 = half, sum3 = half;
    for (std::int64_t pair = 0; pair < blend.pairs; ++pair) {
      // Rows below the picture have a weight of 0.
      const std::int64_t upper = std::min(2 * pair, blend.count - 1), lower = std::min(upper + 1, blend.count - 1);
      const __m256i weight = _mm256_set1_epi32(two_weights(blend.weights + 2 * pair));
      const __m256i a = load_wide(blend.rows + upper * blend.pitch + at), b = load_wide(blend.rows + lower * blend.pitch + at);
      const __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);
      sum0 = _mm256_add_epi32(sum0, _mm256_madd_epi16(_mm256_unpacklo_epi8(low, zero), weight));
      sum1 = _mm256_add_epi32(sum1, _mm256_madd_epi16(_mm256_unpackhi_epi8(low, zero), weight));
      sum2 = _mm256_add_epi32(sum2, _mm256_madd_epi16(_mm256_unpacklo_epi8(high, zero), weight));
      sum3 = _mm256_add_epi32(sum3, _mm256_madd_epi16(_mm256_unpackhi_epi8(high, zero), weight));
    }
    const __m256i low = _mm256_packs_epi32(_mm256_srai_epi32(sum0, kBits), _mm256_srai_epi32(sum1, kBits));
    const __m256i high = _mm256_packs_epi32(_mm256_srai_epi32(sum2, kBits), _mm256_srai_epi32(sum3, kBits));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(row + at), _mm256_packus_epi16(low, high));
  }
}
#endif

void blend_columns(std::uint8_t* image, const std::uint8_t* row, const Taps& taps, std::int64_t width, bool flip) {
  for (std::int64_t x = 0; x < width; ++x) {
    const std::int64_t column = flip ? width - 1 - x : x;
    const std::int16_t* weights = taps.weights.data() + column * taps.pairs * 2;
    const std::uint8_t* pixels = row + taps.first[static_cast<std::size_t>(column)] * std::int64_t{3};
    for (std::int64_t c = 0; c < 3; ++c) {
      std::int32_t sum = kOne / 2;
      for (std::int64_t k = 0; k < 2 * taps.pairs; ++k) sum += weights[k] * pixels[3 * k + c];
      image[3 * x + c] = static_cast<std::uint8_t>(sum >> kBits);
    }
  }
}

#if defined(__x86_64__)
// Two neighbors at a time, in a loop of known length unless kPairs is 0. Each pixel is stored as four bytes, the fourth
// belonging to the next one, which is stored later; the last of an image as three.
template <int kPairs>
EPOCHBENCH_WIDE void blend_columns_wide(std::uint8_t* image, const std::uint8_t* row, const Taps& taps, std::int64_t width,
                                        bool flip, bool last_row) {
  const std::int64_t pairs = kPairs > 0 ? kPairs : taps.pairs;
  const __m128i half = _mm_set1_epi32(kOne / 2);
  // Red of both pixels, green of both, blue of both, each widened to 16 bits.
  const __m128i spread = _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
  const std::int32_t* firsts = taps.first.data();
  const std::int16_t* all_weights = taps.weights.data();
  for (std::int64_t x = 0; x < width; ++x) {
    const std::int64_t column = flip ? width - 1 - x : x;
    const std::int16_t* weights = all_weights + column * pairs * 2;
    const std::uint8_t* pixels = row + firsts[column] * std::int64_t{3};
    __m128i sum = half;
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const __m128i both = _mm_shuffle_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(pixels + 6 * pair)), spread);
      sum = _mm_add_epi32(sum, _mm_madd_epi16(both, _mm_set1_epi32(two_weights(weights + 2 * pair))));
    }
    const __m128i halves = _mm_packs_epi32(_mm_srai_epi32(sum, kBits), half);
    const std::int32_t pixel = _mm_cvtsi128_si32(_mm_packus_epi16(halves, halves));
    std::memcpy(image + 3 * x, &pixel, last_row && x + 1 == width ? 3 : 4);
  }
}
#endif

}  // namespace

bool has_wide_vectors() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

void Resampler::compute(Taps& taps, std::int64_t target, std::int64_t source, double begin, double length) {
  const double scale = length / static_cast<double>(target), reach = std::max(scale, 1.0);
  const auto range = [&](std::int64_t i) {  // the source pixels that have a weight
    const double center = begin + (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(center - reach + 0.5)), 0, source - 1);
    const auto last = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(center + reach + 0.5)), first + 1, source);
    return std::tuple(center, first, last - first);
  };
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < target; ++i) most = std::max(most, std::get<2>(range(i)));
  taps.pairs = (most + 1) / 2;
  taps.first.resize(static_cast<std::size_t>(target));
  taps.weights.assign(static_cast<std::size_t>(target * taps.pairs * 2), 0);
  exact_.resize(static_cast<std::size_t>(most));
  for (std::int64_t i = 0; i < target; ++i) {
    const auto [center, first, count] = range(i);
    double sum = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      const double distance = std::abs(static_cast<double>(first + k) + 0.5 - center);
      sum += exact_[static_cast<std::size_t>(k)] = std::max(1 - distance / reach, 0.0);
    }
    if (!(sum > 0)) exact_[0] = sum = 1;
    std::int16_t* weights = taps.weights.data() + i * taps.pairs * 2;
    std::int32_t left = kOne;
    std::int64_t largest = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      weights[k] = static_cast<std::int16_t>(exact_[static_cast<std::size_t>(k)] / sum * kOne + 0.5);
      left -= weights[k];
      if (weights[k] > weights[largest]) largest = k;
    }
    weights[largest] = static_cast<std::int16_t>(weights[largest] + left);  // so that a constant picture stays as it is
    taps.first[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(first);
  }
}

// Rows before columns: this pass has long rows of bytes for its vectors, and leaves fewer pixels for the other.
void Resampler::resample(std::uint8_t* image, const Picture& picture, const View& view, bool flip) {
  compute(rows_, target_.height, picture.size.height, view.top, view.height);
  compute(columns_, target_.width, picture.size.width, view.left, view.width);
  row_.resize(static_cast<std::size_t>((picture.size.width + 2 * columns_.pairs) * 3) + kPictureSlack);
  const std::int64_t pitch = picture.size.width * 3, first_byte = columns_.first.front() * std::int64_t{3};
  const std::int64_t last_byte = std::min(columns_.first.back() + 2 * columns_.pairs, picture.size.width) * 3;
#if defined(__x86_64__)
  const auto columns_wide = columns_.pairs == 1   ? blend_columns_wide<1>
                            : columns_.pairs == 2 ? blend_columns_wide<2>
                            : columns_.pairs == 3 ? blend_columns_wide<3>
                                                  : blend_columns_wide<0>;
#endif
  for (std::int64_t y = 0; y < target_.height; ++y) {
    const std::int64_t first = rows_.first[static_cast<std::size_t>(y)];
    const RowBlend blend{picture.rgb + first * pitch, picture.size.height - first, pitch,
                         rows_.weights.data() + y * rows_.pairs * 2, rows_.pairs};
    std::uint8_t* target = image + y * target_.width * 3;
#if defined(__x86_64__)
    if (wide_) {
      blend_rows_wide(row_.data(), blend, first_byte, last_byte);
      columns_wide(target, row_.data(), columns_, target_.width, flip, y + 1 == target_.height);
      continue;
    }
#endif
    blend_rows(row_.data(), blend, first_byte, last_byte);
    blend_columns(target, row_.data(), columns_, target_.width, flip);
  }
}

}  // namespace epochbench
