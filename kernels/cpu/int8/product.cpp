// Products of bytes. Threads own rectangles of y. A thread processes its rows in blocks that fit in the L2 cache, and gathers
// those of a convolution unless x contains them as they are multiplied.
#include "kernels/cpu/int8/product.h"

#include <omp.h>

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

// The first `count` bytes of a vector, 0 to 64.
inline __mmask64 bytes_below(std::int64_t count) { return count == 0 ? 0 : ~std::uint64_t{0} >> (64 - count); }

// `length` bytes from `from`, then zeros up to `padded` bytes.
inline void copy_padded(std::uint8_t* to, const std::uint8_t* from, std::int64_t length, std::int64_t padded) {
  std::int64_t i = 0;
  for (; i + 64 <= length; i += 64) _mm512_storeu_si512(to + i, _mm512_loadu_si512(from + i));
  if (i < padded)
    _mm512_mask_storeu_epi8(to + i, bytes_below(padded - i), _mm512_maskz_loadu_epi8(bytes_below(length - i), from + i));
}
inline void fill(std::uint8_t* to, std::int32_t value, std::int64_t length) {
  const __m512i codes = _mm512_set1_epi8(static_cast<char>(value));
  for (std::int64_t i = 0; i < length; i += 64) _mm512_mask_storeu_epi8(to + i, bytes_below(min_of(length - i, 64)), codes);
}

struct Run {  // a row of a window: kernel_width * channels codes, and zeros up to a whole word
  std::int64_t length, padded;
};

// The run of row `iy` from column `left` on; both may be outside the image.
void gather_at_edge(std::uint8_t* to, const std::uint8_t* image, const Product& product, Run run, std::int64_t iy,
                    std::int64_t left) {
  const Conv2dShape& s = product.shape;
  const std::int64_t first = max_of(0, -left), last = min_of(s.kernel_width, s.width - left);
  fill(to, product.padding, run.length);
  fill(to + run.length, 0, run.padded - run.length);
  if (iy < 0 || iy >= s.height || first >= last) return;
  const std::int64_t bytes = (last - first) * s.channels;
  copy_padded(to + first * s.channels, image + (iy * s.width + left + first) * s.channels, bytes, bytes);
}

// Multiplies the rows by all columns, in groups of panels that stay in the L2 cache beside the rows.
void multiply_groups(const Product& product, Block block) {
  const Range columns = block.columns;
  for (std::int64_t column = columns.begin; column < columns.end; column += product.plan.group_columns) {
    block.columns = {column, min_of(column + product.plan.group_columns, columns.end)};
    multiply_block(product, block);
    block.in_memory = false;
  }
}

// Per thread. If rows are in place, only those beyond whole tiles are gathered.
std::int64_t gathered_bytes(const Int8Plan& plan) {
  return (!plan.in_place ? plan.block_rows : kInt8RowsAtOnce > 1 ? kInt8RowsAtOnce : 0) * plan.row_bytes;
}
std::int64_t part_bytes(const Int8Plan& plan) {
  return gathered_bytes(plan) + plan.row_sums * static_cast<std::int64_t>(sizeof(std::int32_t));
}

// scratch [part_bytes]
void multiply_part(const Product& product, std::uint8_t* scratch, int part) {
  const Int8Plan& plan = product.plan;
  const Conv2dShape& s = product.shape;
  const Range rows = rows_of_part(plan, rows_of(s), part);
  std::uint8_t* const gathered = scratch;
  Block block{};
  block.sums = reinterpret_cast<std::int32_t*>(scratch + gathered_bytes(plan));
  block.columns = columns_of_part(plan, s.out_channels, part);
  if (block.columns.begin == block.columns.end) return;
  for (std::int64_t row = rows.begin; row < rows.end; row = block.rows.end) {
    block.rows = {row, min_of(row + plan.block_rows, rows.end)};
    block.in_memory = false;
    const std::int64_t whole = (block.rows.end - row) / kInt8RowsAtOnce * kInt8RowsAtOnce;
    if (plan.in_place && whole > 0) {
      block.rows.end = row + whole;
      block.a = product.x + row * s.channels;
      block.a_stride = s.channels;
      block.in_memory = true;
    } else {
      gather_rows(gathered, product, block.rows);
      block.a = gathered;
      block.a_stride = plan.row_bytes;
    }
    multiply_groups(product, block);
  }
}

}  // namespace

void gather_rows(std::uint8_t* to, const Product& product, Range rows) {
  const Conv2dShape& s = product.shape;
  const Run run{s.kernel_width * s.channels, int8_row_words(s) * kWordDepth};
  const std::int64_t used = s.kernel_height * run.padded, unused = int8_words(s) * kWordDepth - used;
  const std::int64_t pitch = s.width * s.channels, pixels = s.out_height * s.out_width;
  std::int64_t ox = rows.begin % s.out_width, oy = rows.begin % pixels / s.out_width;
  const std::uint8_t* image = product.x + rows.begin / pixels * s.height * pitch;
  for (std::int64_t row = rows.begin; row < rows.end; ++row, to += product.plan.row_bytes) {
    const std::int64_t top = oy * s.stride - s.padding, left = ox * s.stride - s.padding;
    if (top >= 0 && top + s.kernel_height <= s.height && left >= 0 && left + s.kernel_width <= s.width) {
      const std::uint8_t* const corner = image + top * pitch + left * s.channels;
      for (std::int64_t ky = 0; ky < s.kernel_height; ++ky)
        copy_padded(to + ky * run.padded, corner + ky * pitch, run.length, run.padded);
    } else {
      for (std::int64_t ky = 0; ky < s.kernel_height; ++ky)
        gather_at_edge(to + ky * run.padded, image, product, run, top + ky, left);
    }
    fill(to + used, 0, unused);
    if (++ox < s.out_width) continue;
    ox = 0;
    if (++oy < s.out_height) continue;
    oy = 0;
    image += s.height * pitch;
  }
}

std::size_t int8_product_workspace_bytes(const Conv2dShape& shape, int threads) {
  const Int8Plan plan = make_int8_plan(shape, threads);
  return static_cast<std::size_t>(plan.team * part_bytes(plan));
}

void int8_product(void* y, const std::uint8_t* x, const std::int8_t* weights, const float* x_range, const Conv2dShape& shape,
                  const Int8Epilogue& epilogue, void* workspace, int threads) {
  const Product product{
      y, x, weights, byte_code(x_range).zero, shape, epilogue, make_int8_plan(shape, threads), finish_of(epilogue)};
  const int team = product.plan.team;
#pragma omp parallel num_threads(team) if (team > 1)
  {
    const MicrokernelScope scope;
    // The runtime may grant fewer threads than there are parts.
    for (int part = omp_get_thread_num(); part < team; part += omp_get_num_threads())
      multiply_part(product, static_cast<std::uint8_t*>(workspace) + part * part_bytes(product.plan), part);
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
