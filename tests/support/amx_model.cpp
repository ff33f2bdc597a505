#include "tests/support/amx_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/cpu/gemm/amx_model.h"

namespace epochbench::amx_model {

namespace {

constexpr int kTiles = 8, kMaxRows = 16, kMaxRowBytes = 64;

struct Tile {
  int rows = 0, row_bytes = 0;
  std::array<std::array<std::uint8_t, kMaxRowBytes>, kMaxRows> data{};
};
struct State {
  bool configured = false;
  std::array<Tile, kTiles> tiles;
};
thread_local State state;
thread_local std::int64_t product_count = 0;

[[noreturn]] void fault(const char* instruction, const char* reason) {
  std::fprintf(stderr, "AMX model: %s: %s\n", instruction, reason);
  std::abort();
}

Tile& usable(const char* instruction, int tile) {
  if (!state.configured) fault(instruction, "tiles are not configured");
  if (tile < 0 || tile >= kTiles) fault(instruction, "the register does not exist");
  Tile& found = state.tiles[static_cast<std::size_t>(tile)];
  if (found.rows == 0 || found.row_bytes == 0) fault(instruction, "the register has no rows in this configuration");
  return found;
}

void clear(Tile& tile) { tile.data = {}; }

// Subnormal operands and results are flushed to zero.
float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
float real_at(const Tile& tile, int row, int index) {
  std::uint16_t bits;
  std::memcpy(&bits, &tile.data[static_cast<std::size_t>(row)][static_cast<std::size_t>(2 * index)], sizeof bits);
  return flushed(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

void load_as(const char* instruction, int tile, const void* base, std::int64_t stride) {
  Tile& to = usable(instruction, tile);
  clear(to);
  for (int row = 0; row < to.rows; ++row)
    std::memcpy(to.data[static_cast<std::size_t>(row)].data(), static_cast<const char*>(base) + row * stride,
                static_cast<std::size_t>(to.row_bytes));
}

}  // namespace

void load_config(const void* config) {
  std::array<std::uint8_t, 64> bytes;
  std::memcpy(bytes.data(), config, bytes.size());
  state = {};
  if (bytes[0] == 0) return;
  if (bytes[0] != 1) fault("LDTILECFG", "the palette is not 0 or 1");
  for (std::size_t i = 2; i < 16; ++i)
    if (bytes[i] != 0) fault("LDTILECFG", "a reserved byte is not zero");
  for (std::size_t i = 0; i < 16; ++i) {
    const int row_bytes = bytes[16 + 2 * i] | bytes[17 + 2 * i] << 8, rows = bytes[48 + i];
    if (i >= kTiles && (rows != 0 || row_bytes != 0)) fault("LDTILECFG", "only 8 registers exist");
    if (rows > kMaxRows) fault("LDTILECFG", "a register has at most 16 rows");
    if (row_bytes > kMaxRowBytes) fault("LDTILECFG", "a row has at most 64 bytes");
    if ((rows == 0) != (row_bytes == 0)) fault("LDTILECFG", "a register has rows without bytes, or bytes without rows");
    if (i >= kTiles) continue;
    state.tiles[i].rows = rows;
    state.tiles[i].row_bytes = row_bytes;
  }
  state.configured = true;
}

void load(int tile, const void* base, std::int64_t stride) { load_as("TILELOADD", tile, base, stride); }
void load_t1(int tile, const void* base, std::int64_t stride) { load_as("TILELOADDT1", tile, base, stride); }

void store(int tile, void* base, std::int64_t stride) {
  const Tile& from = usable("TILESTORED", tile);
  for (int row = 0; row < from.rows; ++row)
    std::memcpy(static_cast<char*>(base) + row * stride, from.data[static_cast<std::size_t>(row)].data(),
                static_cast<std::size_t>(from.row_bytes));
}

void zero(int tile) { clear(usable("TILEZERO", tile)); }

namespace {

struct Factors {
  Tile& sum;
  const Tile &a, &b;
};
// The registers of a product, after the checks that the hardware makes.
Factors factors(const char* name, int sum_tile, int a_tile, int b_tile) {
  ++product_count;
  Tile& sum = usable(name, sum_tile);
  const Tile &a = usable(name, a_tile), &b = usable(name, b_tile);
  if (sum_tile == a_tile || sum_tile == b_tile || a_tile == b_tile) fault(name, "two operands are the same register");
  if (sum.row_bytes % 4 != 0 || a.row_bytes % 4 != 0 || b.row_bytes % 4 != 0)
    fault(name, "the length of a row is not a multiple of 4 bytes");
  if (a.rows != sum.rows) fault(name, "the first operand and the sum differ in their number of rows");
  if (a.row_bytes / 4 != b.rows) fault(name, "the operands differ in depth");
  if (b.row_bytes != sum.row_bytes) fault(name, "the second operand and the sum differ in their number of columns");
  return {sum, a, b};
}

// Replaces each sum by total(sum, row, column), and clears what lies beyond the columns.
template <typename Sum, typename Total>
void update_sums(Tile& sum, Total total) {
  for (int row = 0; row < sum.rows; ++row) {
    auto& data = sum.data[static_cast<std::size_t>(row)];
    for (int column = 0; column < sum.row_bytes / 4; ++column) {
      std::uint8_t* const at = &data[static_cast<std::size_t>(4 * column)];
      Sum before;
      std::memcpy(&before, at, sizeof before);
      const Sum after = total(before, row, column);
      std::memcpy(at, &after, sizeof after);
    }
    std::fill(data.begin() + sum.row_bytes, data.end(), std::uint8_t{0});
  }
}

std::uint8_t byte_at(const Tile& tile, int row, int index) {
  return tile.data[static_cast<std::size_t>(row)][static_cast<std::size_t>(index)];
}

}  // namespace

void multiply_add(int sum_tile, int a_tile, int b_tile) {
  const auto [sum, a, b] = factors("TDPBF16PS", sum_tile, a_tile, b_tile);
  update_sums<float>(sum, [&a = a, &b = b](float before, int row, int column) {
    float even = 0, odd = 0;
    for (int k = 0; k < b.rows; ++k) {
      even = flushed(std::fma(real_at(a, row, 2 * k), real_at(b, k, 2 * column), even));
      odd = flushed(std::fma(real_at(a, row, 2 * k + 1), real_at(b, k, 2 * column + 1), odd));
    }
    return flushed(flushed(before) + flushed(even + odd));
  });
}

// Sums wrap around.
void multiply_add_bytes(int sum_tile, int a_tile, int b_tile) {
  const auto [sum, a, b] = factors("TDPBUSD", sum_tile, a_tile, b_tile);
  update_sums<std::uint32_t>(sum, [&a = a, &b = b](std::uint32_t before, int row, int column) {
    for (int k = 0; k < b.rows; ++k)
      for (int i = 0; i < 4; ++i)
        before +=
            static_cast<std::uint32_t>(byte_at(a, row, 4 * k + i) * static_cast<std::int8_t>(byte_at(b, k, 4 * column + i)));
    return before;
  });
}

void release() { state = {}; }

std::int64_t products() { return product_count; }

}  // namespace epochbench::amx_model
