// The epilogue of a product of bytes, from sums in the L1 cache to y.
//
// Each step is rounded once, by fused multiply-adds, as in the reference.
#include <type_traits>

#include "kernels/cpu/int8/codes.h"
#include "kernels/cpu/int8/product.h"
#include "kernels/cpu/upper_tail.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {
namespace {

enum class Shortcut : std::uint8_t { none, codes, floats };

template <Shortcut kShortcut, typename Part>
inline Lanes number(Part part, const Finish& f, const std::int32_t* sums, Lanes multiplier, Lanes offset, const void* shortcut,
                    std::int64_t at) {
  const Lanes sum = _mm512_maskz_cvtepi32_ps(0xffff, _mm512_load_si512(sums));
  const Lanes value = _mm512_fmadd_ps(multiplier, sum, offset);
  if constexpr (kShortcut == Shortcut::codes) {
    const __m512i codes = _mm512_maskz_cvtepu8_epi32(0xffff, load_codes(part, static_cast<const std::uint8_t*>(shortcut) + at));
    const __m512i steps = _mm512_maskz_sub_epi32(0xffff, codes, f.shortcut_zero);
    return _mm512_fmadd_ps(f.shortcut_scale, _mm512_maskz_cvtepi32_ps(0xffff, steps), value);
  } else if constexpr (kShortcut == Shortcut::floats) {
    return value + load(part, static_cast<const float*>(shortcut) + at);
  } else {
    return value;
  }
}

template <bool kCodes, typename Part>
inline void put(Part part, const Finish& f, bool relu, void* y, std::int64_t at, Lanes value) {
  if constexpr (kCodes) {
    store_codes(part, static_cast<std::uint8_t*>(y) + at, f.encoder, value);
  } else {
    store(part, static_cast<float*>(y) + at, relu ? relu_of(Whole{}, value) : value);
  }
}

// The vectors of a tile: the first is whole if there are two.
template <typename Last, typename Vector>
inline void for_each_vector(Range rows, bool two, Last last, const Vector& vector) {
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    if (two) vector(Whole{}, row, 0);
    vector(last, row, two ? 1 : 0);
  }
}

template <Shortcut kShortcut, bool kGelu, bool kCodes, typename Last>
inline void finish(const Product& product, const SumTile& tile, Last last) {
  const Int8Epilogue& epilogue = product.epilogue;
  const Finish f = product.finish;
  const bool relu = epilogue.activation == Int8Activation::relu;
  const bool two = tile.columns > kLanes;
  const std::int64_t stride = product.shape.out_channels;
  const auto coefficients = [&](const float* of, int v) {
    return v == 0 && two ? load(Whole{}, of + tile.column) : load(last, of + tile.column + v * kLanes);
  };
  const Lanes multiplier[2] = {coefficients(epilogue.multiplier, 0), coefficients(epilogue.multiplier, two ? 1 : 0)};
  const Lanes offset[2] = {coefficients(epilogue.offset, 0), coefficients(epilogue.offset, two ? 1 : 0)};
  const auto at = [&](std::int64_t row, int v) { return (tile.row + row) * stride + tile.column + v * kLanes; };
  const auto number_at = [&](auto part, std::int64_t row, int v) {
    return number<kShortcut>(part, f, tile.sums + row * kSumStride + v * kLanes, multiplier[v], offset[v], epilogue.shortcut,
                             at(row, v));
  };
  if constexpr (kGelu && !kCodes) {
    alignas(64) float numbers[32 * kSumStride];
    for_each_vector({0, tile.rows}, two, last, [&](auto part, std::int64_t row, int v) {
      store(Whole{}, numbers + row * kSumStride + v * kLanes, number_at(part, row, v));
      if (!two) store(Whole{}, numbers + row * kSumStride + kLanes, _mm512_setzero_ps());
    });
#pragma omp simd
    for (std::int64_t i = 0; i < tile.rows * kSumStride; ++i) numbers[i] = gelu_of(numbers[i]);
    for_each_vector({0, tile.rows}, two, last, [&](auto part, std::int64_t row, int v) {
      put<kCodes>(part, f, relu, product.y, at(row, v), load(Whole{}, numbers + row * kSumStride + v * kLanes));
    });
  } else {
    const auto result_at = [&](auto part, std::int64_t row, int v) {
      const Lanes value = number_at(part, row, v);
      return kGelu ? gelu_of(value) : value;
    };
    std::int64_t row = 0;
    if constexpr (kCodes && std::is_same_v<Last, Whole>) {
      std::uint8_t* const y = static_cast<std::uint8_t*>(product.y);
      for (; two && row + 2 <= tile.rows; row += 2)
        store_two_rows(y + at(row, 0), stride, f.encoder, {result_at(last, row, 0), result_at(last, row + 1, 0)},
                       {result_at(last, row, 1), result_at(last, row + 1, 1)});
    }
    for_each_vector({row, tile.rows}, two, last, [&](auto part, std::int64_t i, int v) {
      put<kCodes>(part, f, relu, product.y, at(i, v), result_at(part, i, v));
    });
  }
}

template <Shortcut kShortcut, bool kGelu, bool kCodes>
void finish_columns(const Product& product, const SumTile& tile) {
  if (tile.columns % kLanes == 0) return finish<kShortcut, kGelu, kCodes>(product, tile, Whole{});
  finish<kShortcut, kGelu, kCodes>(product, tile, first_of(tile.columns % kLanes));
}

template <Shortcut kShortcut>
void finish_with(const Product& product, const SumTile& tile) {
  const bool gelu = product.epilogue.activation == Int8Activation::gelu, codes = product.epilogue.y_range != nullptr;
  (gelu    ? codes ? finish_columns<kShortcut, true, true> : finish_columns<kShortcut, true, false>
      : codes ? finish_columns<kShortcut, false, true>
           : finish_columns<kShortcut, false, false>)(product, tile);
}

}  // namespace

Finish finish_of(const Int8Epilogue& epilogue) {
  const float none[2] = {0, 0};
  const ByteCode shortcut = byte_code(epilogue.shortcut_range != nullptr ? epilogue.shortcut_range : none);
  return {all_lanes(shortcut.scale), _mm512_set1_epi32(shortcut.zero),
          encoder_of(epilogue.y_range != nullptr ? epilogue.y_range : none, epilogue.activation == Int8Activation::relu)};
}

void finish_tile(const Product& product, const SumTile& tile) {
  const Int8Epilogue& epilogue = product.epilogue;
  if (epilogue.shortcut == nullptr) return finish_with<Shortcut::none>(product, tile);
  if (epilogue.shortcut_range != nullptr) return finish_with<Shortcut::codes>(product, tile);
  finish_with<Shortcut::floats>(product, tile);
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
