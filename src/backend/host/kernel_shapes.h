// What the backends' switches over the ops share: a node's attributes, its sizes for kernels, and its tensors by position.
#pragma once

#include <cstddef>
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

GemmShape gemm_shape(const Graph& graph, const Node& node);      // matmul, linear, matmul_add, linear_grad_weight
Conv2dShape conv2d_shape(const Graph& graph, const Node& node);  // conv2d, conv2d_bias and the gradients
GemmShape packed_gemm_shape(const PackWeightAttributes& a);      // of the product that reads a packed weight
Conv2dShape packed_conv2d_shape(const PackWeightAttributes& a, const Shape& weight);  // likewise
Conv2dShape depthwise_conv2d_shape(const Graph& graph, const Node& node);             // and its gradients
BatchNormReluAttributes batch_norm_attributes(const Node& norm);                      // with or without an activation
Activation activation_of(const Node& node);                                           // of a batch norm, fused or not
bool is_int8(const Graph& graph, const Node& node);                    // whether it runs a kernel of int8 inference
Conv2dShape int8_weights_shape(const Graph& graph, const Node& node);  // of packed weights; without images
Conv2dShape int8_product_shape(const Graph& graph, const Node& node);  // linear_int8 is a 1x1 convolution of its rows
PoolShape pool_shape(const Graph& graph, const Node& node);            // max_pool, average_pool and their gradients
bool is_attention_gradient(const Node& node);                          // in either form
AttentionShape attention_shape(const Graph& graph, const Node& node);  // attention, its gradient, and their joint forms
RotaryShape rotary_shape(const Graph& graph, const Node& node);
SwigluShape swiglu_shape(const Graph& graph, const Node& node);  // swiglu, its gradient, and their joint forms
LstmShape lstm_shape(const Graph& graph, const Node& node);      // lstm and its gradient
Targets targets_of(const Node& node);                            // cross_entropy and its gradient; without the shares
// The mask of dropout, stochastic_depth, attention, add_layer_norm and their gradients, which have the same ordinal.
Dropout dropout_of(const Node& node, std::uint64_t seed);
// For part number `part` of a batch, whose tensor has `elements` elements with a mask.
inline Dropout of_part(Dropout dropout, int part, std::int64_t elements) {
  dropout.first = part * elements;
  return dropout;
}
inline std::int64_t weight_count(const AttentionShape& s) { return s.batch * s.heads * s.sequence * s.sequence; }

struct RowsChannels {
  std::int64_t rows, channels;  // product of all extents except the last, and the last
};
RowsChannels rows_channels(const TensorDesc& desc);

// For a concatenation: the channels of each part; the caller sets the pointers.
static_assert(kMaxParts == kMaxChannelParts);
template <typename Pointer>
ChannelParts<Pointer> parts_of(const Graph& graph, const std::vector<ValueId>& values) {
  ChannelParts<Pointer> parts;
  for (ValueId id : values) parts.channels[parts.count++] = rows_channels(graph.desc(id)).channels;
  return parts;
}

Element element_of(DType dtype);  // f32, bf16, f16. Errors: std::logic_error for others

// A tensor that no node reads has no memory and is null. Inputs of the graph move between steps, so a step looks up addresses
// each time it runs. Real: the element type of the tensors that are not f32 in every precision; void for any.
template <typename Real, typename Memory = const ValueMemory*>
struct NodeOperands {
  using Type = Real;
  Memory memory;  // pointer to a type with get<T>(ValueId)
  std::vector<ValueId> in, out;

  int part() const { return memory->part(); }                    // the running part of the batch
  int part_of_batch() const { return memory->part_of_batch(); }  // the same, among the parts of all ranks
  Real* x(std::size_t i) const { return memory->template get<Real>(in[i]); }
  Real* x_if(bool given, std::size_t i) const { return given ? x(i) : nullptr; }
  float* x32(std::size_t i) const { return memory->template get<float>(in[i]); }
  std::int32_t* integers(std::size_t i) const { return memory->template get<std::int32_t>(in[i]); }
  std::uint32_t* mask(std::size_t i) const { return memory->template get<std::uint32_t>(in[i]); }
  std::int8_t* bytes(std::size_t i) const { return memory->template get<std::int8_t>(in[i]); }
  std::uint8_t* index(std::size_t i) const { return memory->template get<std::uint8_t>(in[i]); }

  Real* y(std::size_t i) const { return memory->template get<Real>(out[i]); }
  float* y32(std::size_t i) const { return memory->template get<float>(out[i]); }
  std::int32_t* y_integers(std::size_t i) const { return memory->template get<std::int32_t>(out[i]); }
  std::uint32_t* y_mask(std::size_t i) const { return memory->template get<std::uint32_t>(out[i]); }
  std::int8_t* y_bytes(std::size_t i) const { return memory->template get<std::int8_t>(out[i]); }
  std::uint8_t* y_index(std::size_t i) const { return memory->template get<std::uint8_t>(out[i]); }
};

// The tensors of attention and its gradient. In a joint form q, k and v, or their gradients, follow each other in every row of
// one value.
template <typename Real>
struct AttentionTensors {
  Real *y, *q, *k, *v;
  float* log_sum_exp;
  std::int32_t* step;
};
template <typename Real>
struct AttentionGradTensors {
  Real *dq, *dk, *dv, *dy, *q, *k, *v, *y;
  float* log_sum_exp;
  std::int32_t* step;
};

// The address `elements` further; null stays null.
template <typename Real>
Real* elements_on(Real* tensor, std::int64_t elements, std::size_t element_bytes) {
  if (tensor == nullptr) return nullptr;
  return reinterpret_cast<Real*>(reinterpret_cast<std::byte*>(tensor) + static_cast<std::size_t>(elements) * element_bytes);
}

// The `index`-th of q, k and v in a joint tensor with elements of `element_bytes` bytes.
template <typename Real>
Real* part_of_joint(Real* first, int index, const AttentionShape& shape, std::size_t element_bytes) {
  return elements_on(first, joint_offset(shape, index), element_bytes);
}

template <typename Real>
struct SwigluTensors {
  Real *dgate, *dup, *y, *gate, *up;  // dgate and dup: for the gradient, whose y is dy
};
// Gate and up, or their gradients, follow each other in every row of one value in a joint form.
template <typename Real, typename Memory>
SwigluTensors<Real> swiglu_tensors(const NodeOperands<Real, Memory>& o, const SwigluShape& s, bool gradient,
                                   std::size_t element_bytes) {
  SwigluTensors<Real> t{};
  const std::size_t first = gradient ? 1 : 0;
  t.y = gradient ? o.x(0) : o.y(0);
  t.gate = o.x(first);
  t.up = s.joint ? elements_on(t.gate, s.width, element_bytes) : o.x(first + 1);
  if (!gradient) return t;
  t.dgate = o.y(0);
  t.dup = s.joint ? elements_on(t.dgate, s.width, element_bytes) : o.y(1);
  return t;
}

template <typename Real, typename Memory>
AttentionTensors<Real> attention_tensors(const NodeOperands<Real, Memory>& o, const AttentionShape& s,
                                         std::size_t element_bytes) {
  if (!s.joint) return {o.y(0), o.x(0), o.x(1), o.x(2), o.y32(1), o.integers(3)};
  const auto input = [&](int index) { return part_of_joint(o.x(0), index, s, element_bytes); };
  return {o.y(0), input(0), input(1), input(2), o.y32(1), o.integers(1)};
}

template <typename Real, typename Memory>
AttentionGradTensors<Real> attention_grad_tensors(const NodeOperands<Real, Memory>& o, const AttentionShape& s,
                                                  std::size_t element_bytes) {
  if (!s.joint) return {o.y(0), o.y(1), o.y(2), o.x(0), o.x(1), o.x(2), o.x(3), o.x(4), o.x32(5), o.integers(6)};
  const auto output = [&](int index) { return part_of_joint(o.y(0), index, s, element_bytes); };
  const auto input = [&](int index) { return part_of_joint(o.x(1), index, s, element_bytes); };
  return {output(0), output(1), output(2), o.x(0), input(0), input(1), input(2), o.x(2), o.x32(3), o.integers(4)};
}

}  // namespace epochbench
