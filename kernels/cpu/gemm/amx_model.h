// The AMX instructions as functions: the kernels of a test build call these instead, and the tests define them
// (tests/support/amx_model.cpp). Not part of the product.
#pragma once

#include <cstdint>

namespace epochbench::amx_model {

void load_config(const void* config);  // [64], in the layout that LDTILECFG reads
void load(int tile, const void* base, std::int64_t stride);
void load_t1(int tile, const void* base, std::int64_t stride);  // differs from `load` only in the caches
void store(int tile, void* base, std::int64_t stride);
void zero(int tile);
void multiply_add(int sum, int a, int b);        // sum += a b, over pairs of Bf16
void multiply_add_bytes(int sum, int a, int b);  // the same in int32, over four unsigned bytes of a and signed bytes of b
void release();

}  // namespace epochbench::amx_model
