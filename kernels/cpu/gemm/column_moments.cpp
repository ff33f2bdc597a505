#include "kernels/cpu/gemm/column_moments.h"

#include "kernels/cpu/lanes.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

constexpr std::int64_t kRowsAtOnce = 32;  // summed in registers, before the next columns
constexpr std::int64_t kMergedRows = 256;

#if EPOCHBENCH_BF16_LANES
// 32 numbers in the order of load_pair, and back.
LanePair pair_of(const float* p) {
  const Lanes low = load(Whole{}, p), high = load(Whole{}, p + kWhole);
  return {_mm512_maskz_shuffle_f32x4(0xffff, low, high, 0x88), _mm512_maskz_shuffle_f32x4(0xffff, low, high, 0xdd)};
}
void add_pair(float* sum, LanePair x) {
  const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  const auto numbers = [&](__m512i order) {
    return _mm512_castpd_ps(_mm512_permutex2var_pd(_mm512_castps_pd(x.first), order, _mm512_castps_pd(x.second)));
  };
  add_to(Whole{}, sum, numbers(low));
  add_to(Whole{}, sum + kWhole, numbers(high));
}

// Adds rows of 32 columns, a cache line each, to the sums.
void sum_lines(float* sum, float* squares, const float* pivot, const Real* x, std::int64_t stride, std::int64_t rows) {
  const LanePair p = pair_of(pivot);
  LanePair s{_mm512_setzero_ps(), _mm512_setzero_ps()}, q = s;
  const auto deviations = [=](const Real* row) {
    const LanePair pair = load_pair(row);
    return LanePair{pair.first - p.first, pair.second - p.second};
  };
  std::int64_t r = 0;
  for (; r + 2 <= rows; r += 2, x += 2 * stride) {
    const LanePair a = deviations(x), b = deviations(x + stride);
    s = {s.first + (a.first + b.first), s.second + (a.second + b.second)};
    q = {q.first + (a.first * a.first + b.first * b.first), q.second + (a.second * a.second + b.second * b.second)};
  }
  if (r < rows) {
    const LanePair a = deviations(x);
    s = {s.first + a.first, s.second + a.second};
    q = {q.first + a.first * a.first, q.second + a.second * a.second};
  }
  add_pair(sum, s);
  add_pair(squares, q);
}
#endif

// Adds rows to the sums.
void sum_rows(const ColumnMoments& m, const Real* x, std::int64_t stride, std::int64_t rows, Range columns) {
  const float* const pivot = m.pivot + columns.begin;
  float *const sum = m.sum + columns.begin, *const squares = m.squares + columns.begin;
  std::int64_t column = 0;
#if EPOCHBENCH_BF16_LANES
  for (; column + 2 * kWhole <= columns.end - columns.begin; column += 2 * kWhole)
    sum_lines(sum + column, squares + column, pivot + column, x + column, stride, rows);
#endif
  across(columns.end - columns.begin - column, [=](auto part, std::int64_t at) {
    const std::int64_t i = column + at;
    const auto p = load(part, pivot + i);
    auto s = p - p, q = s;
    const Real* row = x + i;
    std::int64_t r = 0;
    for (; r + 4 <= rows; r += 4, row += 4 * stride) {
      const auto d0 = load(part, row) - p, d1 = load(part, row + stride) - p;
      const auto d2 = load(part, row + 2 * stride) - p, d3 = load(part, row + 3 * stride) - p;
      s = s + ((d0 + d1) + (d2 + d3));
      q = q + ((d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3));
    }
    for (; r < rows; ++r, row += stride) {
      const auto d = load(part, row) - p;
      s = s + d;
      q = q + d * d;
    }
    add_to(part, sum + i, s);
    add_to(part, squares + i, q);
  });
}

}  // namespace

void start_moments(void* moments, std::int64_t channels, int part, int parts) {
  if (moments == nullptr) return;
  if (part == 0) moment_parts(moments) = parts;
  const ColumnMoments m = column_moments(moments, channels, part);
  for (std::int64_t i = 0; i < channels; ++i) m.count[i] = 0;
}

void start_range(const ColumnMoments& m, Range columns) {
  for (std::int64_t i = columns.begin; i < columns.end; ++i) {
    m.mean[i] = m.deviations[i] = 0;
    m.pivot[i] = m.sum[i] = m.squares[i] = 0;
  }
}

void take_pivot(const ColumnMoments& m, std::int64_t rows, Range columns) {
  for (std::int64_t i = columns.begin; i < columns.end; ++i) {
    m.pivot[i] = m.sum[i] / static_cast<float>(rows);
    m.sum[i] = m.squares[i] = 0;
  }
}

void merge_rows(const ColumnMoments& m, std::int64_t rows, Range columns) {
  const double before = m.count[columns.begin], n = static_cast<double>(rows), inverse = 1 / n;
  double *count = m.count, *mean = m.mean, *deviations = m.deviations;
  float *pivot = m.pivot, *sum = m.sum, *squares = m.squares;
#pragma omp simd
  for (std::int64_t i = columns.begin; i < columns.end; ++i) {
    const double offset = sum[i] * inverse, spread = squares[i] - sum[i] * offset;
    merge_moments(mean[i], deviations[i], before, pivot[i] + offset, spread < 0 ? 0 : spread, n);
    count[i] = before + n;
    pivot[i] = static_cast<float>(mean[i]);
    sum[i] = squares[i] = 0;
  }
}

void add_block(const ColumnMoments& m, const Real* x, std::int64_t stride, std::int64_t rows, Range columns) {
  if (m.count[columns.begin] == 0) {
    const std::int64_t first = min_of(rows, kRowsAtOnce);
    start_range(m, columns);
    sum_rows(m, x, stride, first, columns);
    take_pivot(m, first, columns);
  }
  for (std::int64_t r = 0; r < rows; r += kMergedRows) {
    const std::int64_t end = min_of(r + kMergedRows, rows);
    for (std::int64_t at = r; at < end; at += kRowsAtOnce)
      sum_rows(m, x + at * stride, stride, min_of(kRowsAtOnce, end - at), columns);
    merge_rows(m, end - r, columns);
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
