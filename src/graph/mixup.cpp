// The pass that mixes the samples of a batch: a row of images becomes a share of itself and the rest of its neighbor.
#include <algorithm>

#include "src/graph/passes.h"

namespace epochbench {

ValueId mix_images(Graph& graph) {
  const ValueId images = graph.input("images");
  if (images == kNoValue) throw GraphError("mix_images: the graph has no images");
  const ValueId share = graph.add_input("share", {{graph.desc(images).shape[0]}, DType::f32});
  const auto reads = [&](const Node& node) { return std::ranges::find(node.inputs, images) != node.inputs.end(); };
  const auto first = std::ranges::find_if(graph.nodes, reads) - graph.nodes.begin();
  const ValueId mixed = graph.add_node(Op::mix_rows, {}, {images, share}, "images.mix")[0];
  Node mix = std::move(graph.nodes.back());
  graph.nodes.pop_back();
  for (Node& node : graph.nodes) std::ranges::replace(node.inputs, images, mixed);
  graph.nodes.insert(graph.nodes.begin() + first, std::move(mix));
  return share;
}

}  // namespace epochbench
