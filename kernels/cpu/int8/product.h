// Code shared by the parts of a product of bytes. product.cpp divides it and gathers rows; multiply.cpp or multiply_amx.cpp
// computes sums; epilogue.cpp, or loops.cpp for instruction sets without masks, converts them to y.
//
// Rows are output pixels, columns are output channels, k counts words of four numbers.
#pragma once

#include "kernels/cpu/gemm/microkernel.h"
#if defined(__AVX512F__)
#include "kernels/cpu/int8/codes.h"
#endif
#include "kernels/cpu/int8/plan.h"
#include "kernels/int8.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

// How sums are converted to numbers, and numbers to y.
#if defined(__AVX512F__)
struct Finish {
  Lanes shortcut_scale;
  __m512i shortcut_zero;
  Encoder encoder;
};
#else
struct Finish {
  ByteCode shortcut, y;
};
#endif
Finish finish_of(const Int8Epilogue& epilogue);

struct Product {
  void* y;  // [rows, columns]
  const std::uint8_t* x;
  const Weight* weights;
  std::int32_t padding;  // code of 0
  Conv2dShape shape;
  Int8Epilogue epilogue;
  Int8Plan plan;
  Finish finish;
};

struct Block {
  Range rows, columns;    // columns.begin is a multiple of kNr
  const Activation* a;    // the first of the rows
  std::int64_t a_stride;  // Activations between rows
  bool in_memory;         // the rows are in x and have not been read yet
  std::int32_t* sums;     // [plan.row_sums]
};
// y of a block of rows.
void multiply_block(const Product& product, const Block& block);

constexpr std::int64_t kSumStride = 2 * kLanes;
struct SumTile {
  const std::int32_t* sums;  // [rows, kSumStride], aligned to 64 bytes
  std::int64_t row, rows, column, columns;
};
// y of a tile of at most 32 rows and 32 columns.
void finish_tile(const Product& product, const SumTile& tile);

// Rows of A, each plan.row_bytes apart: the codes of a pixel's window in the order of the packed weights. Numbers that pad
// words and rows are zero.
void gather_rows(Activation* to, const Product& product, Range rows);

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
