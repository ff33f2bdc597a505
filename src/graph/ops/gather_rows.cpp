// gather_rows: the rows of some positions of each sequence, and its gradient, which places rows at their positions among zeros.
// Each is the other's gradient. Positions of one sequence are distinct.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

std::int64_t sequence(const Node& node) { return std::get<GatherRowsAttributes>(node.attributes).sequence; }

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  const TensorDesc &x = input(graph, node, 0), &positions = input(graph, node, 1);
  require(x.shape.size() == 2 && positions.shape.size() == 2 && positions.dtype == DType::i32,
          "input must be [batch*sequence, d] and positions i32 [batch, p]");
  require(x.shape[0] == positions.shape[0] * sequence(node), "input and positions differ in batch");
  return {{{positions.elements(), x.shape[1]}, x.dtype}};
}

std::vector<TensorDesc> infer_grad(const Graph& graph, const Node& node) {
  const TensorDesc &dy = input(graph, node, 0), &positions = input(graph, node, 1);
  require(dy.shape.size() == 2 && dy.shape[0] == positions.elements(), "dy must have one row per position");
  return {{{positions.shape[0] * sequence(node), dy.shape[1]}, dy.dtype}};
}

template <Op kGradient>
void gradient(GradientBuilder& builder, const Node& node) {
  accumulate_first(builder, node, kGradient, node.attributes, {node.inputs[1]});
}

// Counts only the input rows that are used.
double bytes_forward(const Graph& graph, const Node& node) {
  return static_cast<double>(graph.desc(node.inputs[1]).bytes() + 2 * graph.desc(node.outputs[0]).bytes());
}

}  // namespace

const OpRule kGatherRowsRule{.infer = infer, .gradient = gradient<Op::gather_rows_grad>, .bytes = bytes_forward};
const OpRule kGatherRowsGradRule{.infer = infer_grad, .gradient = gradient<Op::gather_rows>};

}  // namespace epochbench
