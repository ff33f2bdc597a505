// Compares the gradient of a piece of graph with central finite differences of the reference backend, the CPU backend's
// gradient, after fusion, with the reference's, and the gradients of reduced precision with those of fp32.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "epochbench/graph.h"

namespace epochbench::test {

// Adds nodes on `x`, a parameter named "x", may declare further parameters by graph.add_variable, and returns the value to
// differentiate.
using GraphUnderTest = std::function<ValueId(Graph& graph, ValueId x)>;

struct GradientCheck {
  double step = 1e-2;       // the oracle stores floats, so the difference must outweigh their rounding
  double tolerance = 2e-3;  // relative to the largest gradient of the same parameter, and to the largest of all times 1e-2
  double spacing = 0;       // > 0: all values of x are multiples of this, distinct and not 0, for ops with kinks
  std::map<std::string, std::vector<float>> controls = {};  // values of other variables: ids, positions
};

// The function is the cross-entropy of fixed random projections of the value, so that every element matters differently. The
// variable "step" is 0 in every run: dropout draws one mask. In fp16 the loss is scaled by 256, and the gradients are what the
// optimizer makes of theirs.
void expect_gradient_matches(const Shape& x, const GraphUnderTest& build, const GradientCheck& check = {});

}  // namespace epochbench::test
