// Multiplies each channel of an image by its own factor, the last step of squeeze-and-excitation (Hu et al. 2018), or each
// sample as a whole, for stochastic depth (Huang et al. 2016).
#include <omp.h>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/philox.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

constexpr std::int64_t kStripChannels = 64;  // whose sums stay in registers or the L1 cache
constexpr std::int64_t kPixelsInFloat = 64;  // summed in float before the sums are added in double

// sum [channels] += the products of `pixels` rows of a and b, `stride` elements apart; channels <= kStripChannels.
void add_products(float* sum, const Real* a, const Real* b, std::int64_t pixels, std::int64_t stride, std::int64_t channels) {
  across_channels(channels, [=](auto part, std::int64_t c) {
    auto total = load(part, sum + c);
    for (std::int64_t p = 0; p < pixels; ++p) total += load(part, a + p * stride + c) * load(part, b + p * stride + c);
    store_float(part, sum + c, total);
  });
}

// dscale [channels] of one strip of one image.
void sum_products(Real* dscale, const Real* dy, const Real* x, std::int64_t pixels, std::int64_t stride,
                  std::int64_t channels) {
  double total[kStripChannels] = {};
  for (std::int64_t first = 0; first < pixels; first += kPixelsInFloat) {
    float sum[kStripChannels] = {};
    add_products(sum, dy + first * stride, x + first * stride, min_of(kPixelsInFloat, pixels - first), stride, channels);
    for (std::int64_t c = 0; c < channels; ++c) total[c] += sum[c];
  }
  for (std::int64_t c = 0; c < channels; ++c) dscale[c] = narrow(static_cast<float>(total[c]));
}

// 0 or dropout.scale.
float factor_of_sample(std::int64_t sample, const PhiloxKeys& keys, const Dropout& dropout) {
  std::uint32_t random[4 * kPhiloxBlocks];
  sample += dropout.first;
  philox_words(random, sample / 4, 1, keys);
  return random[sample % 4] >= dropout.threshold ? dropout.scale : 0;
}

// A dropped element is 0, even if it was a NaN.
void keep_or_drop(Real* y, const Real* x, Range part, float factor) {
  if (factor == 0)
    for (std::int64_t i = part.begin; i < part.end; ++i) y[i] = narrow(0);
  else
    across_channels(part.end - part.begin, [=, from = x + part.begin, to = y + part.begin](auto lanes, std::int64_t i) {
      store(lanes, to + i, load(lanes, from + i) * factor);
    });
}

}  // namespace

void scale_channels(Real* y, const Real* x, const Real* scale, std::int64_t batch, std::int64_t pixels, std::int64_t channels,
                    int threads) {
#pragma omp parallel num_threads(threads) if (batch * pixels * channels > kSerialElements)
  {
    const Range part = part_of(batch * pixels, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t row = part.begin; row < part.end; ++row) {
      const Real* by = scale + row / pixels * channels;
      across_channels(channels, [=, from = x + row * channels, to = y + row * channels](auto lanes, std::int64_t c) {
        store(lanes, to + c, load(lanes, from + c) * load(lanes, by + c));
      });
    }
  }
}

void scale_channels_grad(Real* dscale, const Real* dy, const Real* x, std::int64_t batch, std::int64_t pixels,
                         std::int64_t channels, int threads) {
  const std::int64_t strips = (channels + kStripChannels - 1) / kStripChannels;
#pragma omp parallel num_threads(threads) if (batch * pixels * channels > kSerialElements)
  {
    const Range part = part_of(batch * strips, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const std::int64_t n = i / strips, c = i % strips * kStripChannels, first = n * pixels * channels + c;
      sum_products(dscale + n * channels + c, dy + first, x + first, pixels, channels, min_of(kStripChannels, channels - c));
    }
  }
}

void stochastic_depth(Real* y, const Real* x, const std::int32_t* step, const Dropout& dropout, std::int64_t batch,
                      std::int64_t n, int threads) {
  const PhiloxKeys keys(*step, dropout);
  const Dropout of = dropout;
#pragma omp parallel num_threads(threads) if (batch * n > kSerialElements)
  {
    const Range part = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 16);
    for (std::int64_t sample = 0; sample < batch; ++sample)
      keep_or_drop(y + sample * n, x + sample * n, part, factor_of_sample(sample, keys, of));
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
