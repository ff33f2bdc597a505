// Joins rows side by side and splits them again. Copies one row at a time, so that the long rows are written and read in order.
#include <omp.h>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

template <typename Pointer>
std::int64_t sum_of_channels(const ChannelParts<Pointer>& parts) {
  std::int64_t sum = 0;
  for (int i = 0; i < parts.count; ++i) sum += parts.channels[i];
  return sum;
}

// Calls copy(row of a part, its place in the row of all parts, channels) for the rows of this thread.
template <typename Pointer, typename Whole, typename Copy>
void for_each_part(const ChannelParts<Pointer>& parts, Whole* whole, std::int64_t rows, int threads, Copy copy) {
  const std::int64_t width = sum_of_channels(parts);
#pragma omp parallel num_threads(threads) if (rows * width > kSerialElements)
  {
    const Range part = part_of(rows, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t row = part.begin; row < part.end; ++row) {
      Whole* at = whole + row * width;
      for (int i = 0; i < parts.count; ++i) {
        if (parts.part[i] != nullptr) copy(parts.part[i] + row * parts.channels[i], at, parts.channels[i]);
        at += parts.channels[i];
      }
    }
  }
}

void copy_reals(Real* to, const Real* from, std::int64_t n) {
  __builtin_memcpy(to, from, static_cast<std::size_t>(n) * sizeof(Real));
}

}  // namespace

void concatenate(Real* y, const ChannelParts<const Real*>& x, std::int64_t rows, int threads) {
  for_each_part(x, y, rows, threads, [](const Real* part, Real* whole, std::int64_t n) { copy_reals(whole, part, n); });
}

void concatenate_grad(const ChannelParts<Real*>& dx, const Real* dy, std::int64_t rows, int threads) {
  for_each_part(dx, dy, rows, threads, [](Real* part, const Real* whole, std::int64_t n) { copy_reals(part, whole, n); });
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
