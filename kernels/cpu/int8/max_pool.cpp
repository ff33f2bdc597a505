// The largest code of each window. Codes are at least 0, so padding never wins.
#if defined(__AVX512F__)
#include <immintrin.h>
#endif
#include <omp.h>

#include "kernels/cpu/pool_window.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

#if defined(__AVX512F__)
constexpr std::int64_t kBytes = 64;  // channels at once

// y [channels] = the maxima over the part [0, rows) x [0, columns) of a window. kColumns: `columns` if not 0, which unrolls.
template <std::int64_t kColumns>
inline void max_of_pixels(std::uint8_t* y, const std::uint8_t* x, const PoolShape& s, std::int64_t rows, std::int64_t columns) {
  const std::int64_t width = kColumns > 0 ? kColumns : columns, pitch = s.width * s.channels;
  for (std::int64_t c = 0; c < s.channels; c += kBytes) {
    const __mmask64 mask = ~std::uint64_t{0} >> (kBytes - min_of(kBytes, s.channels - c));
    __m512i best = _mm512_setzero_si512();
    const std::uint8_t* row = x + c;
    for (std::int64_t ky = 0; ky < rows; ++ky, row += pitch)
#pragma GCC unroll 3
      for (std::int64_t kx = 0; kx < width; ++kx)
        best = _mm512_maskz_max_epu8(~std::uint64_t{0}, best, _mm512_maskz_loadu_epi8(mask, row + kx * s.channels));
    _mm512_mask_storeu_epi8(y + c, mask, best);
  }
}

// y [channels] = the maxima over a window whose (0, 0) is x, which may be outside the image.
inline void max_of_window(std::uint8_t* y, const std::uint8_t* x, const PoolShape& s, const Window& w) {
  const std::int64_t rows = w.last_row - w.first_row, columns = w.last_column - w.first_column;
  x += (w.first_row * s.width + w.first_column) * s.channels;
  if (columns == 3) return max_of_pixels<3>(y, x, s, rows, columns);
  if (columns == 2) return max_of_pixels<2>(y, x, s, rows, columns);
  max_of_pixels<0>(y, x, s, rows, columns);
}
#else
// The same for instruction sets without masks, in loops that the compiler vectorizes.
inline void max_of_window(std::uint8_t* y, const std::uint8_t* x, const PoolShape& s, const Window& w) {
#pragma omp simd
  for (std::int64_t c = 0; c < s.channels; ++c) y[c] = 0;
  for (std::int64_t ky = w.first_row; ky < w.last_row; ++ky)
    for (std::int64_t kx = w.first_column; kx < w.last_column; ++kx) {
      const std::uint8_t* const pixel = x + (ky * s.width + kx) * s.channels;
#pragma omp simd
      for (std::int64_t c = 0; c < s.channels; ++c) y[c] = pixel[c] > y[c] ? pixel[c] : y[c];
    }
}
#endif

}  // namespace

void int8_max_pool(std::uint8_t* y, const std::uint8_t* x, const PoolShape& shape, int threads) {
  const PoolShape s = shape;
#pragma omp parallel num_threads(threads) if (s.batch * s.height * s.width * s.channels > 4 * kSerialElements)
  {
    const Range rows = part_of(s.batch * s.out_height, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const std::int64_t n = row / s.out_height, oy = row % s.out_height, top = n * s.height + oy * s.stride - s.padding;
      for (std::int64_t ox = 0; ox < s.out_width; ++ox)
        max_of_window(y + (row * s.out_width + ox) * s.channels, x + (top * s.width + ox * s.stride - s.padding) * s.channels,
                      s, clip(s, oy, ox));
    }
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
