// Ops that CUDA makes of several kernels of ours and products, here of the reference. Arguments as in kernels/kernel_list.inc;
// `element` is the type of all void* tensors.
#pragma once

#include <cstdint>

#include "kernels/shapes.h"

namespace epochbench::test {

void cuda_attention(void* y, float* log_sum_exp, const void* q, const void* k, const void* v, const std::int32_t* step,
                    const AttentionShape& shape, const Dropout& dropout, Element element);
void cuda_attention_grad(void* dq, void* dk, void* dv, const void* dy, const void* q, const void* k, const void* v,
                         const void* y, const float* log_sum_exp, const std::int32_t* step, const AttentionShape& shape,
                         const Dropout& dropout, Element element);
void cuda_lstm(void* gates, float* cells, void* h, void* previous, const void* x, const void* weight, const LstmShape& shape,
               Element element);
void cuda_lstm_grad(void* dx, const void* dh, const void* weight, const void* gates, const float* cells, const LstmShape& shape,
                    Element element);

}  // namespace epochbench::test
