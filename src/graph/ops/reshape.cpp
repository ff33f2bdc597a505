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
  accumulate_first(builder, node, Op::reshape, ReshapeAttributes{builder.graph().desc(node.inputs[0]).shape}, {});
}

}  // namespace

const OpRule kReshapeRule{.infer = infer, .gradient = gradient, .view = true};

}  // namespace epochbench
