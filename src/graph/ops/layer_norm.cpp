// Layer normalization over the last dimension (Ba et al. 2016).
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  const TensorDesc& x = input(graph, node, 0);
  require_float(x);
  const TensorDesc per_channel{{last_extent(x)}, DType::f32};
  require(input(graph, node, 1) == per_channel && input(graph, node, 2) == per_channel,
          "scale and bias must be f32 [channels]");
  const TensorDesc per_row{{rows(x)}, DType::f32};
  return {x, per_row, per_row};
}

std::vector<TensorDesc> infer_grad(const Graph& graph, const Node& node) {
  const TensorDesc& x = input(graph, node, 1);
  const TensorDesc per_channel{{last_extent(x)}, DType::f32}, per_row{{rows(x)}, DType::f32};
  require(input(graph, node, 0) == x, "dy and x differ in shape or type");
  require(input(graph, node, 2) == per_channel, "scale must be f32 [channels]");
  require(input(graph, node, 3) == per_row && input(graph, node, 4) == per_row, "mean and inv_std must be f32 [rows]");
  return {x, per_channel, per_channel};
}

}  // namespace

const OpRule kLayerNormRule{.infer = infer, .gradient = norm_gradient<Op::layer_norm_grad>, .f32_parameters = true};
const OpRule kLayerNormGradRule{.infer = infer_grad, .in_place_inputs = {0}};

}  // namespace epochbench
