// Lookup of table rows by id or by position, repeated addition of table rows, and their gradients. No sum is divided among
// threads, so the result is the same for any number of threads: where rows may coincide, threads divide the columns.
#include <omp.h>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/narrow.h"
#include "kernels/cpu/rows.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

constexpr std::int64_t kTile =
    1024;  // columns summed in double on the stack: 8 KiB, with 16 KiB of input, stay in the L1 cache

void copy(Real* to, const Real* from, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
}

template <typename Number>
void zero(Number* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = Number{};
}

void widen_all(float* to, const Real* from, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) to[i] = widen(from[i]);
}

void accumulate(float* to, const Real* x, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) to[i] += widen(x[i]);
}

void add_to(Real* to, const Real* a, const Real* b, std::int64_t n) {
  narrow_each(to, n, [=](std::int64_t i) { return widen(a[i]) + widen(b[i]); });
}

// out [width] = the sum over rows of x [rows, stride]. Sums four rows in float, then adds them in double. width <= kTile.
void sum_rows(float* out, const Real* x, std::int64_t rows, std::int64_t stride, std::int64_t width) {
  double sum[kTile];
  for (std::int64_t i = 0; i < width; ++i) sum[i] = 0;
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const Real *x0 = x + r * stride, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) sum[i] += (widen(x0[i]) + widen(x1[i])) + (widen(x2[i]) + widen(x3[i]));
  }
  for (; r < rows; ++r)
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) sum[i] += widen(x[r * stride + i]);
  for (std::int64_t i = 0; i < width; ++i) out[i] = static_cast<float>(sum[i]);
}

}  // namespace

void embedding(Real* y, const Real* table, const std::int32_t* ids, std::int64_t rows, std::int64_t width, int threads) {
#pragma omp parallel num_threads(threads) if (rows * width > kSerialElements)
  {
    const Range part = part_of(rows, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t r = part.begin; r < part.end; ++r) copy(y + r * width, table + ids[r] * width, width);
  }
}

void embedding_grad(float* dtable, const Real* dy, const std::int32_t* ids, const Real* base, std::int64_t rows,
                    std::int64_t vocabulary, std::int64_t width, int threads) {
  const std::int64_t passes_over_table = static_cast<const void*>(base) == dtable ? 0 : 1;
#pragma omp parallel num_threads(threads) if ((rows + passes_over_table * vocabulary) * width > kSerialElements)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    if (passes_over_table != 0) {
      const auto [begin, end] = part_of(vocabulary * width, thread, team, 16);
      if (base == nullptr)
        zero(dtable + begin, end - begin);
      else
        widen_all(dtable + begin, base + begin, end - begin);
    }
#pragma omp barrier
    const auto [begin, end] = part_of(width, thread, team, 16);
    for (std::int64_t r = 0; r < rows; ++r) {
      accumulate(dtable + ids[r] * width + begin, dy + r * width + begin, end - begin);
    }
  }
}

// x is a sequence of rows of period * width elements, and so is the used part of the table.
void add_rows(Real* y, const Real* x, const Real* table, std::int64_t rows, std::int64_t width, std::int64_t period,
              int threads) {
  const std::int64_t n = rows * width, used = period * width;
#pragma omp parallel num_threads(threads) if (n > kSerialElements)
  {
    const Range part = part_of(n, omp_get_thread_num(), omp_get_num_threads(), 16);
    for (std::int64_t i = part.begin; i < part.end;) {
      const std::int64_t at = i % used, length = min_of(used - at, part.end - i);
      add_to(y + i, x + i, table + at, length);
      i += length;
    }
  }
}

void add_rows_grad(float* dtable, const Real* dy, std::int64_t rows, std::int64_t width, std::int64_t period,
                   std::int64_t table_rows, int threads) {
  const std::int64_t used = period * width, last = rows % period * width;  // elements of a last turn that ends early
#pragma omp parallel num_threads(threads) if (rows * width > kSerialElements)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    const Range part = part_of(used, thread, team, 16);
    for (std::int64_t i = part.begin; i < part.end;) {
      const std::int64_t end = i < last ? min_of(last, part.end) : part.end, n = min_of(kTile, end - i);
      sum_rows(dtable + i, dy + i, rows / period + (i < last ? 1 : 0), used, n);
      i += n;
    }
    const auto [begin, end] = part_of(table_rows * width - used, thread, team, 16);
    zero(dtable + used + begin, end - begin);
  }
}

void gather_rows(Real* y, const Real* x, const std::int32_t* positions, std::int64_t batch, std::int64_t sequence,
                 std::int64_t count, std::int64_t width, int threads) {
#pragma omp parallel num_threads(threads) if (batch * count * width > kSerialElements)
  {
    const Range part = part_of(batch * count, omp_get_thread_num(), omp_get_num_threads(), 1);
    for (std::int64_t i = part.begin; i < part.end; ++i)
      copy(y + i * width, x + (i / count * sequence + positions[i]) * width, width);
  }
}

void gather_rows_grad(Real* dx, const Real* dy, const std::int32_t* positions, std::int64_t batch, std::int64_t sequence,
                      std::int64_t count, std::int64_t width, int threads) {
#pragma omp parallel num_threads(threads) if (batch * sequence * width > kSerialElements)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    const auto [begin, end] = part_of(batch * sequence * width, thread, team, 16);
    zero(dx + begin, end - begin);
#pragma omp barrier
    const Range part = part_of(batch * count, thread, team, 1);
    for (std::int64_t i = part.begin; i < part.end; ++i)
      copy(dx + (i / count * sequence + positions[i]) * width, dy + i * width, width);
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
