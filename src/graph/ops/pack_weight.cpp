// pack_weight, which fills the variable that a product reads instead of its weight.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  require_float(input(graph, node, 0));
  require(input(graph, node, 0).dtype == input(graph, node, 1).dtype, "the weight and its packed form differ in type");
  return {};
}
std::vector<int> packed(const Node&) { return {1}; }

// The operands of a product that may have a packed weight, without it; 0: another op.
std::size_t plain_operands(Op op) {
  switch (op) {
    case Op::matmul:
    case Op::conv2d:
      return 2;
    case Op::linear:
    case Op::conv2d_bias:
      return 3;
    default:
      return 0;
  }
}

}  // namespace

const OpRule kPackWeightRule{.infer = infer, .updated_inputs = packed};

std::size_t weight_operand(const Node& node) {
  const std::size_t plain = plain_operands(node.op);
  return plain > 0 && node.inputs.size() > plain ? plain : 1;
}

}  // namespace epochbench
