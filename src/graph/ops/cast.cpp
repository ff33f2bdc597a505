// cast: converts tensors to another element type, several per node, so that all weights take one launch. The gradient passes
// unchanged: its reader, the optimizer, converts it.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

// The number of x; if the y are variables, as many inputs follow.
int cast_count(const Node& node) {
  const auto inputs = static_cast<int>(node.inputs.size());
  return std::get<CastAttributes>(node.attributes).variables ? inputs / 2 : inputs;
}

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  const auto& a = std::get<CastAttributes>(node.attributes);
  const int count = cast_count(node);
  require(count > 0, "needs at least one input");
  require(is_float(a.to), "casts only to a float type");
  require(!a.variables || static_cast<int>(node.inputs.size()) == 2 * count, "needs one variable for each tensor");
  std::vector<TensorDesc> outputs;
  for (int i = 0; i < count; ++i) {
    require_float(input(graph, node, i));
    outputs.push_back({input(graph, node, i).shape, a.to});
    require(!a.variables || input(graph, node, count + i) == outputs.back(), "a variable is not what its tensor is cast to");
  }
  return a.variables ? std::vector<TensorDesc>() : outputs;
}

std::vector<int> updated(const Node& node) {
  std::vector<int> positions;
  for (int i = cast_count(node); i < static_cast<int>(node.inputs.size()); ++i) positions.push_back(i);
  return positions;
}

void gradient(GradientBuilder& builder, const Node& node) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId dy = builder.gradient(node.outputs[i]);
    if (dy != kNoValue && builder.needed(node.inputs[i])) builder.accumulate(node.inputs[i], dy);
  }
}

}  // namespace

const OpRule kCastRule{.infer = infer, .gradient = gradient, .updated_inputs = updated};

}  // namespace epochbench
