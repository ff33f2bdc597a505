// cast: tensors in another element type, several per node, so that all weights take one launch. The gradient passes unchanged:
// its reader, the optimizer, converts it.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  const DType to = std::get<CastAttributes>(node.attributes).to;
  require(!node.inputs.empty(), "needs at least one input");
  require(is_float(to), "casts only to a float type");
  std::vector<TensorDesc> outputs;
  for (ValueId id : node.inputs) {
    require_float(graph.desc(id));
    outputs.push_back({graph.desc(id).shape, to});
  }
  return outputs;
}

void gradient(GradientBuilder& builder, const Node& node) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId dy = builder.gradient(node.outputs[i]);
    if (dy != kNoValue && builder.needed(node.inputs[i])) builder.accumulate(node.inputs[i], dy);
  }
}

}  // namespace

const OpRule kCastRule{.infer = infer, .gradient = gradient};

}  // namespace epochbench
