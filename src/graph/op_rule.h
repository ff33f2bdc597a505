// What the graph knows about an op: shapes, gradient, FLOPs, memory. One rule per op, in ops/, for every backend.
#pragma once

#include <vector>

#include "epochbench/graph.h"

namespace epochbench {

// Argument of a rule's gradient function; the gradient pass visits the forward graph in reverse.
class GradientBuilder {
 public:
  virtual ~GradientBuilder() = default;
  virtual const Graph& graph() const = 0;
  virtual ValueId gradient(ValueId value) const = 0;  // of the loss with respect to value; kNoValue: none
  virtual bool needed(ValueId value) const = 0;       // whether value depends on a parameter
  virtual void accumulate(ValueId value, ValueId gradient) = 0;
  virtual void replace(ValueId value, ValueId gradient) = 0;  // by a gradient that includes what was accumulated so far
  virtual ValueId loss_scale() const = 0;                     // factor of the loss's gradient; kNoValue: 1
  // Appends a node to the graph for `forward`, with the same ordinal.
  virtual std::vector<ValueId> append(Op op, Attributes attributes, std::vector<ValueId> inputs, const Node& forward) = 0;
};

struct OpRule {
  // Descriptions of the outputs that are new values. Errors: GraphError with the problem (the caller adds op and shapes).
  std::vector<TensorDesc> (*infer)(const Graph& graph, const Node& node);
  void (*gradient)(GradientBuilder& builder, const Node& node) = nullptr;  // null: not differentiable
  double (*flops)(const Graph& graph, const Node& node) = nullptr;         // null: none are counted
  double (*bytes)(const Graph& graph, const Node& node) = nullptr;         // null: every operand once
  std::vector<int> (*updated_inputs)(const Node& node) = nullptr;          // variables that are outputs too, updated in place
  bool f32_parameters = false;                                             // inputs after the first are f32 in every precision
  bool view = false;                                                       // output 0 shares the memory of input 0
  std::vector<int> in_place_inputs = {};  // output 0 may take the memory of one of these after its last use
};

const OpRule& rule(Op op);

// Helpers of the rules.
void require(bool condition, const char* what);  // GraphError(what) unless condition
const TensorDesc& input(const Graph& graph, const Node& node, int index);
std::int64_t last_extent(const TensorDesc& desc);
std::int64_t rows(const TensorDesc& desc);  // product of all extents except the last
bool is_float(DType dtype);
void require_float(const TensorDesc& desc);
double operand_bytes(const Graph& graph, const Node& node);  // each operand once
double product_bytes(const Graph& graph,
                     const Node& node);  // the same, but not the packed weight, which is read for the weight
std::vector<TensorDesc> like_first_input(const Graph& graph, const Node& node);

std::int64_t conv2d_extent(std::int64_t in, std::int64_t kernel, const Conv2dAttributes& a);  // of the output, along one axis

// Adds the result of `op` on dy and `others` to the first input's gradient.
void accumulate_first(GradientBuilder& builder, const Node& node, Op op, Attributes attributes, std::vector<ValueId> others);

// The gradient of a norm (x, scale, bias, .. -> y, mean, inv_std, ..) by the op `kGradient`: dy, x, scale, mean, inv_std -> dx,
// dscale, dbias.
template <Op kGradient>
void norm_gradient(GradientBuilder& builder, const Node& node) {
  const ValueId x = node.inputs[0], scale = node.inputs[1], bias = node.inputs[2];
  const auto gradients =
      builder.append(kGradient, {}, {builder.gradient(node.outputs[0]), x, scale, node.outputs[1], node.outputs[2]}, node);
  builder.accumulate(scale, gradients[1]);
  builder.accumulate(bias, gradients[2]);
  if (builder.needed(x)) builder.accumulate(x, gradients[0]);
}

// The rules of all ops, defined in ops/.
#define OP(name, rule) extern const OpRule rule;
#include "epochbench/op_list.inc"

}  // namespace epochbench
