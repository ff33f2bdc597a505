// Products of bytes. Threads own rectangles of y. A thread processes its rows in blocks that fit in the L2 cache, and gathers
// those of a convolution unless x contains them as they are multiplied.
#include "kernels/cpu/int8/product.h"

#include <omp.h>

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

#if defined(__AVX512F__)
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
#else
inline void fill(Activation* to, std::int32_t value, std::int64_t length) {
#pragma omp simd
  for (std::int64_t i = 0; i < length; ++i) to[i] = static_cast<Activation>(value);
}
// The same.
inline void copy_padded(Activation* to, const std::uint8_t* from, std::int64_t length, std::int64_t padded) {
#pragma omp simd
  for (std::int64_t i = 0; i < length; ++i) to[i] = from[i];
  fill(to + length, 0, padded - length);
}
#endif

// Weights of [words, 16, 4] as [2 words, 16, 2], if words are of two; the part-th share of the panels.
#if defined(__AVX512F__) || defined(__AVXVNNI__)
void widen_weights(Weight*, const std::int8_t*, const Conv2dShape&, int, int) {}
#else
void widen_weights(Weight* to, const std::int8_t* from, const Conv2dShape& s, int part, int parts) {
  constexpr int kEven = 0x88, kOdd = 0xdd, kOrder = 0xd8;  // pairs of each channel's four numbers
  const std::int64_t depth = int8_words(s);
  const Range range = part_of(divide_up(s.out_channels, 16) * depth, part, parts, depth);
  for (std::int64_t word = range.begin; word < range.end; ++word)
    for (std::int64_t channel = 0; channel < 16; channel += 8) {
      const auto* const source = reinterpret_cast<const __m128i*>(from + (word * 16 + channel) * 4);
      const __m256 first = _mm256_castsi256_ps(_mm256_cvtepi8_epi16(_mm_loadu_si128(source)));
      const __m256 second = _mm256_castsi256_ps(_mm256_cvtepi8_epi16(_mm_loadu_si128(source + 1)));
      const auto put = [&](std::int64_t half, __m256 pairs) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + (word * 2 + half) * 32 + channel * 2),
                            _mm256_permute4x64_epi64(_mm256_castps_si256(pairs), kOrder));
      };
      put(0, _mm256_shuffle_ps(first, second, kEven));
      put(1, _mm256_shuffle_ps(first, second, kOdd));
    }
}
#endif
std::int64_t widened_bytes(const Conv2dShape& s) {
  return sizeof(Weight) > 1 ? static_cast<std::int64_t>(sizeof(Weight)) * int8_weight_bytes(s) : 0;
}

struct Run {  // a row of a window: kernel_width * channels codes, and zeros up to a whole word
  std::int64_t length, padded;
};

// The run of row `iy` from column `left` on; both may be outside the image.
void gather_at_edge(Activation* to, const std::uint8_t* image, const Product& product, Run run, std::int64_t iy,
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
  auto* const gathered = reinterpret_cast<Activation*>(scratch);
  constexpr std::int64_t kBytes = sizeof(Activation);
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
      block.a = reinterpret_cast<const Activation*>(product.x + row * s.channels);
      block.a_stride = s.channels;
      block.in_memory = true;
    } else {
      gather_rows(gathered, product, block.rows);
      block.a = gathered;
      block.a_stride = plan.row_bytes / kBytes;
    }
    multiply_groups(product, block);
  }
}

}  // namespace

void gather_rows(Activation* to, const Product& product, Range rows) {
  const Conv2dShape& s = product.shape;
  const Run run{s.kernel_width * s.channels, row_words(s) * kWordDepth};
  const std::int64_t used = s.kernel_height * run.padded, unused = panel_words(s) * kWordDepth - used;
  const std::int64_t stride = product.plan.row_bytes / static_cast<std::int64_t>(sizeof(Activation));
  const std::int64_t pitch = s.width * s.channels, pixels = s.out_height * s.out_width;
  std::int64_t ox = rows.begin % s.out_width, oy = rows.begin % pixels / s.out_width;
  const std::uint8_t* image = product.x + rows.begin / pixels * s.height * pitch;
  for (std::int64_t row = rows.begin; row < rows.end; ++row, to += stride) {
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
  return static_cast<std::size_t>(widened_bytes(shape) + plan.team * part_bytes(plan));
}

void int8_product(void* y, const std::uint8_t* x, const std::int8_t* weights, const float* x_range, const Conv2dShape& shape,
                  const Int8Epilogue& epilogue, void* workspace, int threads) {
  auto* const widened = static_cast<Weight*>(workspace);
  const Product product{y,
                        x,
                        sizeof(Weight) > 1 ? widened : reinterpret_cast<const Weight*>(weights),
                        byte_code(x_range).zero,
                        shape,
                        epilogue,
                        make_int8_plan(shape, threads),
                        finish_of(epilogue)};
  auto* const scratch = static_cast<std::uint8_t*>(workspace) + widened_bytes(shape);
  const int team = product.plan.team;
#pragma omp parallel num_threads(team) if (team > 1)
  {
    const MicrokernelScope scope;
    // The runtime may grant fewer threads than there are parts.
    const int thread = omp_get_thread_num(), granted = omp_get_num_threads();
    if (sizeof(Weight) > 1) {
      widen_weights(widened, weights, shape, thread, granted);
#pragma omp barrier
    }
    for (int part = thread; part < team; part += granted)
      multiply_part(product, scratch + part * part_bytes(product.plan), part);
  }
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
