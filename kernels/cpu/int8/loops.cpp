// The kernels of bytes besides products, and the epilogue of a product, for instruction sets without masked registers: loops
// over single numbers, which the compiler vectorizes. Each step is rounded once, by fused multiply-adds, as in the reference.
#include "kernels/cpu/int8/product.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/upper_tail.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

enum class Shortcut : std::uint8_t { none, codes, floats };

// As encode(); `inverse` is 1 / code.scale. The comparisons make a NaN 0.
inline std::uint8_t encoded(float x, float inverse, ByteCode code) {
  const float value = __builtin_rintf(x * inverse) + static_cast<float>(code.zero);
  const float positive = value > 0 ? value : 0;
  return static_cast<std::uint8_t>(static_cast<std::int32_t>(positive < 255 ? positive : 255));
}

// y of `columns` columns of a row.
template <Shortcut kShortcut, Int8Activation kActivation, bool kCodes>
inline void finish_row(const Product& product, const SumTile& tile, std::int64_t row, std::int64_t columns) {
  const Int8Epilogue& epilogue = product.epilogue;
  const Finish f = product.finish;
  const std::int64_t at = (tile.row + row) * product.shape.out_channels + tile.column;
  const std::int32_t* const sums = tile.sums + row * kSumStride;
  const float *const multiplier = epilogue.multiplier + tile.column, *const offset = epilogue.offset + tile.column;
  float numbers[kSumStride];
#pragma omp simd
  for (std::int64_t i = 0; i < columns; ++i) numbers[i] = __builtin_fmaf(multiplier[i], static_cast<float>(sums[i]), offset[i]);
  if constexpr (kShortcut == Shortcut::codes) {
    const auto* const shortcut = static_cast<const std::uint8_t*>(epilogue.shortcut) + at;
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i)
      numbers[i] = __builtin_fmaf(f.shortcut.scale, static_cast<float>(shortcut[i] - f.shortcut.zero), numbers[i]);
  } else if constexpr (kShortcut == Shortcut::floats) {
    const auto* const shortcut = static_cast<const float*>(epilogue.shortcut) + at;
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i) numbers[i] += shortcut[i];
  }
  if constexpr (kActivation != Int8Activation::none) {
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i)
      numbers[i] = kActivation == Int8Activation::gelu ? gelu_of(numbers[i]) : numbers[i] < 0 ? 0 : numbers[i];
  }
  if constexpr (kCodes) {
    auto* const y = static_cast<std::uint8_t*>(product.y) + at;
    const float inverse = 1 / f.y.scale;
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i) y[i] = encoded(numbers[i], inverse, f.y);
  } else {
    auto* const y = static_cast<float*>(product.y) + at;
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i) y[i] = numbers[i];
  }
}

// A whole row has a known number of columns, which unrolls.
template <Shortcut kShortcut, Int8Activation kActivation, bool kCodes>
void finish(const Product& product, const SumTile& tile) {
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    if (tile.columns == kSumStride)
      finish_row<kShortcut, kActivation, kCodes>(product, tile, row, kSumStride);
    else
      finish_row<kShortcut, kActivation, kCodes>(product, tile, row, tile.columns);
  }
}

template <Shortcut kShortcut, Int8Activation kActivation>
void finish_with(const Product& product, const SumTile& tile) {
  if (product.epilogue.y_range != nullptr) return finish<kShortcut, kActivation, true>(product, tile);
  finish<kShortcut, kActivation, false>(product, tile);
}

template <Shortcut kShortcut>
void finish_with(const Product& product, const SumTile& tile) {
  switch (product.epilogue.activation) {
    case Int8Activation::none:
      return finish_with<kShortcut, Int8Activation::none>(product, tile);
    case Int8Activation::relu:
      return finish_with<kShortcut, Int8Activation::relu>(product, tile);
    case Int8Activation::gelu:
      return finish_with<kShortcut, Int8Activation::gelu>(product, tile);
  }
}

}  // namespace

Finish finish_of(const Int8Epilogue& epilogue) {
  const float none[2] = {0, 0};
  return {byte_code(epilogue.shortcut_range != nullptr ? epilogue.shortcut_range : none),
          byte_code(epilogue.y_range != nullptr ? epilogue.y_range : none)};
}

void finish_tile(const Product& product, const SumTile& tile) {
  const Int8Epilogue& epilogue = product.epilogue;
  if (epilogue.shortcut == nullptr) return finish_with<Shortcut::none>(product, tile);
  if (epilogue.shortcut_range != nullptr) return finish_with<Shortcut::codes>(product, tile);
  finish_with<Shortcut::floats>(product, tile);
}

void quantize(std::uint8_t* y, const float* x, const float* range, std::int64_t n, int threads) {
  const ByteCode code = byte_code(range);
  const float inverse = 1 / code.scale;
#pragma omp parallel for simd num_threads(threads) if (n > kSerialElements)
  for (std::int64_t i = 0; i < n; ++i) y[i] = encoded(x[i], inverse, code);
}

// The comparisons leave the extremes as they are where x is a NaN.
void observe_range(float* range, const float* x, std::int64_t n, int threads) {
  float smallest = range[0], largest = range[1];
#pragma omp parallel for simd num_threads(threads) if (n > kSerialElements) reduction(min : smallest) reduction(max : largest)
  for (std::int64_t i = 0; i < n; ++i) {
    smallest = x[i] < smallest ? x[i] : smallest;
    largest = x[i] > largest ? x[i] : largest;
  }
  range[0] = smallest;
  range[1] = largest;
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
