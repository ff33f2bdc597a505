// What the backends' switches over the ops share: a node's attributes, its sizes for kernels, and its tensors by position.
#pragma once

#include <cstdint>
#include <vector>

#include "epochbench/graph.h"
#include "kernels/shapes.h"
#include "src/backend/host/program_layout.h"

namespace epochbench {

template <typename AttributesType>
const AttributesType& attributes(const Node& node) {
  return std::get<AttributesType>(node.attributes);
}

GemmShape gemm_shape(const Graph& graph, const Node& node);            // matmul, linear, matmul_add, linear_grad_weight
Conv2dShape conv2d_shape(const Graph& graph, const Node& node);        // conv2d, conv2d_bias and the gradients
PoolShape pool_shape(const Graph& graph, const Node& node);            // max_pool and its gradient
AttentionShape attention_shape(const Graph& graph, const Node& node);  // attention and its gradient
// The mask of dropout, attention, add_layer_norm, and of their gradients, which have the same ordinal.
Dropout dropout_of(const Node& node, std::uint64_t seed);

struct RowsChannels {
  std::int64_t rows, channels;  // product of all extents except the last, and the last
};
RowsChannels rows_channels(const TensorDesc& desc);

Element element_of(DType dtype);  // f32, bf16, f16. Errors: std::logic_error for others

// A null tensor: no node reads it, so it has no memory. Inputs of the graph move between steps, so a step asks for an address
// each time it runs. Real: the element type of the tensors that are not f32 in every precision; void for any.
template <typename Real, typename Memory = const ValueMemory*>
struct NodeOperands {
  using Type = Real;
  Memory memory;  // pointer to what has get<T>(ValueId)
  std::vector<ValueId> in, out;

  Real* x(std::size_t i) const { return memory->template get<Real>(in[i]); }
  Real* x_if(bool given, std::size_t i) const { return given ? x(i) : nullptr; }
  float* x32(std::size_t i) const { return memory->template get<float>(in[i]); }
  std::int32_t* integers(std::size_t i) const { return memory->template get<std::int32_t>(in[i]); }
  std::uint32_t* mask(std::size_t i) const { return memory->template get<std::uint32_t>(in[i]); }
  std::uint8_t* index(std::size_t i) const { return memory->template get<std::uint8_t>(in[i]); }

  Real* y(std::size_t i) const { return memory->template get<Real>(out[i]); }
  float* y32(std::size_t i) const { return memory->template get<float>(out[i]); }
  std::int32_t* y_integers(std::size_t i) const { return memory->template get<std::int32_t>(out[i]); }
  std::uint32_t* y_mask(std::size_t i) const { return memory->template get<std::uint32_t>(out[i]); }
  std::uint8_t* y_index(std::size_t i) const { return memory->template get<std::uint8_t>(out[i]); }
};

}  // namespace epochbench
