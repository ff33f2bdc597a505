// Compares the gradient of part of a graph with central finite differences on the reference backend, the gradient of the CPU
// backend after fusion with that of the reference, and gradients in reduced precision with those in fp32.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "epochbench/graph.h"

namespace epochbench::test {

// Adds nodes on `x`, a parameter named "x", may declare further parameters by graph.add_variable, and returns the value to
// differentiate.
using GraphUnderTest = std::function<ValueId(Graph& graph, ValueId x)>;

struct GradientCheck {
  double step = 1e-2;       // the oracle stores floats, so the difference must exceed their rounding
  double tolerance = 2e-3;  // relative to the largest gradient of the parameter, and to 1e-2 times the largest of all
  double spacing = 0;       // > 0: all values of x are multiples of this, distinct and not 0, for ops with kinks
  std::map<std::string, std::vector<float>> controls = {};  // values of other variables: ids, positions
  std::string vanishing = "";  // a parameter whose gradient is 0 but for rounding, which is relative to the largest of all
};

// The function is the cross-entropy of fixed random projections of the value, so that every element has a different weight. The
// variable "step" is 0 in every run: dropout draws one mask. In fp16 the loss is scaled by 256, and the gradients are those
// after the optimizer removed the scale.
void expect_gradient_matches(const Shape& x, const GraphUnderTest& build, const GradientCheck& check = {});

inline ValueId parameter(Graph& graph, const std::string& name, Shape shape) {
  return graph.add_variable({name, {std::move(shape), DType::f32}, VariableRole::parameter, {}});
}
// The first result of a node that is named as its op.
inline ValueId node(Graph& graph, Op op, Attributes attributes, std::vector<ValueId> inputs) {
  return graph.add_node(op, std::move(attributes), std::move(inputs), name(op))[0];
}

}  // namespace epochbench::test
