// reshape: the same elements under another shape; no memory moves.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  const TensorDesc& x = input(graph, node, 0);
  TensorDesc y{std::get<ReshapeAttributes>(node.attributes).shape, x.dtype};
  require(y.elements() == x.elements(), "the number of elements changes");
  return {y};
}

void gradient(GradientBuilder& builder, const Node& node) {
  const ValueId dy = builder.gradient(node.outputs[0]);
  ReshapeAttributes back{builder.graph().desc(node.inputs[0]).shape};
  builder.accumulate(node.inputs[0], builder.append(Op::reshape, back, {dy}, node)[0]);
}

}  // namespace

const OpRule kReshapeRule{.infer = infer, .gradient = gradient, .view = true};

}  // namespace epochbench
