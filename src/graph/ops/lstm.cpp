// An LSTM layer over whole sequences, after the product of all inputs with their weights. Rows are the positions of one
// sequence after another, as everywhere, so that products over all steps, the loss and other layers need no copy; a step reads
// one row per sequence. Values that the gradient cannot recompute cheaply are kept: activated gates, cells, and the h before
// each position, which makes the gradient of the weight one product over all steps.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

// The units, from the weight [4*units, units].
std::int64_t check(const Graph& graph, const Node& node) {
  const TensorDesc &first = input(graph, node, 0), &weight = input(graph, node, 1);
  const std::int64_t sequence = std::get<LstmAttributes>(node.attributes).sequence;
  require_float(first);
  require(weight.shape.size() == 2 && weight.shape[0] == 4 * weight.shape[1], "weight must be [4*units, units]");
  require(weight.dtype == first.dtype, "the operands differ in type");
  require(first.shape.size() == 2 && sequence >= 1 && first.shape[0] % sequence == 0,
          "the rows are not a multiple of the sequence");
  return weight.shape[1];
}

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  const std::int64_t units = check(graph, node);
  const TensorDesc& x = input(graph, node, 0);
  require(x.shape[1] == 4 * units, "x must be [batch*sequence, 4*units]");
  const Shape state{x.shape[0], units};
  return {x, {state, DType::f32}, {state, x.dtype}, {state, x.dtype}};
}

std::vector<TensorDesc> infer_grad(const Graph& graph, const Node& node) {
  const std::int64_t units = check(graph, node);
  const TensorDesc &dh = input(graph, node, 0), &gates = input(graph, node, 2);
  require(dh.shape[1] == units && input(graph, node, 3) == TensorDesc{dh.shape, DType::f32},
          "dh and cells must be [batch*sequence, units], cells f32");
  require(gates == TensorDesc{{dh.shape[0], 4 * units}, dh.dtype}, "gates must be [batch*sequence, 4*units], of dh's type");
  return {gates};
}

// Forward: h times weight at each position. Gradient: the product that passes on to the previous position.
double flops_of(const Graph& graph, const Node& node) {
  const Shape& weight = graph.desc(node.inputs[1]).shape;
  return 2.0 * static_cast<double>(graph.desc(node.inputs[0]).shape[0]) * static_cast<double>(weight[0]) *
         static_cast<double>(weight[1]);
}

void gradient(GradientBuilder& builder, const Node& node) {
  const ValueId x = node.inputs[0], weight = node.inputs[1], gates = node.outputs[0], cells = node.outputs[1];
  const ValueId h = node.outputs[2], previous = node.outputs[3];
  const bool tf32 = std::get<LstmAttributes>(node.attributes).tf32;
  const ValueId dx = builder.append(Op::lstm_grad, node.attributes, {builder.gradient(h), weight, gates, cells}, node)[0];
  builder.accumulate(weight,
                     builder.append(Op::matmul, MatmulAttributes{.transpose_a = true, .tf32 = tf32}, {dx, previous}, node)[0]);
  if (builder.needed(x)) builder.accumulate(x, dx);
}

}  // namespace

const OpRule kLstmRule{.infer = infer, .gradient = gradient, .flops = flops_of, .in_place_inputs = {0}};
const OpRule kLstmGradRule{.infer = infer_grad, .flops = flops_of, .in_place_inputs = {2}};

}  // namespace epochbench
