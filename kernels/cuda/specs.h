// Problems for cuBLASLt and cuDNN as text and numbers. The text identifies a problem: equal text means equal problems.
#pragma once

#include <string>

#include "kernels/cuda/libraries/libraries.h"

namespace epochbench::cuda {

const char* name(Element element);  // "bf16"
constexpr std::size_t bytes_of(Element element) { return element == Element::f32 ? 4 : 2; }

// "product [256,2048] [1000,2048]^T of bf16 to fp32, bias, relu"; alpha appears only as "scaled".
std::string describe(const ProductSpec& spec);
// "product [32768,768] [3072,768]^T in bf16, bias, gelu, x"
std::string describe(const GeluProductSpec& spec);
// "conv2d forward x [256,56,56,64] weight [64,3,3,64] stride 1 padding 1 bf16 bias relu"
std::string describe(const ConvolutionSpec& spec);
// "attention batch 64 sequence 128 heads 12 width 64 bf16 dropout 0.1"
std::string describe(const AttentionSpec& spec);

}  // namespace epochbench::cuda
