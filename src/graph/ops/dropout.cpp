// dropout (Srivastava et al. 2014). The mask is not a tensor: it follows from seed, step, ordinal and element, so the gradient
// is the same op on dy.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  const double probability = std::get<DropoutAttributes>(node.attributes).probability;
  require(probability > 0 && probability < 1, "the probability must lie between 0 and 1");
  require(input(graph, node, 1) == TensorDesc{{1}, DType::i32}, "the step must be i32 [1]");
  return like_first_input(graph, node);
}

void gradient(GradientBuilder& builder, const Node& node) {
  const ValueId dy = builder.gradient(node.outputs[0]);
  builder.accumulate(node.inputs[0], builder.append(Op::dropout, node.attributes, {dy, node.inputs[1]}, node)[0]);
}

}  // namespace

const OpRule kDropoutRule{.infer = infer, .gradient = gradient, .in_place_inputs = {0}};

}  // namespace epochbench
