// Kernel sizes of a node and its tensors; shared by the backends.
#pragma once

#include "epochbench/graph.h"
#include "kernels/shapes.h"

namespace epochbench {

GemmShape gemm_shape(const Graph& graph, const Node& node);            // matmul, linear, linear_grad_weight
Conv2dShape conv2d_shape(const Graph& graph, const Node& node);        // conv2d, conv2d_bias and the gradients
PoolShape pool_shape(const Graph& graph, const Node& node);            // max_pool and its gradient
AttentionShape attention_shape(const Graph& graph, const Node& node);  // attention and its gradient
// The mask of a dropout or attention node, and of its gradient, which has the same ordinal.
Dropout dropout_of(const Node& node, std::uint64_t seed);

struct RowsChannels {
  std::int64_t rows, channels;  // product of all extents except the last, and the last
};
RowsChannels rows_channels(const TensorDesc& desc);

Element element_of(DType dtype);  // f32, bf16, f16. Errors: std::logic_error for others

}  // namespace epochbench
