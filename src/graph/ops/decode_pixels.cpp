// decode_pixels: converts the bytes of images to standardized values. Its attribute is that of cast. It has no gradient, as
// nothing before it is trained.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  require(node.inputs.size() == 2, "needs pixels and their values");
  const TensorDesc &x = input(graph, node, 0), &table = input(graph, node, 1);
  const DType to = std::get<CastAttributes>(node.attributes).to;
  require(is_float(to), "decodes only to a float type");
  require(x.dtype == DType::u8 && !x.shape.empty(), "decodes only bytes");
  require(table == TensorDesc{{last_extent(x), 256}, DType::f32}, "needs 256 f32 values per channel");
  return {{x.shape, to}};
}

}  // namespace

const OpRule kDecodePixelsRule{.infer = infer};

}  // namespace epochbench
