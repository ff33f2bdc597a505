// Codes of floats, and the range that they need.
#include <omp.h>

#include "kernels/cpu/int8/codes.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

// Places at which a part is read at once (rows.h). Each has its own extremes, which hides the latency of four cycles.
constexpr int kChains = 4;

struct Extremes {
  Lanes low, high;
};
// The number is the first operand, so a NaN leaves the extreme unchanged.
inline void observe(Extremes& extremes, Lanes x) {
  extremes.low = _mm512_maskz_min_ps(0xffff, x, extremes.low);
  extremes.high = _mm512_maskz_max_ps(0xffff, x, extremes.high);
}

void observe_part(float& smallest, float& largest, const float* x, std::int64_t n) {
  Extremes extremes[kChains];
  for (Extremes& e : extremes) e = {all_lanes(smallest), all_lanes(largest)};
  const Fours fours = fours_of(n, kWhole);
  for (std::int64_t at = 0; at < fours.stride; at += kWhole)
    for (int chain = 0; chain < kChains; ++chain) observe(extremes[chain], load(Whole{}, x + at + chain * fours.stride));
  for (std::int64_t i = fours.rest; i < n; i += kWhole) {
    const First first = first_of(min_of(n - i, kWhole));
    Extremes& e = extremes[0];
    const Lanes values = load(first, x + i);
    e.low = _mm512_mask_min_ps(e.low, first.mask, values, e.low);
    e.high = _mm512_mask_max_ps(e.high, first.mask, values, e.high);
  }
  for (const Extremes& e : extremes) {
    extremes[0].low = _mm512_maskz_min_ps(0xffff, e.low, extremes[0].low);
    extremes[0].high = _mm512_maskz_max_ps(0xffff, e.high, extremes[0].high);
  }
  smallest = combined(extremes[0].low, [](Lanes a, Lanes b) { return _mm512_maskz_min_ps(0xffff, a, b); });
  largest = largest_in(extremes[0].high);
}

}  // namespace

void quantize(std::uint8_t* y, const float* x, const float* range, std::int64_t n, int threads) {
#pragma omp parallel num_threads(threads) if (n > kSerialElements)
  {
    const Encoder encoder = encoder_of(range, false);
    const auto [begin, end] = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 64);
    std::int64_t i = begin;
    for (; i + kWhole <= end; i += kWhole) store_codes(Whole{}, y + i, encoder, load(Whole{}, x + i));
    if (i < end) store_codes(first_of(end - i), y + i, encoder, load(first_of(end - i), x + i));
  }
}

void observe_range(float* range, const float* x, std::int64_t n, int threads) {
  float smallest = range[0], largest = range[1];
#pragma omp parallel num_threads(threads) if (n > kSerialElements) reduction(min : smallest) reduction(max : largest)
  {
    const auto [begin, end] = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 64);
    float low = range[0], high = range[1];
    observe_part(low, high, x + begin, end - begin);
    smallest = low;
    largest = high;
  }
  range[0] = smallest;
  range[1] = largest;
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
