// The gradient of batch normalization: one pass computes the sums over rows, one applies them. The incoming gradient may be the
// sum of two tensors, and may pass only where the output of a ReLU was positive. If dz is requested, the first pass writes it
// and the second reads it.
#include <type_traits>

#include <omp.h>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

// Which elements of the gradient pass.
enum class Through { all, where_y, where_mask };

struct Incoming {  // n elements each
  const Real *dy, *dy2, *y;
  const unsigned char* mask;

  Incoming from(std::int64_t at) const {
    return {dy + at, dy2 != nullptr ? dy2 + at : nullptr, y != nullptr ? y + at : nullptr,
            mask != nullptr ? mask + at / 8 : nullptr};
  }
};

// A sum of two tensors is rounded like the tensor it replaces.
template <Through kThrough, bool kSecond, typename Part>
inline auto gradient_at(Part part, const Incoming& in, std::int64_t at) {
  auto g = load(part, in.dy + at);
  if constexpr (kSecond) g = rounded(part, g + load(part, in.dy2 + at));
  if constexpr (kThrough == Through::where_y) g = where_positive(part, load(part, in.y + at), g);
  if constexpr (kThrough == Through::where_mask && std::is_same_v<Part, Whole>) g = where(load_bits(part, in.mask, at), g);
  return g;
}

// first [width] += sums over rows of g, second of g * (x - pivot), over n elements of rows of `width` elements; dz = g if
// requested.
template <Through kThrough, bool kSecond, bool kDz>
void sum_gradients(const ThreadScratch& s, Real* dz, const Incoming& in, const Real* x, std::int64_t n, std::int64_t width) {
  double *sum = s.first, *product = s.second;
  const float* center = s.pivot;
  const Fours fours = kDz ? fours_to_write(n, width) : fours_of(n, width);
  for (std::int64_t at = 0; at < fours.stride; at += width)
    across(width, [=](auto part, std::int64_t i) {
      const auto m = load(part, center + i);
      const std::int64_t i0 = at + i, i1 = i0 + fours.stride, i2 = i1 + fours.stride, i3 = i2 + fours.stride;
      const auto g0 = gradient_at<kThrough, kSecond>(part, in, i0), g1 = gradient_at<kThrough, kSecond>(part, in, i1);
      const auto g2 = gradient_at<kThrough, kSecond>(part, in, i2), g3 = gradient_at<kThrough, kSecond>(part, in, i3);
      const auto d0 = load(part, x + i0) - m, d1 = load(part, x + i1) - m;
      const auto d2 = load(part, x + i2) - m, d3 = load(part, x + i3) - m;
      if constexpr (kDz) {
        store(part, dz + i0, g0);
        store(part, dz + i1, g1);
        store(part, dz + i2, g2);
        store(part, dz + i3, g3);
      }
      add_to(part, sum + i, (g0 + g1) + (g2 + g3));
      add_to(part, product + i, (g0 * d0 + g1 * d1) + (g2 * d2 + g3 * d3));
    });
  for (std::int64_t at = fours.rest; at < n; at += width)
    across(min_of(width, n - at), [=](auto part, std::int64_t i) {
      const auto g = gradient_at<kThrough, kSecond>(part, in, at + i);
      const auto d = load(part, x + at + i) - load(part, center + i);
      if constexpr (kDz) store(part, dz + at + i, g);
      add_to(part, sum + i, g);
      add_to(part, product + i, g * d);
    });
}

// dx = slope * g + curve * (x - center) + offset.
template <Through kThrough, bool kSecond>
void apply_gradients(Real* dx, const Incoming& in, const Real* x, const SharedScratch& s, std::int64_t n, std::int64_t width) {
  for_each_column_in_rows(n, width, [=](auto part, std::int64_t i) {
    const auto center = load(part, s.center + i), slope = load(part, s.slope + i);
    const auto offset = load(part, s.offset + i), curve = load(part, s.curve + i);
    return [=](std::int64_t at) {
      const auto g = gradient_at<kThrough, kSecond>(part, in, at);
      store(part, dx + at, slope * g + (curve * (load(part, x + at) - center) + offset));
    };
  });
}

struct Passes {
  decltype(&sum_gradients<Through::all, false, false>) sum;
  decltype(&apply_gradients<Through::all, false>) apply;
};

template <Through kThrough, bool kSecond>
Passes passes_through(bool dz) {
  return {dz ? sum_gradients<kThrough, kSecond, true> : sum_gradients<kThrough, kSecond, false>,
          apply_gradients<kThrough, kSecond>};
}
template <Through kThrough>
Passes passes_through(bool second, bool dz) {
  return second ? passes_through<kThrough, true>(dz) : passes_through<kThrough, false>(dz);
}

Passes passes_for(const Incoming& in, bool dz) {
  const bool second = in.dy2 != nullptr;
  if (in.mask != nullptr) return passes_through<Through::where_mask>(second, dz);
  if (in.y != nullptr) return passes_through<Through::where_y>(second, dz);
  return passes_through<Through::all>(second, dz);
}

}  // namespace

void batch_norm_grad(Real* dx, float* dscale, float* dbias, Real* dz, const Real* dy, const Real* dy2,
                     const std::uint32_t* mask, const Real* y, const Real* x, const float* scale, const float* mean,
                     const float* inv_std, std::int64_t rows, std::int64_t channels, void* workspace, int threads) {
  const std::int64_t lanes = lanes_of(channels), width = lanes * channels;
  const SharedScratch shared = shared_scratch(workspace, channels);
  const Incoming all = {dy, dy2, y, reinterpret_cast<const unsigned char*>(mask)};
  const Passes passes = passes_for(all, dz != nullptr);
  const auto apply_dz = apply_gradients<Through::all, false>;
#pragma omp parallel num_threads(threads) if (rows * channels > kSerialElements)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    const Range part = part_of(rows, thread, team, lanes), mine = part_of(channels, thread, team, 16);
    const std::int64_t at = part.begin * channels, n = (part.end - part.begin) * channels;
    const ThreadScratch s = thread_scratch(workspace, channels, thread);
    const Incoming in = all.from(at);
    for (std::int64_t i = 0; i < width; ++i) s.first[i] = s.second[i] = 0;
    repeat(s.pivot, mean, channels, lanes, {0, channels});
    passes.sum(s, dz != nullptr ? dz + at : nullptr, in, x + at, n, width);
    sum_lanes(s.first, channels, lanes);
    sum_lanes(s.second, channels, lanes);
#pragma omp barrier
    const double inverse_n = 1 / static_cast<double>(rows);
    for (std::int64_t c = mine.begin; c < mine.end; ++c) {
      double total = 0, product = 0;
      for (int t = 0; t < team; ++t) {
        const ThreadScratch other = thread_scratch(workspace, channels, t);
        total += other.first[c];
        product += other.second[c];
      }
      const double inverse = inv_std[c], slope = scale[c] * inverse;
      if (dscale != nullptr) dscale[c] = static_cast<float>(product * inverse);
      if (dbias != nullptr) dbias[c] = static_cast<float>(total);
      shared.slope[c] = static_cast<float>(slope);
      shared.offset[c] = static_cast<float>(-slope * total * inverse_n);
      shared.curve[c] = static_cast<float>(-slope * inverse * inverse * product * inverse_n);
    }
    repeat(shared.center, mean, channels, lanes, mine);
    repeat(shared.slope, shared.slope, channels, lanes, mine);
    repeat(shared.offset, shared.offset, channels, lanes, mine);
    repeat(shared.curve, shared.curve, channels, lanes, mine);
#pragma omp barrier
    if (dx != nullptr && dz != nullptr)
      apply_dz(dx + at, {dz + at, nullptr, nullptr, nullptr}, x + at, shared, n, width);
    else if (dx != nullptr)
      passes.apply(dx + at, in, x + at, shared, n, width);
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
