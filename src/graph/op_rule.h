// What the graph knows of an operation: shapes, gradient, FLOPs, memory. One rule an op, in ops/, for every backend.
#pragma once

#include <vector>

#include "epochbench/graph.h"

namespace epochbench {

// Handed to a rule's gradient function while the gradient pass walks the forward graph backwards.
class GradientBuilder {
 public:
  virtual ~GradientBuilder() = default;
  virtual const Graph& graph() const = 0;
  virtual ValueId gradient(ValueId value) const = 0;  // of the loss with respect to value; kNoValue: none
  virtual bool needed(ValueId value) const = 0;       // whether value depends on a parameter
  virtual void accumulate(ValueId value, ValueId gradient) = 0;
  virtual void replace(ValueId value, ValueId gradient) = 0;  // by one that holds what was accumulated so far
  virtual ValueId loss_scale() const = 0;                     // what the loss's gradient is multiplied by; kNoValue: 1
  // Appends a node to the graph on behalf of `forward`, whose ordinal it keeps.
  virtual std::vector<ValueId> append(Op op, Attributes attributes, std::vector<ValueId> inputs, const Node& forward) = 0;
};

struct OpRule {
  // Descriptions of the outputs that are new values. Throws GraphError with what is wrong (the caller adds op and shapes).
  std::vector<TensorDesc> (*infer)(const Graph& graph, const Node& node);
  void (*gradient)(GradientBuilder& builder, const Node& node) = nullptr;  // null: no gradient passes
  double (*flops)(const Graph& graph, const Node& node) = nullptr;         // null: none that count
  double (*bytes)(const Graph& graph, const Node& node) = nullptr;         // null: every operand once
  std::vector<int> (*updated_inputs)(const Node& node) = nullptr;          // variables that become outputs, in place
  bool f32_parameters = false;                                             // inputs after the first are f32 in every precision
  bool view = false;                                                       // output 0 is input 0's memory
  std::vector<int> in_place_inputs = {};  // output 0 may take the memory of one of these where it dies here
};

const OpRule& rule(Op op);

// Helpers of the rules.
void require(bool condition, const char* what);  // GraphError(what) unless condition
const TensorDesc& input(const Graph& graph, const Node& node, int index);
std::int64_t last_extent(const TensorDesc& desc);
std::int64_t rows(const TensorDesc& desc);  // product of all extents but the last
bool is_float(DType dtype);
void require_float(const TensorDesc& desc);
std::vector<TensorDesc> like_first_input(const Graph& graph, const Node& node);

// Each lies in ops/<stem>.cpp.
#define OP(name, rule) extern const OpRule rule;
#include "epochbench/op_list.inc"

}  // namespace epochbench
