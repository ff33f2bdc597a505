// The pass that packs weights which no entry changes: a node that packs each weight once, and one more operand of the product
// that reads it.

#include "src/graph/passes.h"

namespace epochbench {
namespace {

PackWeightAttributes attributes_for(const Graph& graph, const Node& product) {
  PackWeightAttributes a{.x = graph.desc(product.inputs[0]).shape, .y = graph.desc(product.outputs[0]).shape};
  a.convolution = product.op == Op::conv2d || product.op == Op::conv2d_bias;
  if (const auto* matmul = std::get_if<MatmulAttributes>(&product.attributes)) a.matmul = *matmul;
  if (const auto* linear = std::get_if<LinearAttributes>(&product.attributes)) a.matmul = linear->matmul;
  if (const auto* conv2d = std::get_if<Conv2dAttributes>(&product.attributes)) a.conv2d = *conv2d;
  if (const auto* with_bias = std::get_if<Conv2dBiasAttributes>(&product.attributes)) a.conv2d = with_bias->conv2d;
  return a;
}

// The same variable, or joint variables, in another graph.
ValueId variable_in(Graph& other, const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.members.empty()) return other.add_variable(graph.variables[static_cast<std::size_t>(value.index)]);
  std::vector<ValueId> members;
  for (ValueId member : value.members) members.push_back(variable_in(other, graph, member));
  return other.add_joint(value.name, members);
}

}  // namespace

std::optional<Graph> pack_weights(Graph& graph, const Backend& backend) {
  Graph prepare;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& product = graph.nodes[i];
    if (product.inputs.size() < 2 || graph.value(product.inputs[1]).kind != ValueKind::variable) continue;
    const std::int64_t elements = backend.packed_weight_elements(graph, product);
    if (elements == 0) continue;
    const TensorDesc desc{{elements}, graph.desc(product.inputs[1]).dtype};
    const Variable packed{product.name + ".packed", desc, VariableRole::derived, {}};
    prepare.add_node(Op::pack_weight, attributes_for(graph, product),
                     {variable_in(prepare, graph, product.inputs[1]), prepare.add_variable(packed)}, product.name + ".pack");
    graph.nodes[i].inputs.push_back(graph.add_variable(packed));
  }
  if (prepare.nodes.empty()) return std::nullopt;
  return prepare;
}

}  // namespace epochbench
