// The instructions on tiles as functions: what kernels call in place of them in a build for tests, which define them
// (tests/support/amx_model.cpp). No part of the product.
#pragma once

#include <cstdint>

namespace epochbench::amx_model {

void load_config(const void* config);  // [64], as LDTILECFG reads it
void load(int tile, const void* base, std::int64_t stride);
void store(int tile, void* base, std::int64_t stride);
void zero(int tile);
void multiply_add(int sum, int a, int b);  // sum += a b, of pairs of Bf16
void release();

}  // namespace epochbench::amx_model
