// Lookup of table rows by id or by position, repeated addition of table rows, and their gradients.
#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/reference/kernels.h"

namespace epochbench::reference {

void embedding(float* y, const float* table, const std::int32_t* ids, std::int64_t rows, std::int64_t width) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < width; ++c) y[r * width + c] = table[ids[r] * width + c];
}

void embedding_grad(float* dtable, const float* dy, const std::int32_t* ids, const float* base, std::int64_t rows,
                    std::int64_t vocabulary, std::int64_t width) {
  for (std::int64_t i = 0; i < vocabulary * width; ++i) dtable[i] = base != nullptr ? base[i] : 0;
  std::vector<std::int64_t> by_id(
      static_cast<std::size_t>(rows));  // groups rows of equal id, so that each sum is computed in double
  std::iota(by_id.begin(), by_id.end(), 0);
  std::stable_sort(by_id.begin(), by_id.end(), [&](std::int64_t a, std::int64_t b) { return ids[a] < ids[b]; });
  for (auto begin = by_id.begin(); begin != by_id.end();) {
    const std::int32_t id = ids[*begin];
    const auto end = std::find_if(begin, by_id.end(), [&](std::int64_t row) { return ids[row] != id; });
    for (std::int64_t c = 0; c < width; ++c) {
      double sum = dtable[id * width + c];
      for (auto row = begin; row != end; ++row) sum += dy[*row * width + c];
      dtable[id * width + c] = static_cast<float>(sum);
    }
    begin = end;
  }
}

void add_rows(float* y, const float* x, const float* table, std::int64_t rows, std::int64_t width, std::int64_t period) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < width; ++c) y[r * width + c] = x[r * width + c] + table[r % period * width + c];
}

void add_rows_grad(float* dtable, const float* dy, std::int64_t rows, std::int64_t width, std::int64_t period,
                   std::int64_t table_rows) {
  for (std::int64_t r = 0; r < table_rows; ++r)
    for (std::int64_t c = 0; c < width; ++c) {
      double sum = 0;
      if (r < period)
        for (std::int64_t i = r; i < rows; i += period) sum += dy[i * width + c];
      dtable[r * width + c] = static_cast<float>(sum);
    }
}

void gather_rows(float* y, const float* x, const std::int32_t* positions, std::int64_t batch, std::int64_t sequence,
                 std::int64_t count, std::int64_t width) {
  for (std::int64_t i = 0; i < batch * count; ++i)
    for (std::int64_t c = 0; c < width; ++c) y[i * width + c] = x[(i / count * sequence + positions[i]) * width + c];
}

void gather_rows_grad(float* dx, const float* dy, const std::int32_t* positions, std::int64_t batch, std::int64_t sequence,
                      std::int64_t count, std::int64_t width) {
  for (std::int64_t i = 0; i < batch * sequence * width; ++i) dx[i] = 0;
  for (std::int64_t i = 0; i < batch * count; ++i)
    for (std::int64_t c = 0; c < width; ++c) dx[(i / count * sequence + positions[i]) * width + c] = dy[i * width + c];
}

}  // namespace epochbench::reference
