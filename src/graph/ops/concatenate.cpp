// concatenate: joins tensors along the channels; its gradient splits them again.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  require(!node.inputs.empty() && node.inputs.size() <= kMaxParts, "there must be 1 to 8 parts");
  TensorDesc y = input(graph, node, 0);
  require_float(y);
  y.shape.back() = 0;
  for (ValueId id : node.inputs) {
    TensorDesc part = graph.desc(id);
    const std::int64_t channels = last_extent(part);
    part.shape.back() = y.shape.back();
    require(part == y, "the parts differ in more than their channels");
    y.shape.back() += channels;
  }
  return {y};
}

std::vector<TensorDesc> infer_grad(const Graph& graph, const Node& node) {
  const TensorDesc& dy = input(graph, node, 0);
  const auto& channels = std::get<ConcatenateAttributes>(node.attributes).channels;
  require_float(dy);
  require(!channels.empty() && channels.size() <= kMaxParts, "there must be 1 to 8 parts");
  std::vector<TensorDesc> parts;
  std::int64_t sum = 0;
  for (std::int64_t count : channels) {
    parts.push_back(dy);
    parts.back().shape.back() = count;
    sum += count;
  }
  require(sum == last_extent(dy), "dy does not have the channels of all parts");
  return parts;
}

void gradient(GradientBuilder& builder, const Node& node) {
  ConcatenateAttributes attributes;
  for (ValueId x : node.inputs) attributes.channels.push_back(last_extent(builder.graph().desc(x)));
  const auto parts = builder.append(Op::concatenate_grad, attributes, {builder.gradient(node.outputs[0])}, node);
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (builder.needed(node.inputs[i])) builder.accumulate(node.inputs[i], parts[i]);
}

}  // namespace

const OpRule kConcatenateRule{.infer = infer, .gradient = gradient};
const OpRule kConcatenateGradRule{.infer = infer_grad};

}  // namespace epochbench
