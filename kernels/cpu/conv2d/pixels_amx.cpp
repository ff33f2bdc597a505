// Pairs of images as words: interleaved along the channels, or transposed.
#include "kernels/cpu/conv2d/pixels_amx.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

constexpr std::int64_t kChannels = kTilePair;  // in one vector of Reals

alignas(64) constexpr Real kZeros[kChannels] = {};

__m512i load_masked(const Real* p, __mmask32 mask) { return _mm512_maskz_loadu_epi16(mask, p); }

// The two images of a pair; `odd` is null if the pair has one.
struct ImagePair {
  const Real *even, *odd;
};
ImagePair image_pair(const PixelGrid& grid, std::int64_t pair) {
  const std::int64_t reals = grid.height * grid.width * grid.channels;
  const Real* even = grid.images + 2 * pair * reals;
  return {even, 2 * pair + 1 < grid.batch ? even + reals : nullptr};
}

void store_interleaved(Word* dst, __m512i even, __m512i odd) {
  _mm512_storeu_si512(dst, _mm512_unpacklo_epi16(even, odd));
  _mm512_storeu_si512(dst + kLanes, _mm512_unpackhi_epi16(even, odd));
}

void zero_words(Word* dst, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += kLanes) store(dst + i, zero_word_vec());
}

// One element, which starts `offset` Reals after the start of a row of `length` Reals.
void interleave_edge(Word* dst, const Real* even, const Real* odd, std::int64_t offset, std::int64_t length, std::int64_t run,
                     Range channels) {
  for (std::int64_t c = channels.begin; c < channels.end; c += kChannels, dst += kChannels) {
    const __mmask32 mask = lanes_between(-offset - c, min_of(length - offset, run) - c);
    store_interleaved(dst, load_masked(even + offset + c, mask),
                      odd != nullptr ? load_masked(odd + offset + c, mask) : _mm512_setzero_si512());
  }
}

// Data this many Reals ahead is still in a far cache or in memory.
constexpr std::int64_t kPrefetchReals = 2048;

void interleave_element(Word* dst, const Real* even, const Real* odd, std::int64_t panels) {
  for (std::int64_t panel = 0; panel < panels; ++panel, dst += kChannels, even += kChannels, odd += kChannels) {
    __builtin_prefetch(even + kPrefetchReals, 0, 2);
    __builtin_prefetch(odd + kPrefetchReals, 0, 2);
    store_interleaved(dst, _mm512_loadu_si512(even), _mm512_loadu_si512(odd));
  }
}

// Exchanges within lanes. Masked with all lanes: the same instruction, without the undefined vector that g++ 12 warns about.
__m512i low_words(__m512i a, __m512i b) { return _mm512_maskz_unpacklo_epi32(0xffff, a, b); }
__m512i high_words(__m512i a, __m512i b) { return _mm512_maskz_unpackhi_epi32(0xffff, a, b); }
__m512i low_pairs(__m512i a, __m512i b) { return _mm512_maskz_unpacklo_epi64(0xff, a, b); }
__m512i high_pairs(__m512i a, __m512i b) { return _mm512_maskz_unpackhi_epi64(0xff, a, b); }

// Transposes 8 channels of 16 words: row c of `tile` receives the words of channel c. In lane L of 128 bits, vector t starts
// with the pixel of word 4 L + t; three exchanges within lanes do the rest.
inline __attribute__((always_inline)) void transpose_eight(Word* tile, const Real* const (&even)[kTileDepth],
                                                           const Real* const (&odd)[kTileDepth]) {
  const auto gather = [](const Real* const* p) __attribute__((always_inline)) {
    const auto part = [](const Real* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); };
    __m512i v = _mm512_maskz_broadcast_i32x4(0x000f, part(p[0]));
    v = _mm512_mask_broadcast_i32x4(v, 0x00f0, part(p[4]));
    v = _mm512_mask_broadcast_i32x4(v, 0x0f00, part(p[8]));
    return _mm512_mask_broadcast_i32x4(v, 0xf000, part(p[12]));
  };
  __m512i half[2][4];
#pragma GCC unroll 4
  for (int t = 0; t < 4; ++t) {
    const __m512i e = gather(even + t), o = gather(odd + t);
    half[0][t] = _mm512_unpacklo_epi16(e, o);
    half[1][t] = _mm512_unpackhi_epi16(e, o);
  }
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h) {
    const __m512i a = low_words(half[h][0], half[h][1]), b = low_words(half[h][2], half[h][3]);
    const __m512i c = high_words(half[h][0], half[h][1]), d = high_words(half[h][2], half[h][3]);
    Word* const to = tile + 4 * h * kTileDepth;
    _mm512_storeu_si512(to, low_pairs(a, b));
    _mm512_storeu_si512(to + kTileDepth, high_pairs(a, b));
    _mm512_storeu_si512(to + 2 * kTileDepth, low_pairs(c, d));
    _mm512_storeu_si512(to + 3 * kTileDepth, high_pairs(c, d));
  }
}

// 32 channels of 16 words; null means zeros.
void transpose_step(Word* tiles, const Real* const (&even)[kTileDepth], const Real* const (&odd)[kTileDepth],
                    std::int64_t channel) {
  for (std::int64_t c = 0; c < kChannels; c += 8) {
    const Real *e[kTileDepth], *o[kTileDepth];
    for (int w = 0; w < kTileDepth; ++w) {
      e[w] = even[w] != nullptr ? even[w] + channel + c : kZeros;
      o[w] = odd[w] != nullptr ? odd[w] + channel + c : kZeros;
    }
    transpose_eight(tiles + c * kTileDepth, e, o);
  }
}

// The last channels, fewer than 32, from a copy padded with zeros.
void transpose_last_step(Word* tiles, const Real* const (&even)[kTileDepth], const Real* const (&odd)[kTileDepth],
                         std::int64_t channel, std::int64_t count) {
  Real copies[2][kTileDepth][kChannels];
  const Real *e[kTileDepth], *o[kTileDepth];
  const __mmask32 mask = lanes_between(0, count);
  for (int w = 0; w < kTileDepth; ++w) {
    e[w] = copies[0][w];
    o[w] = copies[1][w];
    _mm512_storeu_si512(copies[0][w], load_masked(even[w] + channel, even[w] != nullptr ? mask : 0));
    _mm512_storeu_si512(copies[1][w], load_masked(odd[w] + channel, odd[w] != nullptr ? mask : 0));
  }
  transpose_step(tiles, e, o, 0);
}

}  // namespace

void interleave_pixels(Word* dst, std::int64_t stride, const PixelGrid& grid, const PixelBlock& block, std::int64_t first,
                       std::int64_t panels) {
  const ImagePair images = image_pair(grid, block.pair);
  const std::int64_t length = grid.width * grid.channels;
  const Range channels{first, first + panels * kChannels};
  const bool whole = channels.end <= grid.run && images.odd != nullptr;
  for (std::int64_t i = block.rows.begin; i < block.rows.end; ++i) {
    const std::int64_t row = grid.first_row + i * grid.step;
    if (row < 0 || row >= grid.height) {
      for (std::int64_t j = 0; j < block.columns; ++j, dst += stride) zero_words(dst, panels * kChannels);
      continue;
    }
    const Real* const even = images.even + row * length;
    const Real* const odd = images.odd != nullptr ? images.odd + row * length : nullptr;
    for (std::int64_t j = 0; j < block.columns; ++j, dst += stride) {
      const std::int64_t offset = (grid.first_column + j * grid.step) * grid.channels;
      if (whole && offset >= 0 && offset + grid.run <= length) {
        interleave_element(dst, even + offset + first, odd + offset + first, panels);
      } else {
        interleave_edge(dst, even, odd, offset, length, grid.run, channels);
      }
    }
  }
}

void transpose_pixels(Word* dst, std::int64_t panel_stride, const PixelGrid& grid, const PixelBlock& block, std::int64_t width,
                      std::int64_t steps, std::int64_t first, std::int64_t panels) {
  const ImagePair images = image_pair(grid, block.pair);
  std::int64_t i = block.rows.begin, j = 0;
  for (std::int64_t step = 0; step < steps; ++step, dst += kTransposedStep) {
    const Real *even[kTileDepth] = {}, *odd[kTileDepth] = {};
    for (int w = 0; w < kTileDepth; ++w) {
      const std::int64_t row = grid.first_row + i * grid.step, column = grid.first_column + j * grid.step;
      if (i < block.rows.end && j < block.columns && row >= 0 && row < grid.height && column >= 0 && column < grid.width) {
        const std::int64_t at = (row * grid.width + column) * grid.channels;
        even[w] = images.even + at;
        if (images.odd != nullptr) odd[w] = images.odd + at;
      }
      if (++j == width) {
        j = 0;
        ++i;
      }
    }
    for (std::int64_t panel = 0; panel < panels; ++panel) {
      const std::int64_t channel = first + panel * kChannels;
      if (channel + kChannels <= grid.channels) {
        transpose_step(dst + panel * panel_stride, even, odd, channel);
      } else {
        transpose_last_step(dst + panel * panel_stride, even, odd, channel, grid.channels - channel);
      }
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
